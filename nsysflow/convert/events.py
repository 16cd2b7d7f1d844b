"""The large tables: calls, annotations and device work, streamed from the input to the store."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from nsysflow.convert.kernel_names import create_kernel_name
from nsysflow.convert.requests import (
    API,
    NVTX_EVENT,
    OPS,
    OS_CALL,
    PRIVATE,
    STRINGS,
    SYNCS,
    times_of,
)
from nsysflow.convert.work import Work
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
    _save_whole(work, "api", "_raw_api", API)
    _save_whole(work, "os_call", "_raw_os_call", OS_CALL)
    work.create("text", "_text")
    events = work.spill("nvtx_event", {"_raw_nvtx": NVTX_EVENT})
    work.see("_nvtx", events)
    work.create("nvtx_text", "_nvtx_text")
    work.connection.execute("INSERT INTO string FROM _nvtx_text ANTI JOIN string USING (id)")
    work.save("nvtx")
    work.add_faults("nvtx_fault")
    work.save("nvtx_domain")
    work.create("nvtx_domain", "nvtx_domain")


def device(work: Work, settings: Settings) -> None:
    """Write op, lane, kernel_name and sync."""
    paths = [work.spill(f"op_{kind}", {f"_raw_{kind}": request}) for kind, request in OPS.items()]
    work.see("_op", *paths)
    work.add_faults("op_fault")
    work.create("lane", "lane")
    work.save_table("lane")
    work.view("_kernel_string", "kernel_string")
    create_kernel_name(work.connection, settings)
    work.save_table("kernel_name")
    work.see("_api", work.store / "api.parquet")
    work.view("_launch", "launch")
    written, _ = work.save("op")
    if written != work.count("_op", "fault IS NULL"):
        # Calls share a correlation in this trace, so the quick join made several of one op.
        work.create("launch_outermost", "_outermost")
        work.connection.execute("CREATE OR REPLACE VIEW _launch AS FROM _outermost")
        work.save("op")
    _save_whole(work, "sync", "_raw_sync", SYNCS)


def _save_whole(work: Work, stem: str, view: str, request: Request) -> None:
    """Write a table of one raw table, and count what it leaves out."""
    written, read = work.save(stem, {view: request})
    if written != read:
        work.count_faults(times_of(request))


def host_limit_ns(work: Work) -> int | None:
    """Return the longest believable duration by the span of the host rows, None without any."""
    spans = [span_of(work.store / f"{name}.parquet") for name in ("api", "os_call", "nvtx")]
    known = [span for span in spans if span]
    if not known:
        return None
    return limit_ns(max(end for _, end in known) - min(start for start, _ in known))


def limit_ns(duration_ns: int) -> int:
    """Return the longest believable duration in a capture that long."""
    return min(duration_ns + _HOUR_NS, _LONGEST_NS)


def span_of(path: Path, *columns: str) -> tuple[int, int] | None:
    """Return the first and the last time in a table of the store, from its statistics."""
    metadata = pq.read_metadata(path)
    names = [metadata.schema.column(n).path for n in range(metadata.num_columns)]
    seen = []
    for name in columns or ("start_ns", "end_ns"):
        for group in range(metadata.num_row_groups):
            stats = metadata.row_group(group).column(names.index(name)).statistics
            if stats is not None and stats.has_min_max:
                seen += [stats.min, stats.max]
    return (min(seen), max(seen)) if seen else None
