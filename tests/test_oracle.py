"""Random small traces: every figure against brute force, and what must not change it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.model import CLASSES
from tests.support.command import check_identity, report
from tests.support.engine import analysed
from tests.support.oracle import (
    Level1,
    Op,
    Range,
    Span,
    Window,
    gaps,
    level1,
    owns,
    primary_stream,
    step_windows,
    union,
    whole,
)
from tests.support.oracle_host import SYNCS, Host, host_sync, projections
from tests.support.random_trace import KERNELS, Trace, random_run, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.export import Export

Document = dict[str, Any]
SEEDS = range(64)
CLASS_OF = dict(KERNELS)


def documents_of(export: Export, traces: Sequence[Trace], folder: Path) -> list[Document]:
    """Analyse an export; one document per trace, in the same order."""
    made = analysed(export, folder)
    return [made[(trace.pid, trace.device)] for trace in traces]


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
    for kind in ("h2d", "d2h", "d2d", "memset"):
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
    for stream in {op.stream for op in trace.ops}:
        clipped = [
            (max(op.start, low), min(op.end, high))
            for op in trace.ops
            for low, high in spans
            if op.stream == stream
        ]
        expected[stream] = union((low, high) for low, high in clipped if low < high)
    found = {item["stream"]: item["busy_ns"] for item in document["streams"]["items"]}
    assert {k: v for k, v in found.items() if v} == {k: v for k, v in expected.items() if v}
    assert all(0 <= item["busy_frac"] <= 1 for item in document["streams"]["items"])


# What must not change an answer


FIGURES = (
    *("steps", "buckets", "overlap", "causes", "gaps", "syncs", "kernels", "streams", "memory"),
    *("nvtx", "api", "os_calls"),
)
INVARIANT_SEEDS = range(0, 24, 3)


def figures(document: Document) -> Document:
    return {name: document[name] for name in FIGURES}


@pytest.mark.parametrize("seed", INVARIANT_SEEDS)
def test_the_order_of_rows_says_nothing(seed: int, tmp_path: Path) -> None:
    export, traces = random_run(seed)
    plain = documents_of(export, traces, tmp_path / "plain")
    for shuffle in (1, 2):
        path = tmp_path / f"shuffled{shuffle}"
        mixed = analysed(export, path, shuffle=shuffle)
        for trace, document in zip(traces, plain, strict=True):
            assert figures(mixed[(trace.pid, trace.device)]) == figures(document)


@pytest.mark.parametrize("seed", INVARIANT_SEEDS)
def test_sqlite_and_parquet_say_the_same(seed: int, tmp_path: Path) -> None:
    export, traces = random_run(seed)
    plain = documents_of(export, traces, tmp_path / "plain")
    made = analysed(export, tmp_path / "parquet", parquet=True)
    for trace, document in zip(traces, plain, strict=True):
        assert figures(made[(trace.pid, trace.device)]) == figures(document)


def mapped(seed: int, time: Any, stream: Any = lambda s: s) -> tuple[Export, list[Trace]]:
    """The same run on another clock, or with other stream numbers."""
    from tests.support.export import Export

    _, traces = random_run(seed)
    export = Export()
    for trace in traces:
        calls = {id(c): replace(c, start=time(c.start), end=time(c.end)) for c in trace.calls}
        trace.ops = [
            replace(
                op,
                start=time(op.start),
                end=time(op.end),
                stream=stream(op.stream),
                launch=None if op.launch is None else calls[id(op.launch)],
            )
            for op in trace.ops
        ]
        trace.calls = list(calls.values())
        trace.ranges = [
            Range(s.text, time(s.start), None if s.end is None else time(s.end), s.thread)
            for s in trace.ranges
        ]
        write(export, trace)
    return export, traces


def moved(value: Any, shift: int, factor: int = 1) -> Any:
    """A document as it must look after every instant moved and every length was multiplied."""
    if isinstance(value, dict):
        return {key: _moved(key, item, shift, factor) for key, item in value.items()}
    return [moved(item, shift, factor) for item in value] if isinstance(value, list) else value


def _moved(key: str, item: Any, shift: int, factor: int) -> Any:
    if key in {"start_ns", "end_ns"}:
        return item * factor + shift
    if isinstance(item, int) and (key.endswith("_ns") or key in BUCKETS_AND_CAUSES):
        return item * factor
    return moved(item, shift, factor)


BUCKETS_AND_CAUSES = {
    *CLASSES,
    *(
        "compute_only",
        "compute_comm_overlap",
        "exposed_comm",
        "exposed_mem",
        "graph_opaque",
        "idle",
    ),
    *("host_sync", "launch_latency", "idle_unattributed", "unsplit_gated", "unsplit_host_late"),
}


@pytest.mark.parametrize("shift", [10**15, -40_000_003, 1])
@pytest.mark.parametrize("seed", INVARIANT_SEEDS)
def test_the_zero_of_the_clock_says_nothing(seed: int, shift: int, tmp_path: Path) -> None:
    plain_export, traces = mapped(seed, lambda t: t + 20_000_000)
    plain = documents_of(plain_export, traces, tmp_path / "plain")
    shifted_export, _ = mapped(seed, lambda t: t + 20_000_000 + shift)
    shifted = documents_of(shifted_export, traces, tmp_path / "shifted")
    for before, after in zip(plain, shifted, strict=True):
        assert figures(after) == moved(figures(before), shift)


@pytest.mark.parametrize("seed", INVARIANT_SEEDS)
def test_streams_have_no_meaning_in_their_numbers(seed: int, tmp_path: Path) -> None:
    plain_export, traces = mapped(seed, lambda t: t)
    plain = documents_of(plain_export, traces, tmp_path / "plain")
    renamed_export, _ = mapped(seed, lambda t: t, lambda stream: stream * 3 + 100)
    renamed = documents_of(renamed_export, traces, tmp_path / "renamed")
    for before, after in zip(plain, renamed, strict=True):
        for name in set(FIGURES) - {"streams"}:
            assert after[name] == before[name], name


@pytest.mark.parametrize("seed", INVARIANT_SEEDS)
def test_shares_do_not_depend_on_the_unit(seed: int, tmp_path: Path) -> None:
    plain_export, traces = mapped(seed, lambda t: t)
    plain = documents_of(plain_export, traces, tmp_path / "plain")
    doubled_export, _ = mapped(seed, lambda t: 2 * t)
    doubled = documents_of(doubled_export, traces, tmp_path / "doubled")
    for before, after in zip(plain, doubled, strict=True):
        assert after["buckets"] == {name: 2 * ns for name, ns in before["buckets"].items()}
        assert after["overlap"]["overlap_frac"] == before["overlap"]["overlap_frac"]
        old, new = before["steps"], after["steps"]
        assert [i["kept"] for i in new["items"]] == [i["kept"] for i in old["items"]]
        for one, two in zip(before["streams"]["items"], after["streams"]["items"], strict=True):
            assert one["busy_frac"] == two["busy_frac"]


@pytest.mark.parametrize("seed", INVARIANT_SEEDS)
def test_an_op_split_in_two_takes_the_same_time(seed: int, tmp_path: Path) -> None:
    export, traces = random_run(seed)
    plain = documents_of(export, traces, tmp_path / "plain")
    from tests.support.export import Export

    split = Export()
    for trace in traces:
        halves: list[Op] = []
        for op in trace.ops:
            middle = (op.start + op.end) // 2
            if op.start < middle < op.end:
                halves += [replace(op, end=middle), replace(op, start=middle)]
            else:
                halves.append(op)
        trace.ops = halves
        write(split, trace)
    again = documents_of(split, traces, tmp_path / "split")
    for before, after in zip(plain, again, strict=True):
        assert after["capture"]["span"] == before["capture"]["span"]
        assert after["gaps"]["total_ns"] == before["gaps"]["total_ns"]
        for one, two in zip(before["steps"]["items"], after["steps"]["items"], strict=True):
            assert one["buckets"] == two["buckets"]


def test_two_runs_are_byte_identical(tmp_path: Path) -> None:
    for seed in (1, 4):
        export, _ = random_run(seed)
        export.write_sqlite(tmp_path / "run" / f"rank{seed}.sqlite")
    first = report(tmp_path / "run", tmp_path / "first")
    second = report(tmp_path / "run", tmp_path / "second", jobs=2)
    names = sorted(p.name for p in first.folder.iterdir() if p.suffix in {".json", ".html"})
    assert len(names) >= 6
    for name in names:
        one, two = ((made.folder / name).read_bytes() for made in (first, second))
        assert one == two, name
        if name.endswith(".json"):
            assert json.loads(one)["schema"] == 1
