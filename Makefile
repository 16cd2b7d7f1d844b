# Python >= 3.11 with venv, make, and a package index; or WHEELS=DIR for a machine without one.
PYTHON ?= python3
WHEELS ?=
BIN := .venv/bin
PIP_SOURCE := $(if $(WHEELS),--no-index --find-links $(abspath $(WHEELS)))

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench fuzz shots clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "make: $(PYTHON) is older than Python 3.11; try make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	touch $@

.venv/installed: .venv/made pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check $(PIP_SOURCE) --editable .
	touch $@

.venv/dev: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check $(PIP_SOURCE) --editable '.[dev,dask]'
	touch $@

demo: .venv/installed ## make a synthetic run, report it, print where the page is
	rm -rf build/demo-run
	$(BIN)/nsysflow demo build/demo-run --ranks 8
	$(BIN)/nsysflow report build/demo-run
	@echo "open build/demo-run/nsysflow-report/index.html"

test: .venv/dev ## run the tests (page tests skip where no Chromium is)
	$(BIN)/pytest -n auto --dist loadfile

lint: .venv/dev ## formatting, lint, types, import layers, SQL
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint --processes 2 sql

bench: .venv/dev ## the large-trace benchmark: a table, failing nothing
	$(BIN)/python -m tests.bench

fuzz: .venv/dev ## mutate small exports for longer than the test run does
	NSYSFLOW_FUZZ_ROUNDS=$(or $(ROUNDS),5000) $(BIN)/pytest tests/test_fuzz.py

shots: .venv/dev demo ## screenshots of the demo's pages into build/shots, two for the README
	$(BIN)/python -m tests.support.shots build/demo-run/nsysflow-report build/shots fixtures/readme

clean: ## remove what the targets made
	rm -rf .venv build dist
