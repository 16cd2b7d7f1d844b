"""Random small traces: every figure against brute force."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.model import CLASSES
from tests.support.command import check_identity
from tests.support.engine import documents_of
from tests.support.oracle import (
    UVM_COPIES,
    Level1,
    Op,
    Span,
    Window,
    bucket,
    gaps,
    level1,
    owns,
    primary_stream,
    step_windows,
    union,
    whole,
)
from tests.support.oracle_host import SYNCS, Host, host_sync, projections
from tests.support.random_trace import KERNELS, Trace, random_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


Document = dict[str, Any]
SEEDS = range(64)
CLASS_OF = dict(KERNELS)


def expected_windows(trace: Trace) -> list[Window]:
    """The windows of a lane, or its whole span where nothing marks steps."""
    windows = step_windows(trace.ops, trace.series) if trace.series else []
    if windows:
        return windows
    span = whole(trace.ops)
    assert span is not None
    return [Window(None, None, *span)]


def kept_spans(windows: Sequence[Window]) -> list[Span]:
    return [(window.start, window.end) for window in windows if window.kept]


@pytest.mark.parametrize("seed", SEEDS)
def test_figures_equal_brute_force(seed: int, tmp_path: Path) -> None:
    export, traces = random_run(seed)
    for trace, document in zip(traces, documents_of(export, traces, tmp_path), strict=True):
        check_identity(document)
        windows = expected_windows(trace)
        check_windows(document, windows)
        check_level1(document, trace, windows)
        check_gaps(document, trace, windows)
        check_syncs(document, trace, windows)
        check_kernels(document, trace, windows)
        check_memory(document, trace, windows)
        check_calls(document, trace, windows)
        check_nvtx(document, trace, windows)
        check_streams(document, trace, windows)


def test_the_oracle_itself_counts_nanoseconds() -> None:
    """Its pieces against counting instants one by one, on traces short enough for that."""
    checked = 0
    for seed in range(40):
        for trace in random_run(seed)[1]:
            span = whole(trace.ops)
            if span is None or span[1] - span[0] > 3000:
                continue
            checked += 1
            counted = Counter(
                bucket([op for op in trace.ops if op.runs_at(at)]) for at in range(*span)
            )
            assert dict(counted) == {
                k: v for k, v in level1(trace.ops, [span]).buckets.items() if v
            }
            idle = [at for at in range(*span) if not any(op.runs_at(at) for op in trace.ops)]
            assert [at for gap in gaps(trace.ops, [span]) for at in range(*gap)] == idle
    assert checked > 10


def test_random_traces_hold_what_they_are_for() -> None:
    ops = [op for seed in SEEDS for trace in random_run(seed)[1] for op in trace.ops]
    assert sum(op.node is not None for op in ops) > 100
    assert sum(op.copy_kind in UVM_COPIES for op in ops) > 50
    assert {op.stream for op in ops if op.context == 1} & {
        op.stream for op in ops if op.context == 2
    }


def check_windows(document: Document, windows: Sequence[Window]) -> None:
    items = document["steps"]["items"]
    ours = [(item["number"], item["start_ns"], item["end_ns"], item["kept"]) for item in items]
    assert ours == [(w.number, w.start, w.end, w.kept) for w in windows]
    assert document["steps"]["kept"] == len(kept_spans(windows))


def six(result: Level1) -> dict[str, int]:
    return result.buckets | {"window_ns": sum(result.buckets.values())}


def check_level1(document: Document, trace: Trace, windows: Sequence[Window]) -> None:
    span = whole(trace.ops)
    assert span is not None
    assert document["capture"]["span"]["buckets"] == six(level1(trace.ops, [span]))
    assert document["capture"]["span"]["start_ns"] == span[0]
    for item, window in zip(document["steps"]["items"], windows, strict=True):
        assert item["buckets"] == six(level1(trace.ops, [(window.start, window.end)]))
    kept = level1(trace.ops, kept_spans(windows))
    assert document["buckets"] == six(kept)
    compute = {name: ns for name, ns in document["causes"]["compute"].items() if ns}
    assert compute == {CLASSES[rank]: ns for rank, ns in kept.classes.items() if ns}
    overlap, buckets = document["overlap"], kept.buckets
    both, alone = buckets["compute_comm_overlap"], buckets["exposed_comm"]
    assert (overlap["overlapped_ns"], overlap["exposed_ns"]) == (both, alone)
    assert (overlap["comm_ns"], overlap["opaque_ns"]) == (both + alone, kept.opaque)
    exposed = {item["kind"]: item["exposed_ns"] for item in document["memory"]["items"]}
    for kind in ("h2d", "d2h", "d2d", "memset", "uvm_h2d", "uvm_d2h", "uvm_d2d"):
        assert exposed.get(kind, 0) == kept.mem_owner.get(kind, 0), kind
    assert exposed.get("p2p", 0) == kept.comm_owner.get("p2p", 0)


def check_gaps(document: Document, trace: Trace, windows: Sequence[Window]) -> None:
    expected = gaps(trace.ops, kept_spans(windows))
    found = document["gaps"]
    assert (found["count"], found["total_ns"]) == (
        len(expected),
        sum(end - start for start, end in expected),
    )
    longest = sorted(expected, key=lambda gap: (gap[0] - gap[1], gap[0]))[:100]
    shown = [(gap["start_ns"], gap["dur_ns"]) for gap in found["top"]]
    assert shown == [(start, end - start) for start, end in longest]


def hosts(trace: Trace) -> Host:
    launchers = {op.launch.thread for op in trace.ops if op.launch}
    steps = {span for span in trace.ranges if "tep" in span.text or "iteration" in span.text}
    return Host(trace.calls, [span for span in trace.ranges if span not in steps], launchers)


def check_syncs(document: Document, trace: Trace, windows: Sequence[Window]) -> None:
    idle = gaps(trace.ops, kept_spans(windows))
    claimed = host_sync(trace.ops, idle, primary_stream(trace.ops), hosts(trace))
    assert document["causes"]["idle"].get("host_sync", 0) == sum(claimed.values())
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for call in trace.calls:
        if call.name not in SYNCS:
            continue
        row = expected[call.name.removesuffix("_v3020")]
        if any(hosted(window, call.start) for window in windows if window.kept):
            row[0] += 1
            row[1] += call.end - call.start
    for call, ns in claimed.items():
        expected[call.name.removesuffix("_v3020")][2] += ns
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for item in document["syncs"]["items"]:
        row = found[item["api"].removesuffix("_v3020")]
        for place, name in enumerate(("count", "host_ns", "idle_caused_ns")):
            row[place] += item[name]
    assert {k: v for k, v in found.items() if any(v)} == {
        k: v for k, v in expected.items() if any(v)
    }


def hosted(window: Window, at: int) -> bool:
    """Whether a host instant belongs to a step; without steps everything does."""
    return window.host is None or window.host[0] <= at < window.host[1]


def owned(trace: Trace, windows: Sequence[Window]) -> list[Op]:
    if windows[0].host is None:
        return trace.ops
    return [op for op in trace.ops if any(owns(w, op) for w in windows if w.kept)]


def check_kernels(document: Document, trace: Trace, windows: Sequence[Window]) -> None:
    kernels = [op for op in owned(trace, windows) if op.kind == "kernel"]
    lengths: dict[str, list[int]] = defaultdict(list)
    for op in kernels:
        lengths[op.name].append(op.end - op.start)
    found = {
        item["name"]: (item["count"], item["work_ns"], item["median_ns"], item["min_ns"],
                       item["max_ns"])
        for item in document["kernels"]["top"]
        if item["name"] != "(other)"
    }  # fmt: skip
    for name, values in lengths.items():
        count, work, middle, least, most = found.pop(name)
        assert (count, work, least, most) == (len(values), sum(values), min(values), max(values))
        assert abs(middle - median(values)) <= 0.5
    assert not found
    classes = {
        item["class"]: (item["count"], item["work_ns"]) for item in document["kernels"]["classes"]
    }
    counted = Counter("comm" if op.comm else CLASS_OF[op.name] for op in kernels)
    assert {name: count for name, (count, _) in classes.items() if count} == counted
    counts = document["capture"]["counts"]
    assert counts["kernels"] == sum(op.kind == "kernel" for op in trace.ops)
    in_graphs = [op for op in kernels if op.node is not None]
    assert document["launch"]["kernels_in_graphs"] == len(in_graphs)
    assert counts["graph_rows"] == sum(op.kind == "graph" for op in trace.ops)
    assert counts["memcpys"] == sum(op.kind == "memcpy" for op in trace.ops)
    assert counts["memsets"] == sum(op.kind == "memset" for op in trace.ops)


def check_memory(document: Document, trace: Trace, windows: Sequence[Window]) -> None:
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for op in owned(trace, windows):
        if op.copy_name is not None:
            row = expected[op.copy_name]
            for place, value in enumerate((1, op.nbytes, op.end - op.start)):
                row[place] += value
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for item in document["memory"]["items"]:
        row = found[item["kind"]]
        for place, name in enumerate(("count", "bytes", "work_ns")):
            row[place] += item[name]
    assert {k: v for k, v in found.items() if v[0]} == expected


def check_calls(document: Document, trace: Trace, windows: Sequence[Window]) -> None:
    expected: dict[str, list[int]] = defaultdict(list)
    for call in trace.calls:
        if any(hosted(window, call.start) for window in windows if window.kept):
            expected[call.name.split("_v")[0]].append(call.end - call.start)
    found = {
        item["name"].split("_v")[0]: (
            item["count"],
            item["total_ns"],
            item["min_ns"],
            item["max_ns"],
        )
        for item in document["api"]["items"]
    }
    assert found == {
        name: (len(values), sum(values), min(values), max(values))
        for name, values in expected.items()
    }


def check_nvtx(document: Document, trace: Trace, windows: Sequence[Window]) -> None:
    scope = [
        span
        for span in trace.ranges
        if any(hosted(window, span.start) for window in windows if window.kept)
    ]
    expected = projections(trace.ops, trace.ranges, scope)
    found = {item["path"]: item for item in document["nvtx"]["items"]}
    assert set(found) == set(expected)
    for path, row in expected.items():
        item = found[path]
        assert (item["count"], item["open"], item["host_ns"]) == (row.count, row.open, row.host_ns)
        assert (item["projected_ns"], item["work_ns"]) == (row.projected_ns, row.work_ns), path


def check_streams(document: Document, trace: Trace, windows: Sequence[Window]) -> None:
    spans = kept_spans(windows)
    expected = {}
    for place in {op.place for op in trace.ops}:
        clipped = [
            (max(op.start, low), min(op.end, high))
            for op in trace.ops
            for low, high in spans
            if op.place == place
        ]
        expected[place] = union((low, high) for low, high in clipped if low < high)
    streams = document["streams"]["items"]
    found = {(item["stream"], item["context"]): item["busy_ns"] for item in streams}
    assert {k: v for k, v in found.items() if v} == {k: v for k, v in expected.items() if v}
    assert all(0 <= item["busy_frac"] <= 1 for item in document["streams"]["items"])
