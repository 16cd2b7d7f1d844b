"""Small random traces: the same work as an export and as plain lists for the oracle.

Everything lies on a coarse grid, so that shared starts, shared ends and adjacent ops are common.
Streams other than the primary one may overlap themselves, which no GPU does: the identity must
hold for whatever a file says.
"""

# ruff: noqa: S311  randomness that must be repeatable, not secret

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from nsysflow.model import CLASSES
from tests.support.export import Export, Where
from tests.support.oracle import Call, Op, Range, Series
from tests.support.oracle_host import SYNCS

PRIMARY, SECOND, COMM, COPY = 7, 13, 20, 24
LAUNCH = "cudaLaunchKernel_v7000"

# Names whose class nobody disputes; the class table itself is tested elsewhere.
KERNELS = (
    ("ampere_sgemm_128x64_tn", "gemm"),
    ("void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false>>", "attention"),
    ("void (anonymous namespace)::cunn_SoftMaxForward<4, float>", "loss_softmax"),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
     "elementwise"),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "reduce"),
    ("my_own_thing", "other"),
)  # fmt: skip
COLLECTIVES = (
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
    "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>",
)
MIGRATIONS = ((11, "uvm_h2d"), (12, "uvm_d2h"), (13, "uvm_d2d"))
COPIES = ((1, "h2d"), (2, "d2h"), (8, "d2d"), (10, "p2p"))
SHAPES = ("none", "numbered", "spaced", "of", "profiler", "empty_step", "open_last", "late_first")


@dataclass
class Trace:
    """One process on one device, as the oracle sees it."""

    seed: int
    pid: int
    device: int
    ops: list[Op] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    series: Series | None = None


@dataclass
class Maker:
    """Draws one lane; the times of everything are multiples of ``unit``."""

    rng: Random
    unit: int
    trace: Trace
    now: int = 0
    busy: int = 0
    correlation: int = 0

    def some(self, low: int, high: int) -> int:
        """A random length on the grid."""
        return self.rng.randint(low, high) * self.unit

    def call(self, name: str, thread: int, length: int) -> Call:
        """A call that begins now; the host moves on to its end."""
        made = Call(name, self.now, self.now + length, thread)
        self.trace.calls.append(made)
        self.now = made.end
        return made

    def draw_op(self, thread: int) -> None:
        """One piece of device work and, mostly, the call that started it."""
        kind = self.rng.choices(
            ("compute", "side", "comm", "copy", "memset", "graph", "nodes", "migration"),
            (8, 4, 4, 4, 2, 1, 1, 2),
        )[0]
        if kind == "migration":
            self.migrate()
            return
        api = {"copy": "cudaMemcpyAsync_v3020", "memset": "cudaMemsetAsync_v3020"}.get(kind, LAUNCH)
        api = "cudaGraphLaunch_v10000" if kind in {"graph", "nodes"} else api
        launch = self.call(api, thread, self.some(1, 2))
        self.correlation += 1
        length = 0 if self.rng.random() < 0.08 else self.some(1, 9)
        begin = launch.start + self.some(0, 6)
        if kind == "nodes":
            self.replay(begin, launch)
            return
        if kind in {"compute", "graph"}:
            begin = max(begin, self.busy)
            self.busy = begin + length
        self.place(kind, begin, begin + length, launch)

    def replay(self, begin: int, launch: Call) -> None:
        """A graph traced node by node: its kernels share the one call that launched it."""
        for node in range(self.rng.randint(2, 4)):
            begin = max(begin, self.busy) + self.some(0, 1)
            self.busy = begin + self.some(1, 3)
            name, group = self.rng.choice(KERNELS)
            self.trace.ops.append(
                Op(begin, self.busy, "kernel", PRIMARY, name=name, rank=CLASSES.index(group),
                   launch=launch, correlation=self.correlation, node=1 + node)
            )  # fmt: skip

    def migrate(self) -> None:
        """A page of unified memory moves; nobody asked for it."""
        begin = max(self.now, self.busy - self.some(0, 4)) + self.some(0, 4)
        copy_kind, name = self.rng.choice(MIGRATIONS)
        self.trace.ops.append(
            Op(begin, begin + self.some(1, 4), "memcpy", COPY, copy_kind=copy_kind, copy_name=name,
               nbytes=self.rng.randint(1, 1 << 20))
        )  # fmt: skip

    def place(self, kind: str, begin: int, end: int, launch: Call | None) -> None:
        """Append the op; one in fifteen of the side streams loses its launch."""
        if kind not in {"compute", "graph"} and self.rng.random() < 0.07:
            self.trace.calls = [call for call in self.trace.calls if call is not launch]
            launch = None
        correlation = self.correlation
        rng = self.rng
        if kind in {"compute", "side"}:
            name, group = rng.choice(KERNELS)
            stream, context = (PRIMARY, 1) if kind == "compute" else (SECOND, 1)
            if kind == "side" and rng.random() < 0.4:
                # Another context of the process numbers its streams anew.
                stream, context = rng.choice((PRIMARY, SECOND, COPY)), 2
            rank = CLASSES.index(group)
            op = Op(begin, end, "kernel", stream, name=name, rank=rank, launch=launch,
                    correlation=correlation, context=context)  # fmt: skip
        elif kind == "comm":
            op = Op(begin, end, "kernel", COMM, comm=True, name=rng.choice(COLLECTIVES),
                    launch=launch, correlation=correlation)  # fmt: skip
        elif kind == "copy":
            copy_kind, name = rng.choice(COPIES)
            op = Op(begin, end, "memcpy", COPY, comm=copy_kind == 10, launch=launch,
                    correlation=correlation, copy_kind=copy_kind, copy_name=name,
                    nbytes=rng.randint(1, 1 << 20))  # fmt: skip
        elif kind == "memset":
            op = Op(begin, end, "memset", rng.choice((SECOND, COPY)), launch=launch,
                    correlation=correlation, copy_name="memset", nbytes=8)  # fmt: skip
        else:
            op = Op(begin, end, "graph", PRIMARY, launch=launch, correlation=correlation)
        self.trace.ops.append(op)

    def burst(self, threads: list[int]) -> None:
        """What the host does in one step: calls, pauses, now and then a wait for the device."""
        for _ in range(self.rng.randint(3, 12)):
            self.draw_op(self.rng.choice(threads))
            if self.rng.random() < 0.5:
                self.now += self.some(0, 5)
            if self.rng.random() < 0.12:
                wait = max(self.busy - self.now, 0) + self.some(1, 3)
                self.call(self.rng.choice(SYNCS), threads[0], wait)


def draw_lane(rng: Random, trace: Trace, unit: int, shape: str) -> Trace:
    """Draw one lane whose step series has the given shape."""
    maker, pid = Maker(rng, unit, trace, now=rng.choice((3, 50, 9000))), trace.pid
    threads = [pid, pid + 77]
    if shape != "none":
        trace.series = Series()
    if shape in {"late_first", "spaced"} or rng.random() < 0.4:
        maker.burst(threads)
        maker.now += unit
    steps = rng.randint(3, 6)
    for number in range(steps):
        _draw_step(maker, shape, threads, number, steps)
    if rng.random() < 0.3:
        maker.now += unit
        maker.burst(threads)
    if not trace.ops:
        maker.draw_op(pid)
    return trace


def _draw_step(maker: Maker, shape: str, threads: list[int], number: int, steps: int) -> None:
    trace, begin = maker.trace, maker.now
    if not (shape == "empty_step" and number == 1):
        middle = maker.now
        maker.burst(threads)
        text = maker.rng.choice(("forward", "loss"))
        trace.ranges.append(Range(text, middle, maker.now, threads[0]))
    maker.now += maker.some(1, 3)
    if trace.series is None:
        return
    end = None if shape == "open_last" and number == steps - 1 else maker.now
    label = {"of": f"iteration {number + 10}/{steps + 10}", "profiler": f"ProfilerStep#{number}"}
    text = label.get(shape, f"step {number}")
    shown = int("".join(c for c in text.split("/", 1)[0] if c.isdigit()))
    trace.series.ranges.append((shown, begin, end))
    trace.ranges.append(Range(text, begin, end, threads[0]))
    if shape == "spaced":
        maker.now += maker.some(1, 4)  # work between two ranges belongs to the later one
        if maker.rng.random() < 0.5:
            maker.burst(threads)


def write(export: Export, trace: Trace) -> None:
    """Put one lane into an export, in the way nsys would record it."""
    started = {id(op.launch): op for op in trace.ops if op.launch is not None}
    for call in trace.calls:
        op = started.get(id(call))
        correlation = 1_000_000 + len(export.rows.get("CUPTI_ACTIVITY_KIND_RUNTIME", []))
        export.api(call.name, call.start, call.end, pid=trace.pid, tid=call.thread,
                   correlation=correlation if op is None else op.correlation)  # fmt: skip
    for op in trace.ops:
        _write_op(export, trace, op)
    for span in trace.ranges:
        export.nvtx(span.text, span.start, span.end, pid=trace.pid, tid=span.thread)


def _write_op(export: Export, trace: Trace, op: Op) -> None:
    where: Where = {"device": trace.device, "stream": op.stream, "pid": trace.pid}
    where["context"] = op.context
    where["correlation"] = op.correlation
    if op.kind == "kernel":
        export.kernel(op.name, op.start, op.end, node=op.node, **where)
    elif op.kind == "memcpy":
        export.memcpy(op.copy_kind or 0, op.start, op.end, op.nbytes, src=1, dst=2, **where)
    elif op.kind == "memset":
        export.memset(op.start, op.end, op.nbytes, **where)
    else:
        export.graph(op.start, op.end, **where)


def random_run(seed: int) -> tuple[Export, list[Trace]]:
    """One export with one to three lanes; lanes of different processes share correlation ids."""
    rng = Random(seed)
    unit = rng.choice((1, 10, 700, 2_500))
    shape = SHAPES[seed % len(SHAPES)]
    places = [(100, 0), (101, 1), (102, 1)][: rng.choices((1, 2, 3), (6, 3, 1))[0]]
    export = Export(lazy=rng.random() < 0.7)
    lanes = [Trace(seed, pid, device) for pid, device in places]
    traces = [draw_lane(rng, lane, unit, shape) for lane in lanes]
    for trace in traces:
        write(export, trace)
        export.process("python", pid=trace.pid)
    return export, traces
