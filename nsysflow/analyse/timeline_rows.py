"""The rows of the timeline, top to bottom, the same for every step shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from nsysflow.analyse.facts import Facts
from nsysflow.analyse.windows import Window
from nsysflow.analyse.workspace import Row, Workspace

MOST_ROWS = 14
MOST_THREADS = 2
LEAST_BUSY = 0.01
NO_THREAD = -1
MOST_LABEL = 32
COLLECTIVE = {
    "all_reduce": "AllReduce",
    "all_gather": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "all_to_all": "AllToAll",
    "send_recv": "SendRecv",
}

Key = tuple[int | None, int | None]
TYPES = {
    "row": "int32",
    "kind": "string",
    "context": "int64",
    "stream": "int64",
    "thread": "int64",
    "depth": "int32",
}


@dataclass
class Lines:
    """The rows of ``timeline_row`` while they are put together, and what the page calls each."""

    rows: list[Row] = field(default_factory=list)
    shown: list[tuple[str, str]] = field(default_factory=list)

    def add(self, label: str, drawn_as: str, kind: str, **where: int | None) -> None:
        """Append a row: its label, the document's kind, and what belongs on it."""
        empty = dict.fromkeys(TYPES)
        self.rows.append({**empty, "row": len(self.rows), "kind": kind, **where})
        self.shown.append((label, drawn_as))


@dataclass
class Found:
    """What runs in the windows shown: streams by id and launching threads by launches.

    ``spans`` holds, per window, the time from the first launch or instant to the last.
    """

    streams: dict[Key, Row] = field(default_factory=dict)
    threads: dict[int, Row] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)
    window_ns: int = 0

    def look(self, work: Workspace, window: Window) -> None:
        """Add one window."""
        work.view("timeline_op", from_ns=window.start_ns, to_ns=window.end_ns)
        self.window_ns += window.length_ns
        for row in work.rows("timeline_stream", "stages"):
            mine = self.streams.setdefault(
                (row["context"], row["stream"]), {"work_ns": 0, "comm_ns": 0, "collectives": set()}
            )
            mine["work_ns"] += row["work_ns"]
            mine["comm_ns"] += row["comm_ns"]
            if row["comm_ns"]:
                mine["collectives"].add(row["collective"])
        launchers = work.rows("timeline_launcher", "stages")
        first = min([window.start_ns, *(row["first_ns"] for row in launchers)])
        last = max([window.end_ns, *(row["last_ns"] for row in launchers)])
        self.spans.append((first, last))
        for row in launchers:
            seen = self.threads.setdefault(row["thread"], dict(row, launches=0))
            seen["launches"] += row["launches"]
            seen["first_ns"] = min(seen["first_ns"], row["first_ns"])
            seen["last_ns"] = max(seen["last_ns"], row["last_ns"])


def put_rows(
    work: Workspace, facts: Facts, windows: Sequence[Window]
) -> tuple[list[tuple[str, str]], int]:
    """Make ``timeline_row`` and ``timeline_range``.

    Returns:
        (label, kind) of every row, and the stepping thread, -1 where none is known.
    """
    found = Found()
    for window in windows:
        found.look(work, window)
    threads = sorted(found.threads.values(), key=lambda row: (-row["launches"], row["thread"]))
    main = _main_thread(threads, facts)
    threads.sort(key=lambda row: row["thread"] != main)
    asked = dict.fromkeys([*(row["thread"] for row in threads), main])
    work.put("timeline_thread", [{"thread": thread} for thread in asked], {"thread": "int64"})
    _put_near(work, found.spans)
    _put_ranges(work, facts, windows)
    annotated = work.rows("timeline_depth", "stages")
    depths = sorted({row["depth"] for row in annotated})
    host = _host_lines(threads[:MOST_THREADS], annotated)
    fixed = len(host) + 3
    streams = _streams(found, MOST_ROWS - fixed - len(depths))
    if len(depths) > 1 and streams[1]:
        # A stream that is busy says more than a second level of annotation.
        depths = depths[:1]
        streams = _streams(found, MOST_ROWS - fixed - 1)
    lines = Lines()
    for depth in depths:
        label = "Phase (NVTX)" if depth == 1 else "Phase, second level"
        lines.add(label, "nvtx", "phase", depth=depth)
    lines.add("GPU state", "state", "state")
    _stream_lines(lines, found, streams)
    lines.add("Copies", "copies", "copies")
    lines.add("Idle, by cause", "idle", "idle")
    for label, kind, where in host:
        lines.add(label, "host", kind, **where)
    work.put("timeline_row", lines.rows, TYPES)
    return lines.shown, main


def _main_thread(threads: Sequence[Row], facts: Facts) -> int:
    """Return the thread that steps, else the process's first, else the busiest launching one."""
    if facts.steps.thread is not None:
        return facts.steps.thread
    pid = facts.process & 0xFFFFFF
    first = [row["thread"] for row in threads if row["tid"] == pid]
    return next(iter(first or [row["thread"] for row in threads]), NO_THREAD)


def _put_near(work: Workspace, spans: Sequence[tuple[int, int]]) -> None:
    """Make ``timeline_near``: the ranges that reach into some of the spans, each once."""
    apart: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if apart and first <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(last, apart[-1][1]))
        else:
            apart.append((first, last))
    # What reaches into an earlier span too began before that ended.
    ends = [None, *(last for _, last in apart[:-1])]
    near = [
        work.arrow("timeline_near", first_ns=first, last_ns=last, after_ns=after)
        for (first, last), after in zip(apart, ends, strict=True)
    ]
    work.keep("timeline_near", pa.concat_tables(near))


def _put_ranges(work: Workspace, facts: Facts, windows: Sequence[Window]) -> None:
    host = [
        {"start_ns": w.host_start_ns, "end_ns": w.host_end_ns}
        for w in windows
        if w.host_start_ns is not None and w.host_end_ns is not None
    ]
    work.put("timeline_host", host, {"start_ns": "int64", "end_ns": "int64"})
    work.table("timeline_range", source=facts.steps.source, series=facts.steps.pattern)


def _streams(found: Found, room: int) -> tuple[list[Key], list[Key]]:
    """Return the streams with a row each, compute first, and those that share the last row."""
    busy = sorted(found.streams, key=lambda key: (-found.streams[key]["work_ns"], _order(key)))
    least = LEAST_BUSY * found.window_ns
    good = [key for key in busy if found.streams[key]["work_ns"] >= least]
    own = good if len(good) == len(busy) <= room else good[: max(1, room - 1)]
    # A row of one stream says which it is.
    if len(busy) == len(own) + 1 and len(busy) <= room:
        own = busy
    shared = [key for key in busy if key not in own]
    return sorted(own, key=lambda key: (_is_comm(found.streams[key]), own.index(key))), shared


def _order(key: Key) -> tuple[int, int]:
    context, stream = key
    return (-1 if stream is None else stream, -1 if context is None else context)


def _is_comm(stream: Row) -> bool:
    return bool(2 * stream["comm_ns"] > stream["work_ns"])


def _stream_lines(lines: Lines, found: Found, streams: tuple[list[Key], list[Key]]) -> None:
    own, shared = streams
    ids = [stream for _, stream in own]
    for context, stream in own:
        row = found.streams[(context, stream)]
        name = "Stream not recorded" if stream is None else f"Stream {stream}"
        if ids.count(stream) > 1:
            name += f" of context {context}"
        label = f"{name}, {_carries(row)}"
        lines.add(label, "stream", "stream", context=context, stream=stream)
    if shared:
        plural = "s" if len(shared) > 1 else ""
        lines.add(f"{len(shared)} other stream{plural}", "stream", "others")


def _carries(stream: Row) -> str:
    if not _is_comm(stream):
        return "compute"
    kinds = sorted(str(kind) for kind in stream["collectives"])
    return COLLECTIVE.get(kinds[0], "comm") if len(kinds) == 1 else "comm"


def _host_lines(
    threads: Sequence[Row], annotated: Sequence[Row]
) -> list[tuple[str, str, dict[str, int]]]:
    ranges = {row["thread"] for row in annotated}
    backward = {row["thread"] for row in annotated if row["backward"]}
    made = []
    for place, row in enumerate(threads):
        thread = row["thread"]
        name = "Main" if place == 0 else _thread_name(row, backward=thread in backward)
        made.append((f"{name}: CUDA calls", "calls", {"thread": thread}))
        if thread in ranges:
            made.append((f"{name}: ranges", "ranges", {"thread": thread, "depth": 1}))
    return made


def _thread_name(row: Row, *, backward: bool) -> str:
    text = row["name"] or ""
    if backward or text.startswith("pt_autograd"):
        return "Autograd"
    # nsys writes the id into the name of a thread that nobody named.
    return f"Thread {row['tid']}" if not text or str(row["tid"]) in text else text[:MOST_LABEL]
