"""The rows of an export that describe the machine, the process and the capture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from nsysflow.demo import comms
from nsysflow.demo.device import LAUNCH_LATENCY_NS, STREAMS
from nsysflow.demo.export import CONTEXT, PUSH_POP, VM
from nsysflow.demo.plan import GPUS_PER_HOST
from nsysflow.demo.record import MAIN, PINNER, THREADS, WATCHDOG
from nsysflow.demo.schema import PRODUCT_VERSION, SCHEMA_VERSION

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from nsysflow.demo.clock import Clock
    from nsysflow.demo.comms import Communicator
    from nsysflow.demo.export import RankFile
    from nsysflow.demo.plan import Plan

GPU_NAME = "NVIDIA H100 80GB HBM3"
GPU_BYTES = 85_017_493_504
GPU_BANDWIDTH = 3_352_320_000_000
SMS = 132
DOMAIN_CREATE = 75
BUFFER_FLUSH, MODULE_LOADING = 3, 6
INFORMATION, WARNING = 1, 2
COMM_INIT_NS = 120_000_000
WATCH_NS = 100_000_000
DEFAULT_STREAM = 7


@dataclass
class Describer:
    """Writes what surrounds the events of one rank."""

    plan: Plan
    rank: int
    file: RankFile
    connection: sqlite3.Connection
    clock: Clock
    mine: list[Communicator]

    @property
    def host(self) -> str:
        """The host's name."""
        return f"node{self.rank // GPUS_PER_HOST + 1:03d}"

    def begin(self, first_step_ns: int) -> None:
        """Write what is known before the first step, and the ranges of NCCL's start."""
        rows = self._rows
        rows("META_DATA_EXPORT", "name value", [
            ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
            ("EXPORT_PRODUCT_VERSION", PRODUCT_VERSION),
            ("EXPORT_SCHEMA_VERSION", SCHEMA_VERSION),
            *(("EXPORT_SCHEMA_VERSION_" + part, number) for part, number in
              zip(("MAJOR", "MINOR", "MICRO"), SCHEMA_VERSION.split("."), strict=True)),
            ("EXPORT_PARAM_INPUT_FILE", self.file.path.stem + ".nsys-rep"),
            ("EXPORT_PARAM_LAZY", "true"),
            ("EXPORT_PARAM_TIME_NORMALIZE", "false"),
            ("EXPORT_PARAM_TIME_SHIFT", "0"),
        ])  # fmt: skip
        rows("META_DATA_CAPTURE", "name value", [
            ("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node"),
            ("DEVICE_DISPLAY_NAME", self.host),
            ("PROCESS_0:COMMAND", "python"),
            ("PROCESS_0:ARGUMENT_0", "train.py"),
            *(("PROCESS_0:ENVIRONMENT_VARIABLE", f'{name}="{value}"') for name, value in (
                ("RANK", self.rank),
                ("WORLD_SIZE", self.plan.ranks),
                ("LOCAL_RANK", self.rank % GPUS_PER_HOST),
            )),
        ])  # fmt: skip
        self._target()
        if self.plan.has("nvtx"):
            self._nccl(first_step_ns)

    def end(self, last_ns: int) -> None:
        """Write what is known when the capture stops."""
        duration = last_ns + 50_000_000
        rows = self._rows
        rows("ANALYSIS_DETAILS", "globalVid duration startTime stopTime", [
            (VM << 48, duration, self.clock.boot_ns, self.clock.boot_ns + duration),
        ])  # fmt: skip
        rows("DIAGNOSTIC_EVENT", "timestamp timestampType source severity text globalPid", [
            (0, 1, 3, INFORMATION, "Profiling session started.", self.file.process),
            (1_200_000, 1, 1, INFORMATION, "CUDA tracing was started.", self.file.process),
            (duration, 1, 3, WARNING, "CPU IP/backtrace sampling was disabled.", self.file.process),
        ])  # fmt: skip
        main = self.file.thread(MAIN)
        string = self.file.string
        rows("PROFILER_OVERHEAD", "start end globalTid nameId overheadType", [
            (last_ns + 2_000_000, last_ns + 9_000_000, main,
             string("CUPTI buffer flush"), BUFFER_FLUSH),
            (last_ns + 12_000_000, last_ns + 12_600_000, main,
             string("CUPTI buffer flush"), BUFFER_FLUSH),
        ])  # fmt: skip
        if self.plan.has("osrt"):
            self._waiting_threads(last_ns)

    def _rows(self, table: str, columns: str, rows: Sequence[tuple[object, ...]]) -> None:
        self.file.insert(self.connection, table, columns, rows)

    def _target(self) -> None:
        file, rows = self.file, self._rows
        began = datetime.fromtimestamp(self.clock.utc_ns // 10**9, tz=UTC)
        text = began.replace(tzinfo=None).isoformat()
        rows("TARGET_INFO_SESSION_START_TIME", "utcEpochNs utcTime localTime systemClockNs", [
            (self.clock.utc_ns, text, text, self.clock.boot_ns),
        ])  # fmt: skip
        rows("TARGET_INFO_SYSTEM_ENV", "globalVid devStateName name nameEnum value", [
            (VM << 48, "Local (CLI)", "Hostname", 11, self.host),
            (VM << 48, "Local (CLI)", "CpuCores", 1, "96"),
        ])  # fmt: skip
        rows("TARGET_INFO_GPU",
             "vmId id name busLocation isDiscrete totalMemory memoryBandwidth clockRate smCount"
             " uuid chipName cuDevice computeMajor computeMinor",
             [(VM << 48, n, GPU_NAME, f"0000:{0x18 + 0x12 * n:02x}:00.0", 1, GPU_BYTES,
               GPU_BANDWIDTH, 1_980_000_000, SMS, self._uuid(n), "GH100", n, 9, 0)
              for n in range(min(GPUS_PER_HOST, self.plan.ranks))])  # fmt: skip
        rows("TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid uuid numMultiprocessors",
             [(file.device, file.device, file.pid, self._uuid(file.device), SMS)])  # fmt: skip
        rows("TARGET_INFO_CUDA_CONTEXT_INFO",
             "nullStreamId hwId vmId processId deviceId contextId isGreenContext",
             [(DEFAULT_STREAM, 0, VM, file.pid, file.device, CONTEXT, 0)])  # fmt: skip
        rows("TARGET_INFO_CUDA_STREAM", "streamId hwId vmId processId contextId priority flag",
             [(number, 0, VM, file.pid, CONTEXT, 0 if number == DEFAULT_STREAM else -5,
               1 if number == DEFAULT_STREAM else 2)
              for number in sorted(set(STREAMS.values()))])  # fmt: skip
        rows("PROCESSES", "globalPid pid name", [(file.process, file.pid, "python")])
        names = enumerate(THREADS)
        rows("ThreadNames", "nameId priority globalTid",
             [(file.string(name), 0, file.thread(number)) for number, name in names])  # fmt: skip

    def _uuid(self, device: int) -> str:
        host = self.rank // GPUS_PER_HOST
        return f"{0x5A17C000 + host:08x}-{self.plan.seed & 0xFFFF:04x}-4000-8000-{device:012x}"

    def _nccl(self, first_step_ns: int) -> None:
        string, main = self.file.string, self.file.thread(MAIN)
        columns = "start end eventType text textId globalTid domainId binaryData"
        name = string("NCCL")
        domain = comms.DOMAIN
        self._rows("NVTX_EVENTS", columns,
                   [(1_000, None, DOMAIN_CREATE, None, name, main, domain, None)])  # fmt: skip
        call = "ncclCommInitRankConfig"
        at = first_step_ns - (len(self.mine) + 1) * 2 * COMM_INIT_NS
        starts = []
        for item in self.mine:
            words = (item.hash, len(item.members), item.members.index(self.rank), self.file.device)
            blob = comms.blob(call, words) if self.plan.has("payload") else None
            starts.append((at, at + COMM_INIT_NS, PUSH_POP, None, string(call), main, domain, blob))
            at += 2 * COMM_INIT_NS
        self._rows("NVTX_EVENTS", columns, starts)
        if self.plan.has("payload"):
            self._schemas()

    def _schemas(self) -> None:
        first = comms.STATIC_SCHEMA
        self._rows("NVTX_PAYLOAD_SCHEMAS", "domainId schemaId type numEntries payloadSize",
                   [(comms.DOMAIN, first + number, 1, len(entries), size)
                    for number, size, entries in comms.SCHEMAS.values()])  # fmt: skip
        self._rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId schemaId idx type name offset",
                   [(comms.DOMAIN, first + number, place, kind, name, offset or None)
                    for number, _, entries in comms.SCHEMAS.values()
                    for place, (name, kind, offset) in enumerate(entries)])  # fmt: skip

    def _waiting_threads(self, last_ns: int) -> None:
        """Long waits of threads that launch nothing: they look like stalls and are none."""
        for number, name in ((WATCHDOG, "pthread_cond_timedwait"), (PINNER, "sem_timedwait")):
            word, thread = self.file.string(name), self.file.thread(number)
            self._rows(
                "OSRT_API",
                "start end eventClass globalTid nameId returnValue nestingLevel callchainId",
                [(at, at + WATCH_NS - LAUNCH_LATENCY_NS, 27, thread, word, 110, 0, 0)
                 for at in range(1_000_000, last_ns, WATCH_NS)],
            )  # fmt: skip
