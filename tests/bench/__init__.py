"""The large-trace benchmark: ``python -m tests.bench``. A table; it fails nothing."""
