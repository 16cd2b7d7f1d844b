"""The large tables: calls, annotations and device work, streamed from the input to the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from nsysflow.convert.in_order import save_by_time
from nsysflow.convert.kernel_names import create_kernel_name
from nsysflow.convert.requests import (
    API,
    NVTX_EVENT,
    NVTX_TIMES,
    OPS,
    OS_CALL,
    PRIVATE,
    STRINGS,
    SYNCS,
    times_of,
)
from nsysflow.convert.texts import Texts
from nsysflow.convert.work import Work
from nsysflow.parquet_files import files_of
from nsysflow.read import Request
from nsysflow.settings import Settings

_HOUR_NS = 3_600_000_000_000
# No believable limit is longer; beyond it, comparing times would leave 64 bits.
_LONGEST_NS = 1 << 60


def strings(work: Work) -> None:
    """Load StringIds whole; ``keep_strings`` deletes what may not be kept."""
    work.create("private_string", "_private", PRIVATE)
    work.create("string", "string", {"_raw_string": STRINGS})


def keep_strings(work: Work) -> None:
    """Leave only the texts of StringIds that may be kept."""
    work.create("string_kept", "_kept")
    work.connection.execute("DROP TABLE string")
    work.connection.execute("ALTER TABLE _kept RENAME TO string")


def host(work: Work) -> None:
    """Write api, os_call, nvtx and nvtx_domain; add the texts of annotations to ``string``."""
    _save_calls(work, "api", "_raw_api", API)
    _save_calls(work, "os_call", "_raw_os_call", OS_CALL)
    work.create("text", "_text")
    registered = work.connection.sql("SELECT id, name_id, framework FROM _text").to_arrow_table()
    with Texts(work.scratch, NVTX_EVENT.schema(), registered) as texts:
        passing = replace(NVTX_EVENT, through=texts)
        written, read = save_by_time(work, "nvtx", {"_raw_nvtx": passing})
    work.see_stored("_nvtx", "nvtx")
    work.dropped["open_ranges"] = work.count("_nvtx", "open")
    if written != read:
        work.count_faults("nvtx_fault", "_raw_nvtx", NVTX_TIMES)
    work.see("_spoken", texts.spoken)
    work.see("_nvtx_other", texts.other)
    work.save("nvtx_domain")
    work.create("nvtx_domain", "nvtx_domain")
    work.create("nvtx_text", "_nvtx_text")
    work.connection.execute("INSERT INTO string FROM _nvtx_text ANTI JOIN string USING (id)")


def device(work: Work, settings: Settings) -> None:
    """Write op, lane, kernel_name and sync."""
    work.see_stored("_api", "api")
    work.view("_launch", "launch")
    with work.streams_probe():
        if not work.spill("op_recorded", "_op", OPS):
            # Calls share a correlation in this trace, so the quick join made several of one op.
            work.create("launch_outermost", "_outermost")
            work.connection.execute("CREATE OR REPLACE VIEW _launch AS FROM _outermost")
            work.spill("op_recorded", "_op", OPS)
            work.connection.execute("DROP VIEW _launch; DROP TABLE _outermost")
    work.add_faults("op_fault")
    work.create("lane", "lane")
    work.save_table("lane")
    work.view("_kernel_string", "kernel_string")
    create_kernel_name(work.connection, settings)
    work.save_table("kernel_name")
    work.save("op")
    _save_whole(work, "sync", "_raw_sync", SYNCS)


def _save_calls(work: Work, stem: str, view: str, request: Request) -> None:
    """Write the calls of a raw table apart by process, and count what is left out."""
    written, read = work.save_apart(stem, {view: request})
    _count_faults(work, request, written, read)


def _save_whole(work: Work, stem: str, view: str, request: Request) -> None:
    """Write a table of one raw table, and count what is left out."""
    written, read = work.save(stem, {view: request})
    _count_faults(work, request, written, read)


def _count_faults(work: Work, request: Request, written: int, read: int) -> None:
    if written != read:
        work.count_faults("fault", "_raw_times", times_of(request))


def host_limit_ns(work: Work) -> int | None:
    """Return the longest believable duration by the span of the host rows, None without any."""
    spans = [span_of(files_of(work.store, name)) for name in ("api", "os_call", "nvtx")]
    known = [span for span in spans if span]
    if not known:
        return None
    return limit_ns(max(end for _, end in known) - min(start for start, _ in known))


def limit_ns(duration_ns: int) -> int:
    """Return the longest believable duration in a capture that long."""
    return min(duration_ns + _HOUR_NS, _LONGEST_NS)


def span_of(files: Sequence[Path]) -> tuple[int, int] | None:
    """Return the first and the last time in a table of the store, from its statistics."""
    seen = []
    for path in files:
        metadata = pq.read_metadata(path)
        names = [metadata.schema.column(n).path for n in range(metadata.num_columns)]
        for name in ("start_ns", "end_ns"):
            for group in range(metadata.num_row_groups):
                stats = metadata.row_group(group).column(names.index(name)).statistics
                if stats is not None and stats.has_min_max:
                    seen += [stats.min, stats.max]
    return (min(seen), max(seen)) if seen else None
