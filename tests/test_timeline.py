"""The timeline section: rows against brute force, merging that adds up, the budget held."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.analyse import timeline, timeline_marks
from nsysflow.analyse.timeline_steps import choose_shown
from nsysflow.analyse.windows import Steps, Window
from nsysflow.render import render_rank
from nsysflow.settings import Settings
from tests.support.engine import analysed
from tests.support.export import Export, ms, us
from tests.support.oracle import Op, bucket, pieces
from tests.support.random_trace import COPY, Trace, random_run
from tests.support.schemas import check
from tests.support.timeline import Drawn, Mark, check_form, check_states, drawn_steps

if TYPE_CHECKING:
    from pathlib import Path

Document = dict[str, Any]
GEMM = "ampere_sgemm_128x64_tn"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
# Random traces are short: 2,200 bins merge next to nothing, 9 bins nearly everything.
UNITS = (2200, 60, 9)
EVERY = Settings(timeline_steps=tuple(range(40)))


def only(export: Export, folder: Path, settings: Settings | None = None) -> Document:
    """The document of an export with one lane."""
    (document,) = analysed(export, folder, settings).values()
    return document


def inside(ops: list[Op], item: Document) -> list[Op]:
    low, high = item["start_ns"], item["end_ns"]
    return [op for op in ops if op.start < high and (op.end > low or op.start == op.end >= low)]


@pytest.mark.parametrize("seed", range(24))
def test_rows_equal_brute_force(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_marks, "UNITS", UNITS[seed % len(UNITS)])
    export, traces = random_run(seed)
    documents = analysed(export, tmp_path, EVERY)
    for trace in traces:
        document = documents[(trace.pid, trace.device)]
        check(document, "rank-1")
        check_form(document)
        shown = drawn_steps(document)
        kept = [item["index"] for item in document["steps"]["items"] if item["kept"]]
        assert sorted(drawn.item["index"] for drawn in shown) == kept
        for drawn in shown:
            check_states(drawn)
            check_device(drawn, trace)
            check_calls(drawn, trace)
            if not drawn.merged:
                check_intervals(drawn, trace)
        check_idle(document, shown)


def check_device(drawn: Drawn, trace: Trace) -> None:
    """Every op is on one row, as often as it ran; single marks are real ops."""
    ops = inside(trace.ops, drawn.item)
    streams, copies = drawn.of("stream"), drawn.of("copies")
    is_copy = [op.kind in {"memcpy", "memset"} and not op.comm for op in ops]
    assert sum(mark.n for mark in copies) == sum(is_copy)
    assert sum(mark.n for mark in streams) == len(ops) - sum(is_copy)
    comm = [mark for mark in streams if mark.group in {"hidden", "unsplit"}]
    assert sum(mark.n for mark in comm) == sum(op.comm for op in ops)
    assert all(mark.n == 1 for mark in comm)
    assert sum(mark.n for mark in streams if mark.group == "graph") == sum(
        op.kind == "graph" for op in ops
    )
    low, high = drawn.item["start_ns"], drawn.item["end_ns"]
    real = Counter((max(op.start, low), min(op.end, high)) for op in ops)
    assert not Counter((m.start, m.end) for m in streams + copies if m.n == 1) - real
    for mark in comm:
        covered = sum(
            end - start
            for start, end in pieces(trace.ops, mark.start, mark.end)
            if any((o.compute or o.kind == "graph") and o.runs_at(start) for o in trace.ops)
        )
        assert (mark.group == "hidden") == (2 * covered >= mark.dur)


def check_calls(drawn: Drawn, trace: Trace) -> None:
    low, high = drawn.item["start_ns"], drawn.item["end_ns"]
    calls = [c for c in trace.calls if c.start < high and (c.end > low or c.start == c.end >= low)]
    for label, kind, marks in drawn.rows:
        if kind == "host" and label.endswith("CUDA calls"):
            thread = trace.pid if label.startswith("Main") else trace.pid + 77
            assert sum(mark.n for mark in marks) == sum(call.thread == thread for call in calls)
            waits = [m for m in marks if m.group == "blocking"]
            mine = [c for c in calls if c.thread == thread]
            assert sum(m.n for m in waits) == sum("Synchronize" in call.name for call in mine)


def check_intervals(drawn: Drawn, trace: Trace) -> None:
    """Unmerged, the state row is the maximal intervals of brute force, and idle tiles the gaps."""
    low, high = drawn.item["start_ns"], drawn.item["end_ns"]
    expected: list[tuple[int, int, str]] = []
    for start, end in pieces(trace.ops, low, high):
        name = bucket([op for op in trace.ops if op.runs_at(start)])
        if expected and expected[-1][2] == name:
            start = expected.pop()[0]  # noqa: PLW2901 - the piece grows to the left
        expected.append((start, end, name))
    assert [(m.start, m.end, m.group) for m in drawn.of("state")] == expected
    idle = [(start, end) for start, end, name in expected if name == "idle"]
    assert joined(drawn.of("idle")) == idle


def joined(marks: list[Mark]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for mark in marks:
        if spans and spans[-1][1] == mark.start:
            spans[-1] = (spans[-1][0], mark.end)
        else:
            spans.append((mark.start, mark.end))
    return spans


def check_idle(document: Document, shown: list[Drawn]) -> None:
    """All kept steps are drawn, so the idle rows add up to the causes of the lane."""
    found: Counter[str] = Counter()
    for drawn in shown:
        mine = sum(mark.covered for mark in drawn.of("idle"))
        assert mine == drawn.item["buckets"]["idle"]
        for mark in drawn.of("idle"):
            found[mark.group] += mark.covered
    causes = {name: ns for name, ns in document["causes"]["idle"].items() if ns}
    assert {name: ns for name, ns in found.items() if ns} == causes


def test_the_random_traces_do_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_marks, "UNITS", 9)
    export, _ = random_run(8)
    shown = [d for document in analysed(export, tmp_path).values() for d in drawn_steps(document)]
    assert sum(drawn.merged for drawn in shown) > 20


def test_the_same_trace_gives_the_same_timeline(tmp_path: Path) -> None:
    first, _ = random_run(11)
    again, _ = random_run(11)
    one = analysed(first, tmp_path / "a", EVERY)
    other = analysed(again, tmp_path / "b", EVERY, shuffle=5, parquet=True)
    assert one.keys() == other.keys()
    for key, document in one.items():
        assert json.dumps(document["timeline"]) == json.dumps(other[key]["timeline"])


def busy_step(ops: int, seed: int = 3) -> Export:
    """One window of short kernels with long and short gaps, copies and collectives."""
    draw, export, now = Random(seed), Export(), 1_000_000  # noqa: S311
    for k in range(ops):
        length = draw.randrange(400, 4_000)
        export.kernel(GEMM if k % 3 else ADD, now, now + length, correlation=k)
        if k % 50 == 0:
            export.memcpy(1, now, now + 2 * length, stream=COPY, correlation=ops + k)
        if k % 40 == 0:
            export.kernel(REDUCE, now, now + length + 900, stream=20, correlation=2 * ops + k)
        now += length + draw.choice((0, 0, 300, 30_000 if k % 20 == 0 else 0))
    return export


def test_a_step_of_many_ops_stays_within_the_budget(tmp_path: Path) -> None:
    ops = 200_000
    document = only(busy_step(ops), tmp_path)
    check_form(document)
    (drawn,) = drawn_steps(document)
    check_states(drawn)
    assert sum(len(marks) for _, _, marks in drawn.rows) <= timeline.MOST_FIRST
    assert sum(mark.n for mark in drawn.of("stream")) == ops + ops // 40
    assert sum(mark.n for mark in drawn.of("copies")) == ops // 50
    assert sum(mark.covered for mark in drawn.of("idle")) == drawn.item["buckets"]["idle"]
    # The longest collectives and gaps outlive the merging, whatever the bin.
    alone = [mark for mark in drawn.of("stream") if mark.group in {"hidden", "unsplit"}]
    assert sum(mark.n == 1 for mark in alone) >= timeline_marks.LONGEST_COLLECTIVES
    assert drawn.bin_ns > max(mark.dur for mark in alone if mark.n == 1)
    gaps = [gap for gap in document["gaps"]["top"] if gap["dur_ns"] >= 20_000]
    whole = {(mark.start, mark.end) for mark in drawn.of("idle") if mark.n == 1}
    assert gaps
    assert all(any(a <= g["start_ns"] < b for a, b in whole) for g in gaps)


def test_wider_bins_keep_every_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget that needs several doublings: counts and covered times stay."""
    export = busy_step(3_000)
    full = drawn_steps(only(export, tmp_path / "full"))[0]
    monkeypatch.setattr(timeline, "MOST_FIRST", 300)
    monkeypatch.setattr(timeline_marks, "LONGEST_GAPS", 10)
    monkeypatch.setattr(timeline_marks, "LONGEST_COLLECTIVES", 10)
    document = only(export, tmp_path / "few")
    check_form(document)
    (few,) = drawn_steps(document)
    assert sum(len(marks) for _, _, marks in few.rows) <= 300
    assert few.bin_ns >= 4 * full.bin_ns
    check_states(few)
    for kind in ("stream", "copies", "idle", "state"):
        assert sum(m.n for m in few.of(kind)) == sum(m.n for m in full.of(kind)), kind
    for kind in ("idle", "state"):
        assert sum(m.covered for m in few.of(kind)) == sum(m.covered for m in full.of(kind)), kind


def test_extra_steps_give_way_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last kept goes first, then the first kept; those named stay, and the note tells."""
    # Of the first step the leading gap is unseen: it is dropped.
    export = stepping([10, 12, 10, 11, 14, 10, 9])
    everything = only(export, tmp_path / "all", Settings(timeline_steps=(6,)))
    numbers = [drawn.item["number"] for drawn in drawn_steps(everything)]
    assert numbers == [3, 6, 5, 2, 7]
    assert everything["timeline"]["note"] is None
    each = [sum(len(marks) for _, _, marks in d.rows) for d in drawn_steps(everything)]
    for room, expected in ((sum(each[:4]) + 1, [3, 6, 5, 2]), (sum(each[:3]) + 1, [3, 6, 5])):
        monkeypatch.setattr(timeline, "MOST_MARKS", room)
        monkeypatch.setattr(timeline, "ASKED_MARKS", 0)
        monkeypatch.setattr(timeline, "LEAST_MARKS", 2)
        monkeypatch.setattr(timeline, "FEWEST_BINS", 2200)
        document = only(export, tmp_path / str(room), Settings(timeline_steps=(6,)))
        assert [d.item["number"] for d in drawn_steps(document)] == expected
        left = [str(n) for n in numbers if n not in expected]
        assert document["timeline"]["note"] == (
            f"steps left out to keep the timeline small: {', '.join(left)}"
        )


def stepping(lengths: list[int], ops: int = 5) -> Export:
    """Numbered steps from 1; each computes ``lengths`` ms in equal kernels."""
    export, now = Export(), ms(1)
    for number, length in enumerate(lengths, 1):
        export.nvtx(f"step {number}", now, now + ms(length))
        each = ms(length) // ops
        for k in range(ops):
            begin = now + k * each
            export.kernel(
                GEMM, begin + us(20), begin + each - us(30), launch=(begin, begin + us(5))
            )
        now += ms(length)
    return export


@pytest.mark.parametrize(
    ("lengths", "named", "expected"),
    [
        ([10, 20, 30, 40, 50], (), [2, 4, 0]),  # the middle, the slowest (also the last), the first
        ([30, 30, 30, 30], (), [0, 3]),  # equal steps: the first of them is median and slowest
        ([10, 12, 14, 16], (), [1, 3, 0]),  # 13 ms lies between two: the shorter
        ([10, 20, 30, 40, 50], (3, 3, 1), [2, 3, 1, 4, 0]),
        ([10], (), [0]),
    ],
)
def test_steps_are_chosen_by_what_they_tell(
    lengths: list[int], named: tuple[int, ...], expected: list[int]
) -> None:
    shown = choose_shown(chain(lengths), 10_000, named)
    assert [window.index for window in shown.windows] == expected
    assert (shown.unknown, shown.dropped) == ((), ())


def chain(lengths: list[int], **changes: Any) -> Steps:
    """Windows one after the other, numbered by their index."""
    windows, now = [], 0
    for index, length in enumerate(lengths):
        windows.append(Window(index, index, now, now + length))
        now += length
    return Steps("nvtx_step", "step N", 0.9, tuple(windows), **changes)


def test_steps_that_cannot_be_shown_are_told_apart() -> None:
    steps = chain([10, 10, 10, 10], unseen=((4, 4, "open"),))
    windows = list(steps.windows)
    windows[0] = Window(0, 0, 0, 10, drop="fragment")
    steps = Steps("nvtx_step", "step N", 0.9, tuple(windows), steps.unseen)
    shown = choose_shown(steps, 10_000, (0, 2, 4, 99))
    assert [window.index for window in shown.windows] == [1, 2, 3]
    assert shown.unknown == (99,)
    assert shown.dropped == ((0, "fragment"), (4, "open"))


def test_an_outlier_is_slowest_but_never_the_median() -> None:
    windows = [Window(k, k, 10 * k, 10 * k + 10) for k in range(4)]
    windows.append(Window(4, 4, 40, 140, outlier=True))
    shown = choose_shown(Steps("nvtx_step", None, 0.9, tuple(windows)), 10_000, ())
    assert [window.index for window in shown.windows] == [0, 4]


def test_the_note_reaches_the_page(tmp_path: Path) -> None:
    document = only(stepping([10, 11, 12, 13]), tmp_path, Settings(timeline_steps=(2, 77)))
    assert document["timeline"]["note"] == "no step has the number 77"
    assert "No step has the number 77." in render_rank(document)


def test_phases_are_seen_where_the_gpu_works_for_them(tmp_path: Path) -> None:
    """Ranges at device time: helpers below the stepping thread, wrappers and framework ops out."""
    export, now = Export(), ms(1)
    export.nvtx("train", 0, ms(500))
    autograd = 177
    for number in (1, 2, 3, 4):
        export.nvtx(f"step {number}", now, now + ms(40))
        export.nvtx("forward", now, now + ms(10))
        export.nvtx("aten::linear", now + us(50), now + ms(1))
        export.nvtx("block", now + us(10), now + ms(2))
        export.nvtx("backward", now + ms(10), now + ms(35))
        export.nvtx("MmBackward0", now + ms(11), now + ms(12), tid=autograd)
        first = {"launch": (now + us(100), now + us(110))}
        export.kernel(GEMM, now + ms(5), now + ms(8), **first)
        export.kernel(GEMM, now + ms(8), now + ms(9), launch=(now + ms(3), now + ms(3) + 10))
        export.kernel(
            REDUCE, now + ms(9), now + ms(30), stream=20, launch=(now + ms(4), now + ms(5))
        )
        second = {"launch": (now + ms(11) + us(1), now + ms(11) + us(9)), "tid": autograd}
        export.kernel(GEMM, now + ms(20), now + ms(29), **second)
        now += ms(40)
    (drawn, *_) = drawn_steps(only(export, tmp_path))
    # The window begins where the step before it ended on the device, 11 ms before its own range.
    origin = drawn.item["start_ns"] + ms(11)
    seen = [
        [(m.name, m.start - origin, m.end - origin) for m in marks]
        for label, kind, marks in drawn.rows
        if kind == "nvtx"
    ]
    assert seen == [
        [("forward", ms(5), ms(9)), ("backward", ms(20), ms(29))],
        [("block", ms(5), ms(8)), ("MmBackward0", ms(20), ms(29))],
    ]
    ranges = [m.name for m in drawn.row("Main: ranges")]
    assert ranges == ["backward", "forward", "backward"]
    assert [m.name for m in drawn.row("Autograd: ranges")] == ["MmBackward0"]


def test_what_a_launching_call_holds_is_cut_out_of_it(tmp_path: Path) -> None:
    export = Export()
    export.kernel(GEMM, ms(1), ms(2), launch=(ms(1) - us(20), ms(1) - us(10)))
    export.kernel(GEMM, ms(8), ms(9), launch=(ms(4), ms(7)))
    export.api("cuModuleLoadData", ms(5), ms(6))
    document = only(export, tmp_path)
    (drawn,) = drawn_steps(document)
    parts = [(m.group, m.start, m.end) for m in drawn.of("idle") if m.start >= ms(4)]
    assert parts == [
        ("launch_latency", ms(4), ms(5)),
        ("jit_or_load", ms(5), ms(6)),
        ("launch_latency", ms(6), ms(8)),
    ]
    check_idle(document, [drawn])


def test_quiet_streams_share_a_row(tmp_path: Path) -> None:
    export = Export()
    for k in range(40):
        export.kernel(GEMM, ms(k), ms(k) + us(900 - 15 * k), stream=k, launch=(ms(k), ms(k) + 50))
    for k in range(5):
        export.kernel(GEMM, ms(k), ms(k) + us(2), stream=90 + k, launch=(ms(k) + 60, ms(k) + 90))
    document = only(export, tmp_path)
    check_form(document)
    (drawn,) = drawn_steps(document)
    labels = [label for label, kind, _ in drawn.rows if kind == "stream"]
    assert labels[0] == "Stream 0, compute"
    own = len(labels) - 1
    assert labels[-1] == f"{45 - own} other streams"
    assert len(drawn.rows) == 14
    assert sum(mark.n for mark in drawn.of("stream")) == 45


def test_one_quiet_stream_keeps_its_name(tmp_path: Path) -> None:
    export = stepping([10, 10, 10, 10])
    export.kernel(ADD, ms(12), ms(12) + us(3), stream=33)
    (drawn, *_) = drawn_steps(only(export, tmp_path))
    assert [label for label, kind, _ in drawn.rows if kind == "stream"] == [
        "Stream 7, compute",
        "Stream 33, compute",
    ]


def test_names_are_short_texts(tmp_path: Path) -> None:
    export = stepping([10, 10, 10])
    long = "my_kernel_" + "x" * 5_000 + "_tail"
    cutlass = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>(T1::Params)"
    export.kernel(long, ms(11) - us(25), ms(11) - us(5), stream=9, short=long)
    export.kernel(cutlass, ms(12), ms(12) + us(500), stream=9, short="Kernel2")
    export.memcpy(2, ms(13), ms(14), stream=9)
    export.memset(ms(14), ms(15), stream=9)
    document = only(export, tmp_path)
    names = document["timeline"]["names"]
    assert {"device to host", "memset", cutlass, "cudaLaunchKernel", GEMM} <= set(names)
    (cut,) = [name for name in names if name.startswith("my_kernel_")]
    assert len(cut) == timeline.MOST_TEXT
    assert cut.endswith("_tail")
    assert names == sorted(set(names))


def test_too_many_names_keep_those_of_the_most_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "MOST_NAMES", 2)
    export = Export()
    for k in range(5):
        export.kernel(f"k{k}_own_thing", ms(10 * k), ms(10 * k) + ms(k + 1))
    document = only(export, tmp_path)
    assert document["timeline"]["names"] == ["k3_own_thing", "k4_own_thing"]
    unnamed = [mark for mark in drawn_steps(document)[0].of("stream") if mark.name is None]
    assert len(unnamed) == 3
