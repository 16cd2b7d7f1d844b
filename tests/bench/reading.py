"""Read the columns that a conversion reads, with its reader, and do nothing with them."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import duckdb

from nsysflow.convert import requests
from nsysflow.find import find_inputs
from nsysflow.read import Request, open_raw


def read(path: Path) -> float:
    """Return how many seconds reading took."""
    (found,) = find_inputs([path]).inputs
    named = [*vars(requests).values(), *requests.OPS.values()]
    wanted = {each.table: each for each in named if isinstance(each, Request)}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as work, duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        with open_raw(found, Path(work)) as raw:
            for request in wanted.values():
                columns = ", ".join(f"count({field.name})" for field in request.fields)
                counted = f"CREATE OR REPLACE TABLE _counted AS SELECT {columns} FROM _raw"
                raw.run(connection, counted, {"_raw": request})
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.stdout.write(f"{read(Path(sys.argv[1])):.3f}\n")
