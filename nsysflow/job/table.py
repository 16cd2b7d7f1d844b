"""Read the small tables that lanes leave in the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_table(path: Path, texts: Sequence[str] = ()) -> pa.Table:
    """Return a table; columns ``texts`` as dictionaries.

    A job opens thousands of them: threads and file-system discovery would cost more than reading.
    """
    with pq.ParquetFile(path, read_dictionary=list(texts)) as file:
        table: pa.Table = file.read(use_threads=False)
    return table
