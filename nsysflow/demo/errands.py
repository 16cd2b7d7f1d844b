"""What the host of a training step does beside launching kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsysflow.demo.device import DEVICE, PAGEABLE, PINNED
from nsysflow.demo.host import absent_unless
from nsysflow.demo.record import MAIN

if TYPE_CHECKING:
    from nsysflow.demo.machine import Machine
    from nsysflow.demo.record import Times

LOADER_NS = 60_000
STALL_NS = 14_000_000
LATE_LOADER_NS = 6_000_000
LATE_HOST_NS = 4_000_000
LOGGING_NS = 700_000
BATCH_BYTES = 8 << 20
BATCH_COPY_NS = 340_000
MODULES, MODULE_NS = 4, 3_200_000
MALLOC_NS = 1_600_000
CHECKPOINT_FILES, CHECKPOINT_BYTES = 6, 128 << 20
CHECKPOINT_COPY_NS, CHECKPOINT_WRITE_NS = 6_500_000, 9_000_000
D2H, H2D, MEMSET = 2, 1, 0
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
COPY_CALL = "cudaMemcpyAsync_v3020"


def augment(machine: Machine, ns: Times) -> None:
    """Prepare data on the main thread, in a range of the user's, where ``ns`` is positive."""
    start = machine.now + 4_000
    end = start + ns
    span = absent_unless(ns, start), absent_unless(ns, end)
    machine.range("augment_batch", *span)
    machine.label("host_other_nvtx", *span)
    machine.now = machine.now + ns + np.where(ns > 0, 6_000, 0)


def load(machine: Machine, stall: Times) -> None:
    """Fetch the next batch; where it is late the host waits in ``poll``."""
    start = machine.now + 20_000
    machine.now = start
    machine.python(LOADER_NS)
    end = machine.now + stall
    machine.range(LOADER, start, end)
    machine.label("data_loading", start, end)
    machine.record.one(
        "osrt", (absent_unless(stall, start + 9_000), absent_unless(stall, end - 11_000)),
        name=machine.words("poll"), thread=MAIN,
    )  # fmt: skip
    machine.now = end + 4_000


def copy_batch(machine: Machine, micro_batches: int) -> None:
    """Copy the batch to the GPU and clear a buffer there."""
    for _ in range(micro_batches):
        machine.copy(
            H2D, BATCH_BYTES // micro_batches, BATCH_COPY_NS // micro_batches, COPY_CALL,
            (PINNED, DEVICE),
        )  # fmt: skip
    machine.copy(MEMSET, 1 << 20, 2_000, "cudaMemsetAsync_v3020", (DEVICE, DEVICE))


def load_modules(machine: Machine) -> None:
    """Load what the first kernels need."""
    for _ in range(MODULES):
        machine.label("jit_or_load", *machine.call("cuLibraryLoadData", MODULE_NS))


def read_scalar(machine: Machine) -> Times:
    """Copy four bytes to the host; return when they are there."""
    return machine.copy(D2H, 4, 1_800, COPY_CALL, (DEVICE, PINNED))


def item(machine: Machine) -> None:
    """``loss.item()``: copy four bytes, wait for the stream, then log on an idle GPU."""
    outer, inner = machine.now + 1_000, machine.now + 1_900
    machine.now = inner + 1_200
    _, end = machine.synchronize(read_scalar(machine))
    machine.operation_range("aten::_local_scalar_dense", inner, end + 700)
    machine.operation_range("aten::item", outer, end + 1_500)
    machine.now = end + 2_000
    machine.python(LOGGING_NS)


def checkpoint(machine: Machine) -> None:
    """Write the state and copy the next part of it to pageable memory, file by file."""
    began = machine.now + 2_000
    machine.now = began + 3_000
    for _ in range(CHECKPOINT_FILES):
        start = machine.now + 5_000
        machine.now = start
        machine.python(CHECKPOINT_WRITE_NS)
        machine.record.one("osrt", (start, machine.now), name=machine.words("write"), thread=MAIN)
        # The copy comes last: a step reaches to the end of its last work on the compute stream.
        ends = machine.copy(
            D2H, CHECKPOINT_BYTES, CHECKPOINT_COPY_NS, COPY_CALL, (DEVICE, PAGEABLE)
        )
        machine.synchronize(ends)
    machine.range("save_checkpoint", began, machine.now + 2_000)
    machine.label("checkpoint", began, machine.now + 2_000)
    machine.now = machine.now + 4_000
