"""Build small Nsight Systems exports, as nsys would write them.

    export = Export()
    export.kernel("gemm", ms(0), ms(80), launch=(0, us(5)))
    path = export.write_sqlite(tmp_path / "rank0.sqlite")

Times are ns, intervals half-open. Rows stay in memory until written, so one export can be written
in several forms: SQLite or parquetdir, shuffled, lazy or with every table of the schema.
"""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from tests.support.tables import Tables

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"

NONE_ID = 4294967295  # what nsys writes for "no stream" and "no event"


class Where(TypedDict, total=False):
    """Where device work ran and which call started it.

    ``launch`` is the span of that call: the row of the call is written too, with a fresh
    correlation id unless ``correlation`` is given. ``more`` sets further columns.
    """

    device: int
    stream: int
    context: int
    pid: int
    tid: int | None
    correlation: int | None
    launch: tuple[int, int] | None
    api: str
    more: dict[str, Any]


def ms(value: float) -> int:
    """Milliseconds as ns."""
    return round(value * 1_000_000)


def us(value: float) -> int:
    """Microseconds as ns."""
    return round(value * 1_000)


def global_pid(pid: int, vm: int = 1, hw: int = 0) -> int:
    """Pack a process id as nsys does, signed as SQLite holds it."""
    packed = (hw << 56) | (vm << 48) | (pid << 24)
    return packed - (1 << 64) if packed >= 1 << 63 else packed


def global_tid(pid: int, tid: int | None = None, vm: int = 1, hw: int = 0) -> int:
    """Pack a thread id; without ``tid`` the main thread."""
    return global_pid(pid, vm, hw) | ((pid if tid is None else tid) & 0xFFFFFF)


class Export(Tables):
    """One export in memory, one method per kind of row; the options are those of ``Tables``."""

    _correlation = 0

    def new_correlation(self) -> int:
        """Return a correlation id that this export has not handed out before."""
        self._correlation += 1
        return self._correlation

    def meta(self, name: str, value: str) -> None:
        """Add a row to META_DATA_EXPORT."""
        self.row("META_DATA_EXPORT", name=name, value=value)

    def api(
        self,
        name: str,
        start: int,
        end: int,
        *,
        pid: int = 100,
        tid: int | None = None,
        correlation: int | None = None,
        **more: object,
    ) -> int:
        """Add a CUDA runtime or driver call; return its correlation id."""
        correlation = self.new_correlation() if correlation is None else correlation
        called = {"globalTid": global_tid(pid, tid), "nameId": self.string(name)} | more
        self.row(RUNTIME, start=start, end=end, correlationId=correlation, **called)
        return correlation

    def _device(
        self, table: str, start: int, end: int, api: str, where: Where, **values: object
    ) -> None:
        pid, correlation = where.get("pid", 100), where.get("correlation")
        if launch := where.get("launch"):
            tid, name = where.get("tid"), where.get("api", api)
            correlation = self.api(name, *launch, pid=pid, tid=tid, correlation=correlation)
        place = {
            "deviceId": where.get("device", 0),
            "contextId": where.get("context", 1),
            "streamId": where.get("stream", 7),
            "globalPid": global_pid(pid),
            "correlationId": correlation,
        }
        self.row(table, start=start, end=end, **(place | values | where.get("more", {})))

    def kernel(
        self,
        name: str,
        start: int,
        end: int,
        node: int | None = None,
        short: str | None = None,
        **where: Unpack[Where],
    ) -> None:
        """Add a kernel; ``node`` is its graph node."""
        base = short or name.split("<", 1)[0].split("(", 1)[0].removeprefix("void ").split("::")[-1]
        names = {"demangledName": self.string(name), "shortName": self.string(base)}
        shape = dict.fromkeys(("gridX", "gridY", "gridZ", "blockY", "blockZ"), 1) | {"blockX": 128}
        values = names | shape | {"graphNodeId": node}
        self._device(KERNEL, start, end, "cudaLaunchKernel_v7000", where, **values)

    def memcpy(
        self,
        kind: int,
        start: int,
        end: int,
        nbytes: int = 4,
        src: int | None = None,
        dst: int | None = None,
        **where: Unpack[Where],
    ) -> None:
        """Add a copy; ``kind`` 1 HtoD, 2 DtoH, 8 DtoD, 10 PtoP; ``src``, ``dst`` memory kinds."""
        values = {"copyKind": kind, "bytes": nbytes, "srcKind": src, "dstKind": dst}
        self._device(MEMCPY, start, end, "cudaMemcpyAsync_v3020", where, **values)

    def memset(self, start: int, end: int, nbytes: int = 4, **where: Unpack[Where]) -> None:
        """Add a memset."""
        self._device(MEMSET, start, end, "cudaMemsetAsync_v3020", where, bytes=nbytes)

    def graph(self, start: int, end: int, graph: int = 1, **where: Unpack[Where]) -> None:
        """Add a whole-graph row: one per replay, its kernels have none."""
        values = {"graphId": graph, "graphExecId": graph}
        self._device(GRAPH, start, end, "cudaGraphLaunch_v10000", where, **values)

    def sync(
        self, kind: int, start: int, end: int, event: int = NONE_ID, **where: Unpack[Where]
    ) -> None:
        """Add a synchronisation record; ``launch`` is the call it belongs to."""
        values = {"syncType": kind, "eventId": event}
        self._device(SYNC, start, end, "cudaStreamSynchronize_v3020", where, **values)

    def nvtx(
        self,
        text: str,
        start: int,
        end: int | None,
        *,
        pid: int = 100,
        tid: int | None = None,
        kind: int = 59,
        end_tid: int | None = None,
        domain: int = 0,
        registered: bool = False,
        **more: object,
    ) -> None:
        """Add a range (``kind`` 59 push/pop, 60 start/end), a mark (34) or a domain name (75)."""
        named = {"textId": self.string(text)} if registered else {"text": text}
        end_thread = None if end_tid is None else global_tid(pid, end_tid)
        threads = {"globalTid": global_tid(pid, tid), "endGlobalTid": end_thread}
        values = threads | named | {"eventType": kind, "domainId": domain} | more
        self.row("NVTX_EVENTS", start=start, end=end, **values)

    def os_call(
        self, name: str, start: int, end: int, pid: int = 100, tid: int | None = None
    ) -> None:
        """Add an OS-runtime call."""
        thread, name_id = global_tid(pid, tid), self.string(name)
        values = {"globalTid": thread, "nameId": name_id, "eventClass": 27}
        self.row("OSRT_API", start=start, end=end, **values)

    def overhead(
        self, name: str, start: int, end: int, kind: int, pid: int = 100, tid: int | None = None
    ) -> None:
        """Add a profiler overhead row; ``kind`` as ENUM_CUPTI_OVERHEAD_TYPE."""
        thread, name_id = global_tid(pid, tid), self.string(name)
        values = {"globalTid": thread, "nameId": name_id, "overheadType": kind}
        self.row("PROFILER_OVERHEAD", start=start, end=end, **values)

    def gpu(
        self,
        number: int,
        name: str,
        uuid: str,
        bus: str = "0000:1b:00.0",
        cuda: int | None = None,
        pid: int = 100,
        **more: object,
    ) -> None:
        """Add a GPU of the node and the ordinal under which ``pid`` sees it."""
        facts = {"smCount": 132, "totalMemory": 85_000_000_000, "cuDevice": cuda} | more
        self.row("TARGET_INFO_GPU", id=number, name=name, uuid=uuid, busLocation=bus, **facts)
        ordinal = number if cuda is None else cuda
        self.row("TARGET_INFO_CUDA_DEVICE", gpuId=number, cudaId=ordinal, pid=pid, uuid=uuid)

    def session(self, utc_epoch_ns: int, system_clock_ns: int | None = None) -> None:
        """Say when the capture's clock was zero."""
        values = {"utcEpochNs": utc_epoch_ns, "systemClockNs": system_clock_ns}
        self.row("TARGET_INFO_SESSION_START_TIME", **values)

    def duration(self, duration_ns: int) -> None:
        """Say how long the capture was."""
        self.row("ANALYSIS_DETAILS", duration=duration_ns, stopTime=duration_ns)

    def env(self, **variables: str) -> None:
        """Add environment variables of the profiled command."""
        for key, value in variables.items():
            self.capture("PROCESS_0:ENVIRONMENT_VARIABLE", f'{key}="{value}"')

    def capture(self, name: str, value: str) -> None:
        """Add a row to META_DATA_CAPTURE."""
        self.row("META_DATA_CAPTURE", name=name, value=value)

    def system(self, name: str, value: str) -> None:
        """Add one fact about the machine, such as ``Hostname``."""
        self.row("TARGET_INFO_SYSTEM_ENV", devStateName="CPU", name=name, value=value)

    def mpi_rank(self, rank: int, pid: int = 100) -> None:
        """Say which MPI rank a process is."""
        self.row("MPI_RANKS", globalTid=global_tid(pid), rank=rank)

    def diagnostic(self, text: str, severity: int = 2, at: int = 0) -> None:
        """Add a capture diagnostic; ``severity`` 1 info, 2 warning, 3 error."""
        self.row("DIAGNOSTIC_EVENT", timestamp=at, source=1, severity=severity, text=text)

    def process(self, name: str, pid: int = 100) -> None:
        """Name a process."""
        self.row("PROCESSES", globalPid=global_pid(pid), pid=pid, name=name)

    def thread(self, name: str, pid: int = 100, tid: int | None = None) -> None:
        """Name a thread."""
        self.row("ThreadNames", nameId=self.string(name), globalTid=global_tid(pid, tid))


def busy_export(**options: Any) -> Export:
    """A plain good rank: two kernels of 40 ms, 20 ms apart."""
    export = Export(**options)
    export.kernel("gemm", ms(0), ms(40), launch=(0, us(5)))
    export.kernel("gemm", ms(60), ms(100), launch=(ms(50), ms(50) + us(5)))
    return export
