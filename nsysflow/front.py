"""What `nsysflow --help` and `--version` print, without importing so much as click."""

from __future__ import annotations

import os
import sys

from nsysflow import __version__
from nsysflow.model import SCHEMA, STORE_FORMAT

HELP = """\
Usage: nsysflow COMMAND [OPTIONS] ...

Where did the step go? Reports over multi-rank Nsight Systems captures.

The main job:
  report RUN...    find, convert, analyse and render a run; prints where index.html is

Its parts, each from what the former wrote:
  convert RUN...   read the traces of a run into the store
  analyse DIR      analyse the store of DIR into result documents
  render DIR       make the pages of DIR from its documents

To look further:
  sql RUN [QUERY]  ask the store a question in DuckDB SQL, read-only
  analyses [NAME]  list the analyses, or explain one
  doctor [RUN]     tell what this machine has, and what the traces of a run lack
  demo DIR         make a synthetic run, with its true answers beside it

RUN is a folder that is searched for traces, or trace files: .nsys-rep, .sqlite, a parquetdir,
each also as .gz or .zst. Results go to RUN/nsysflow-report, or where -o DIR says.

Options, before or after the command:
  --quiet              print results and failures only
  --verbose            tell more about what is done
  --debug              show the traceback of a failure
  --color, --no-color  colour or none; by default where a terminal is; NO_COLOR holds
  --version            print the versions of the tool, the store, the schema and DuckDB
  -h, --help           show this text, or that of a command
"""


def versions() -> str:
    """Return the versions that a bug report needs."""
    return f"nsysflow {__version__}\nstore {STORE_FORMAT}\nschema {SCHEMA}\nduckdb {_duckdb()}\n"


def _duckdb() -> str:
    """Return DuckDB's version from the name of its metadata folder.

    Importing DuckDB for it, or importlib.metadata, would cost several times the start of Python.
    """
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - pathlib costs start-up time
        except OSError:
            continue
        for name in names:
            if name.startswith("duckdb-") and name.endswith(".dist-info"):
                return name.removeprefix("duckdb-").removesuffix(".dist-info")
    return "not found"
