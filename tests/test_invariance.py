"""What must not change an answer: row order, form, clock, stream numbers, unit, splits, reruns."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.model import CLASSES
from tests.support.command import report
from tests.support.engine import analysed, documents_of
from tests.support.export import Export
from tests.support.oracle import Op, Range
from tests.support.random_trace import Trace, random_run, write

if TYPE_CHECKING:
    from pathlib import Path

Document = dict[str, Any]


FIGURES = (
    *("steps", "buckets", "overlap", "causes", "gaps", "syncs", "kernels", "streams", "memory"),
    *("nvtx", "api", "os_calls"),
)
INVARIANT_SEEDS = (0, 3, 9, 14, 20)


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


def test_kernels_alike_in_all_but_their_names_come_in_one_order(tmp_path: Path) -> None:
    """Nodes of a graph whose launch was not recorded: same times, same stream, no correlation."""
    export = Export()
    for k in range(12):
        for name in "defgabc":
            export.kernel(f"{name}_kernel", 1_000 * k, 1_000 * k + 400)
    named = []
    for shuffle in range(4):
        mixed = analysed(export, tmp_path / str(shuffle), shuffle=shuffle)
        (document,) = mixed.values()
        named.append([gap["next_op"] for gap in document["gaps"]["top"]])
    assert named[0]
    assert named == [named[0]] * 4


@pytest.mark.parametrize("seed", INVARIANT_SEEDS)
def test_sqlite_and_parquet_say_the_same(seed: int, tmp_path: Path) -> None:
    export, traces = random_run(seed)
    plain = documents_of(export, traces, tmp_path / "plain")
    made = analysed(export, tmp_path / "parquet", parquet=True)
    for trace, document in zip(traces, plain, strict=True):
        assert figures(made[(trace.pid, trace.device)]) == figures(document)


def mapped(seed: int, time: Any, stream: Any = lambda s: s) -> tuple[Export, list[Trace]]:
    """The same run on another clock, or with other stream numbers."""
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
