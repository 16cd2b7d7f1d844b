"""One training step of one pipeline stage, as its host program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nsysflow.demo import errands, program
from nsysflow.demo.machine import Collective, Machine
from nsysflow.demo.record import ABSENT, AUTOGRAD, MAIN

if TYPE_CHECKING:
    from collections.abc import Generator

    from nsysflow.demo.machine import Meeting
    from nsysflow.demo.plan import Plan
    from nsysflow.demo.program import Builder, Part
    from nsysflow.demo.record import Times
    from nsysflow.demo.sizes import Sizes

    Work = Generator[Meeting, tuple[Times, Times], None]

LATE_COMPUTE = 1.12
EVAL_LAYERS = 2
BUCKET_LAYERS = 4


@dataclass
class Trainer:
    """The host program of the ranks of one stage; ``first_rank`` is the first of them."""

    plan: Plan
    sizes: Sizes
    machine: Machine
    first_rank: int
    hosts: dict[str, int]
    host_ranges: list[tuple[Times, Times]] = field(default_factory=list)
    built: dict[tuple[Builder, tuple[int, ...]], list[Part]] = field(default_factory=dict)

    # One step -------------------------------------------------------------------------------

    def step(self, index: int) -> Work:
        """Run step ``index``; yields at every collective that other stages take part in."""
        machine, plan = self.machine, self.plan
        began = machine.now + 2_000
        machine.now = began + 3_000
        late = self._late(index)
        if plan.late in {"compute", "rotating"}:
            machine.slow = np.where(late, LATE_COMPUTE, 1.0)
        self._prepare_batch(index, late)
        yield from self._micro_batches()
        yield from self._gradient_norm()
        optimizer_end = self._optimizer()
        if index == plan.eval_step:
            yield from self._evaluate()
        if index == plan.checkpoint_step:
            errands.checkpoint(machine)
        machine.python(80_000)
        machine.now = machine.now + 3_000
        self._close(index, began, optimizer_end)

    def _close(self, index: int, began: Times, optimizer_end: Times) -> None:
        machine, plan = self.machine, self.plan
        number = plan.first_number + index
        if plan.step_ranges == "numbered":
            machine.range(f"step {number}", began, machine.now)
        elif plan.step_ranges == "profiler":
            machine.range(f"ProfilerStep#{number}", began, machine.now)
        if plan.step_ranges != "optimizer":
            self.host_ranges.append((began, machine.now))
        else:
            # Only the optimizer is named: a step reaches from the end of one to the end of another.
            before = self.host_ranges[-1][1] + 1 if self.host_ranges else np.zeros_like(began)
            self.host_ranges.append((before, optimizer_end))
        machine.now = machine.now + 2_000

    def _late(self, index: int) -> Times:
        ranks = self.first_rank + np.arange(self.machine.ranks)
        rank = self.plan.slow_in(index)
        late: Times = (ranks == (ABSENT if rank is None else rank)).astype(np.int64)
        return late

    # Before the first kernel ----------------------------------------------------------------

    def _prepare_batch(self, index: int, late: Times) -> None:
        machine, plan = self.machine, self.plan
        if plan.late == "host" and late.any():
            errands.augment(machine, late * errands.LATE_HOST_NS)
        stall = np.full(
            machine.ranks, errands.STALL_NS if plan.stalls(index) else 0, dtype=np.int64
        )
        if plan.late == "data":
            stall += late * errands.LATE_LOADER_NS
        errands.load(machine, stall)
        machine.python(30_000)
        errands.copy_batch(machine, self.micro_batches)
        # Here the queue is short, so that what the host does next leaves the GPU idle.
        if index < max(1, plan.warm_up):
            errands.load_modules(machine)
        if index in {0, plan.allocating_step}:
            machine.label("cuda_malloc_free", *machine.call("cudaMalloc_v3020", errands.MALLOC_NS))

    @property
    def micro_batches(self) -> int:
        """Micro-batches of one step."""
        return self.plan.shape[1]

    # Forward and backward -------------------------------------------------------------------

    def _micro_batches(self) -> Work:
        count, stages, stage = self.micro_batches, self.machine.stages, self.machine.stage
        warm = min(stages - stage - 1, count)
        for _ in range(warm):
            yield from self._exchange("pp_previous")
            yield from self._forward()
            yield from self._exchange("pp_next")
        if warm < count:
            yield from self._exchange("pp_previous")
        for done in range(count - warm):
            yield from self._forward()
            yield from self._exchange("pp_next")
            yield from self._backward(last=done + warm == count - 1 and warm == 0)
            yield from self._exchange("pp_previous")
        for done in range(warm):
            yield from self._exchange("pp_next")
            yield from self._backward(last=done == warm - 1)
            yield from self._exchange("pp_previous")

    def _exchange(self, link: str) -> Work:
        """Send to and receive from a neighbour in one group, as 1F1B schedules do."""
        machine = self.machine
        if machine.stage == (0 if link == "pp_previous" else machine.stages - 1):
            return
        count = self.sizes.activation_bytes
        transfer = self.sizes.transfer_ns(count, hosts=self.hosts[link])
        ask = Collective("send_recv", link, count, transfer, link, "send_recv")
        ends = yield from machine.collective(ask)
        machine.wait("compute", ends)

    def _forward(self) -> Work:
        machine = self.machine
        if machine.stage == 0:
            yield from self._run(program.embedding, 0)
        yield from self._layers(program.forward_layer, range(self.plan.shape[0]))
        if machine.stage == machine.stages - 1:
            yield from self._run(program.head, 0)

    def _backward(self, *, last: bool) -> Work:
        machine = self.machine
        began = machine.now + 3_000
        machine.now = began + 15_000  # the engine wakes its thread
        machine.thread = AUTOGRAD
        if machine.stage == machine.stages - 1:
            yield from self._run(program.head_backward, 0)
        yield from self._layers(
            program.backward_layer, range(self.plan.shape[0] - 1, -1, -1), last=last
        )
        if machine.stage == 0:
            yield from self._run(program.embedding_backward, 0)
        machine.thread = MAIN
        machine.now = machine.now + 12_000
        machine.record.one(
            "osrt", (began, machine.now - 2_000),
            name=machine.words("pthread_cond_wait"), thread=MAIN,
        )  # fmt: skip

    def _layers(self, layer_of: Builder, order: range, *, last: bool = False) -> Work:
        backward = order.step < 0
        if self.plan.replicas == 1:
            yield from self._run(layer_of, *order)
            return
        if self.plan.data_parallel == "fsdp":
            yield from self._sharded(layer_of, order, backward=backward)
            return
        for done, number in enumerate(order, start=1):
            yield from self._run(layer_of, number)
            if last and (done % BUCKET_LAYERS == 0 or done == len(order)):
                yield from self._bucket()

    def _sharded(self, layer_of: Builder, order: range, *, backward: bool) -> Work:
        gathered = yield from self._gather()
        for place, number in enumerate(order):
            here = gathered
            if place + 1 < len(order):
                gathered = yield from self._gather()
            self.machine.wait("compute", here)
            yield from self._run(layer_of, number)
            if backward:
                yield from self._scatter()

    def _gather(self) -> Generator[Meeting, tuple[Times, Times], Times]:
        count = self.sizes.shard_bytes
        ask = Collective("all_gather", "fsdp", count, self._ring(count), "fsdp", "all_gather")
        return (yield from self.machine.collective(ask))

    def _scatter(self) -> Work:
        count = self.sizes.shard_bytes
        yield from self.machine.collective(
            Collective(
                "reduce_scatter", "fsdp", count, self._ring(count), "scatter", "reduce_scatter"
            )
        )

    def _bucket(self) -> Work:
        layers = min(BUCKET_LAYERS, self.plan.shape[0])
        count = layers * self.sizes.shard_bytes * self.plan.replicas
        transfer = 2 * self._ring(count // self.plan.replicas)
        ask = Collective("all_reduce", "dp", count, transfer, "dp", "all_reduce")
        yield from self.machine.collective(ask)

    def _ring(self, shard: int) -> int:
        kind = self.plan.data_parallel if self.plan.data_parallel == "fsdp" else "dp"
        return self.sizes.transfer_ns(shard * (self.plan.replicas - 1), hosts=self.hosts[kind])

    def _run(self, builder: Builder, *layers: int) -> Work:
        key = (builder, layers)
        if key not in self.built:
            parts = [part for layer in layers for part in builder(self.sizes, layer)]
            self.built[key] = program.merged(parts)
        for part in self.built[key]:
            if isinstance(part, str):
                yield from self._tensor_parallel()
            else:
                self.machine.kernels(part)

    def _tensor_parallel(self) -> Work:
        tensor, count = self.plan.tensor_parallel, self.sizes.activation_bytes
        transfer = self.sizes.transfer_ns(2 * count * (tensor - 1) / tensor, hosts=self.hosts["tp"])
        ask = Collective("all_reduce", "tp", count, transfer, "tp", "all_reduce")
        ends = yield from self.machine.collective(ask)
        self.machine.wait("compute", ends)

    # After backward -------------------------------------------------------------------------

    def _gradient_norm(self) -> Work:
        machine = self.machine
        if self.plan.replicas > 1:
            stream = "scatter" if self.plan.data_parallel == "fsdp" else "dp"
            machine.wait("compute", machine.streams[stream])
        machine.kernels(program.gradient_norm())
        if self.plan.ranks > 1:
            transfer = self.sizes.transfer_ns(8, hosts=self.hosts["world"])
            ask = Collective("all_reduce", "world", 4, transfer, "world", "all_reduce_float")
            ends = yield from machine.collective(ask)
            machine.wait("compute", ends)
        if self.plan.item:
            errands.item(machine)

    def _optimizer(self) -> Times:
        machine = self.machine
        began = machine.now + 1_000
        machine.now = began + 3_000
        for batch in program.optimizer(self.plan.optimizer_kernels):
            machine.kernels(batch)
        end = machine.now + 2_500
        if self.plan.step_ranges != "none":
            machine.range("Optimizer.step#AdamW.step", began, end)
            # A range of the user's speaks for itself: what precedes its first launch is its own.
            machine.label("host_other_nvtx", began, end)
        machine.now = end + 1_000
        return end

    # Now and then ---------------------------------------------------------------------------

    def _evaluate(self) -> Work:
        machine = self.machine
        began = machine.now + 2_000
        machine.now = began + 3_000
        yield from self._run(program.forward_layer, *range(EVAL_LAYERS))
        machine.python(300_000)
        machine.synchronize(errands.read_scalar(machine))
        machine.range("evaluate", began, machine.now + 2_000)
        machine.label("eval", began, machine.now + 2_000)
        machine.now = machine.now + 4_000
