"""Idle time by cause: every instant of random host timelines, in the binding order of causes."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.support.engine import analysed
from tests.support.export import Export, global_tid, us

if TYPE_CHECKING:
    from pathlib import Path

PID, MAIN, HELPER = 100, 100, 177
# Calls and ranges that are evidence, in the order in which they claim.
CALLS = {
    "jit_or_load": "cuModuleLoadData",
    "cuda_malloc_free": "cudaMalloc_v3020",
    "host_sync": "cudaStreamSynchronize_v3020",
}
RANGES = {
    "checkpoint": "save_checkpoint",
    "eval": "evaluation",
    "data_loading": "dataloader next",
    "gc": "gc.collect",
    "comm_host": "barrier",
    "logging": "wandb",
    "host_other_nvtx": "my own work",
}
LOUD = (
    "checkpoint", "eval", "jit_or_load", "cuda_malloc_free", "host_sync", "data_loading", "gc",
    "comm_host",
)  # fmt: skip


@dataclass
class Activity:
    """What a thread did: ``cause`` None for a CUDA call that is no evidence."""

    cause: str | None
    start: int
    end: int
    call: bool


@dataclass
class Plan:
    """A lane in ticks: kernels with their launches, and what two threads did between."""

    kernels: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    threads: dict[int, list[Activity]] = field(default_factory=lambda: {MAIN: [], HELPER: []})

    def on(self, thread: int, at: int, *causes: str) -> Activity | None:
        """The activity of one of the causes that covers an instant; the latest start speaks."""
        found = [a for a in self.threads[thread] if a.cause in causes and a.start <= at < a.end]
        return max(found, key=lambda a: a.start, default=None)

    def silent(self, thread: int, at: int) -> bool:
        return not any(a.call and a.start <= at < a.end for a in self.threads[thread]) and not any(
            tid == thread and start <= at < end for _, _, start, end, tid in self.kernels
        )


def random_plan(rng: random.Random) -> Plan:
    """One stream, each kernel launched before it starts; threads never in two calls at once."""
    plan, at = Plan(), 10
    for _ in range(rng.randint(3, 7)):
        gap, late = rng.randint(0, 30), rng.randint(-15, 25)
        start = at + gap
        launch = max(1, min(start - 1, at + late))
        thread = rng.choice([MAIN, MAIN, MAIN, HELPER])
        if any(launch <= s + 2 and s <= launch + 2 for _, _, s, _, _ in plan.kernels):
            launch = start - 1
        plan.kernels.append((start, start + rng.randint(1, 20), launch, launch + 1, thread))
        at = plan.kernels[-1][1]
    for thread, done in plan.threads.items():
        busy = [(s, e) for _, _, s, e, tid in plan.kernels if tid == thread]
        for _ in range(rng.randint(0, 8)):
            start = rng.randint(0, at)
            end = start + rng.randint(1, 15)
            cause = rng.choice([*CALLS, None])
            if all(end <= s or start >= e for s, e in busy):
                busy.append((start, end))
                done.append(Activity(cause, start, end, call=True))
        taken: list[tuple[int, int]] = []
        for _ in range(rng.randint(0, 5)):
            start = rng.randint(0, at)
            end = start + rng.randint(1, 25)
            if all(end <= s or start >= e for s, e in taken):
                taken.append((start, end))
                done.append(Activity(rng.choice(list(RANGES)), start, end, call=False))
    return plan


def written(plan: Plan, tick: int) -> Export:
    export = Export()
    for start, end, call, returned, thread in plan.kernels:
        where = {"pid": PID, "tid": thread, "launch": (call * tick, returned * tick)}
        export.kernel("gemm", start * tick, end * tick, **where)
    for thread, done in plan.threads.items():
        for a in done:
            times = (a.start * tick, a.end * tick)
            if a.call:
                name = CALLS.get(a.cause or "", "cudaEventRecord_v3020")
                export.api(name, *times, pid=PID, tid=thread)
            else:
                export.nvtx(RANGES[a.cause or ""], *times, pid=PID, tid=thread)
    return export


def expected(plan: Plan, tick: int) -> Counter[str]:
    """Instant by instant, as the documents define it."""
    result: Counter[str] = Counter()
    micro = micro_limit(plan, tick)
    gaps = [(before[1], after) for before, after in itertools.pairwise(plan.kernels)]
    direct: Counter[int] = Counter()
    shadows: list[tuple[int, Activity, str]] = []
    for g0, (g1, _, call, returned, thread) in gaps:
        for at in range(g0, g1):
            if at < call:
                name, activity, shadow = claim(plan, thread, (g0, call), at, tick)
                if shadow:
                    assert activity is not None
                    shadows.append((at, activity, name))
                    continue
                if activity is not None and name == "host_sync":
                    direct[id(activity)] += 1
                result[name] += 1
            elif call >= g0 or at < returned:
                result["launch_latency"] += 1
            else:
                short = (g1 - max(g0, returned)) * tick <= micro
                result["micro_gap" if short else "queued_unexplained"] += 1
    for _, activity, otherwise in sorted(shadows, key=lambda s: s[0]):
        left = activity.end - activity.start > direct[id(activity)]
        direct[id(activity)] += left
        result["host_sync" if left else otherwise] += 1
    return Counter({name: ticks * tick for name, ticks in result.items() if ticks})


def micro_limit(plan: Plan, tick: int) -> int:
    """The 90th percentile of queued gaps, between 2 and 10 µs."""
    lengths = sorted(
        (after - max(end, min(returned, after))) * tick
        for (_, end, *_), (after, _, call, returned, _) in itertools.pairwise(plan.kernels)
        if call < end and after > max(end, returned)
    )
    typical = lengths[math.ceil(0.9 * len(lengths)) - 1] if lengths else 0
    return max(2_000, min(10_000, typical))


def claim(
    plan: Plan, thread: int, late: tuple[int, int], at: int, tick: int
) -> tuple[str, Activity | None, bool]:
    """Who claims a host-late instant; a shadow also says what it would be without the call."""
    other = HELPER if thread == MAIN else MAIN
    launchers = {tid for *_, tid in plan.kernels}
    others = [other] if other in launchers and plan.silent(thread, at) else []
    for candidate in (thread, *others):
        for cause in LOUD:
            if activity := plan.on(candidate, at, cause):
                return cause, activity, False
    for candidate in (thread, *others):
        if plan.on(candidate, at, "logging"):
            return "logging", None, False
    otherwise = rest(plan, thread, late, at, others, tick)
    for candidate in (thread, *others):
        if activity := shadow(plan, candidate, late[0], at, tick):
            return otherwise, activity, True
    return otherwise, None, False


def shadow(plan: Plan, thread: int, gap_start: int, at: int, tick: int) -> Activity | None:
    waits = [a for a in plan.threads[thread] if a.cause == "host_sync" and a.start <= gap_start]
    call = max(waits, key=lambda a: a.start, default=None)
    if call is None or call.end * tick < gap_start * tick - 5_000 or call.end > at:
        return None
    begun = (a for a in plan.threads[thread] if not a.call and a.start >= call.end)
    return None if any(a.start <= at < a.end for a in begun) else call


def rest(
    plan: Plan, thread: int, late: tuple[int, int], at: int, others: list[int], tick: int
) -> str:
    ends = [end for _, _, start, end, _ in plan.kernels if start < late[1]]
    if ends and (late[1] - max(ends)) * tick <= 500_000:
        return "launch_bound"
    for candidate in (thread, *others):
        if plan.on(candidate, at, *RANGES):
            return "host_other_nvtx"
    return "idle_unattributed"


@pytest.mark.parametrize("seed", range(24))
def test_every_idle_instant_by_cause(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)  # noqa: S311 - only has to repeat
    plan = random_plan(rng)
    # A microsecond a tick keeps shadows long; a tenth of a millisecond ends "still issuing".
    tick = rng.choice([1_000, 100_000])
    (document,) = analysed(written(plan, tick), tmp_path).values()
    found = {cause: ns for cause, ns in document["causes"]["idle"].items() if ns}
    assert found == dict(expected(plan, tick))


def test_the_call_site_is_the_programs_own_frame(tmp_path: Path) -> None:
    export = Export()
    export.kernel("gemm", 1_000, 50_000, launch=(0, 500))
    export.api("cudaStreamSynchronize_v3020", 2_000, 60_000, callchainId=1)
    export.kernel("gemm", 90_000, 95_000, launch=(80_000, 81_000))
    frames = [("cuStreamSynchronize", "libcuda.so.1"), ("at::_local_scalar", "libtorch_cuda.so"),
              ("train.py:88 log_loss", "python3.11"), ("main", "python3.11")]  # fmt: skip
    for depth, (symbol, module) in enumerate(frames):
        export.row("CUDA_CALLCHAINS", id=1, symbol=export.string(symbol),
                   module=export.string(module), stackDepth=depth)  # fmt: skip
    (document,) = analysed(export, tmp_path).values()
    (item,) = document["syncs"]["items"]
    assert item["callsite"] == "train.py:88 log_loss"
    assert item["idle_caused_ns"] == 30_000


STATES = {0: "Unknown", 1: "Running", 2: "Interruptible", 5: "Terminated"}
BLOCKS = {0: "NonBlocked", 6: "Mutex", 44: "Preempted"}


def scheduled(export: Export, *changes: tuple[int, int, int, int, int]) -> Export:
    """Thread, time, whether it got a core, state and block by number."""
    for table, names in (
        ("ENUM_SAMPLING_THREAD_STATE", STATES),
        ("ENUM_SCHEDULING_THREAD_BLOCK", BLOCKS),
    ):
        for number, name in names.items():
            export.row(table, id=number, name=name, label=name)
    for thread, at, on_cpu, state, block in changes:
        export.row("SCHED_EVENTS", start=at, cpu=3, isSchedIn=on_cpu, threadState=state,
                   threadBlock=block, globalTid=global_tid(PID, thread))  # fmt: skip
    return export


def late_launch() -> Export:
    """The GPU is idle from 10 to 1000 µs; the main thread launches at 990, a helper before."""
    export = Export()
    export.kernel("a", us(1), us(10), pid=PID, tid=HELPER, launch=(100, 200))
    export.kernel("b", us(1000), us(1010), pid=PID, tid=MAIN, launch=(us(990), us(991)))
    return export


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # Left able to run at 100, back at 400: 300 µs without a core.
        ([(MAIN, us(100), 0, 1, 0), (MAIN, us(400), 1, 0, 0)], us(300)),
        ([(MAIN, us(100), 0, 0, 44), (MAIN, us(400), 1, 0, 0)], us(300)),
        # The silent main thread lets the other launching thread speak.
        ([(HELPER, us(100), 0, 1, 0), (HELPER, us(250), 1, 0, 0)], us(150)),
        # It waited for something, or nothing says what for, or it never came back.
        ([(MAIN, us(100), 0, 2, 6), (MAIN, us(400), 1, 0, 0)], 0),
        ([(MAIN, us(100), 0, 0, 0), (MAIN, us(400), 1, 0, 0)], 0),
        ([(MAIN, us(100), 0, 1, 0)], 0),
        # A thread that launches nothing holds nothing up.
        ([(999, us(100), 0, 1, 0), (999, us(400), 1, 0, 0)], 0),
    ],
    ids=["running", "preempted", "helper", "blocked", "unknown", "never_back", "bystander"],
)
def test_a_launching_thread_without_a_core(
    changes: list[tuple[int, int, int, int, int]], expected: int, tmp_path: Path
) -> None:
    (document,) = analysed(scheduled(late_launch(), *changes), tmp_path).values()
    idle = document["causes"]["idle"]
    assert (idle["cpu_contention"], idle["idle_unattributed"]) == (expected, us(980) - expected)


@pytest.mark.parametrize("state", [1, 0, 5])
def test_scheduling_without_states_tells_nothing(state: int, tmp_path: Path) -> None:
    changes = [(MAIN, us(1020), 0, state, 0), (MAIN, us(1030), 1, 0, 0)]
    (document,) = analysed(scheduled(late_launch(), *changes), tmp_path).values()
    (card,) = [f for f in document["findings"] if f["id"] == "cpu_contention"]
    assert card["status"] == ("ok" if state == 1 else "unavailable")


def test_a_core_lost_by_another_process_with_the_same_thread_number(tmp_path: Path) -> None:
    export = scheduled(late_launch())
    export.kernel("c", us(1), us(10), pid=200, device=1, tid=MAIN, launch=(100, 200))
    for at, on_cpu in ((us(100), 0), (us(400), 1)):
        export.row("SCHED_EVENTS", start=at, cpu=3, isSchedIn=on_cpu, threadState=1,
                   globalTid=global_tid(200, MAIN))  # fmt: skip
    document = analysed(export, tmp_path)[(PID, 0)]
    assert document["causes"]["idle"]["cpu_contention"] == 0


def saved(megabytes: int, write: str = "write", *, thread: int = MAIN, pause: int = 0) -> Export:
    """The GPU runs to 10 µs and from 1000 on; between, the main thread fetches and writes."""
    export = late_launch()
    for number in range(4):
        at = us(100 + 100 * number) + (pause if number > 1 else 0)
        export.memcpy(2, at + us(5), at + us(45), megabytes * 250_000, src=2, dst=0, pid=PID,
                      tid=MAIN, launch=(at, at + us(50)))  # fmt: skip
        export.os_call(write, at + us(50), at + us(90), pid=PID, tid=thread)
    return export


@pytest.mark.parametrize(
    ("export", "writing_ns"),
    [
        # Four times 40 µs of writing and the end of the fetch: while it runs the GPU copies.
        (saved(1_000), us(4 * (40 + 5))),
        (saved(999), 0),
        (saved(1_000, "read"), 0),
        (saved(1_000, thread=HELPER), 0),
        # Half a gigabyte, a second, half a gigabyte: two fetches that are none.
        (saved(1_000, pause=us(1_000_000)), 0),
    ],
    ids=["saved", "small", "reads", "other_thread", "apart"],
)
def test_a_checkpoint_without_a_range(export: Export, writing_ns: int, tmp_path: Path) -> None:
    (document,) = analysed(export, tmp_path).values()
    assert document["causes"]["idle"]["checkpoint"] == writing_ns
