"""One lane as the tables of its store, without an export: for tests of how steps are found.

    lane = StepLane()
    lane.kernel("gemm", start, end, launch=start - us(10))
    lane.range("step 7", begin, end)
    steps = lane.steps()

Times are ns. Kernel names bring their classes with them: the rules for names are tested elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from nsysflow.analyse.stepping import Device, choose_steps, look_at_host
from nsysflow.analyse.workspace import Workspace
from nsysflow.model import CLASSES
from nsysflow.resources import data
from nsysflow.settings import Settings

if TYPE_CHECKING:
    from nsysflow.analyse.windows import Steps

PROCESS, MAIN, AUTOGRAD = 100, 100, 101
PRIMARY, COMM = 7, 20
COLUMNS = {
    "op": {
        "lane": "INTEGER", "start_ns": "BIGINT", "end_ns": "BIGINT", "kind": "VARCHAR",
        "comm": "BOOLEAN", "class_rank": "UTINYINT", "name_id": "BIGINT", "context": "BIGINT",
        "stream": "BIGINT", "correlation": "BIGINT", "graph_node": "BIGINT", "bytes": "BIGINT",
        "copy_kind": "INTEGER", "src_kind": "INTEGER", "dst_kind": "INTEGER",
        "grid": "BIGINT", "block": "INTEGER", "registers": "INTEGER", "shared_bytes": "INTEGER",
        "launch_thread": "BIGINT", "launch_start_ns": "BIGINT", "launch_end_ns": "BIGINT",
        "launch_name_id": "BIGINT",
    },
    "api": {
        "process": "BIGINT", "thread": "BIGINT", "start_ns": "BIGINT", "end_ns": "BIGINT",
        "name_id": "BIGINT",
    },
    "os_call": {
        "process": "BIGINT", "thread": "BIGINT", "start_ns": "BIGINT", "end_ns": "BIGINT",
        "name_id": "BIGINT",
    },
    "sched": {
        "process": "BIGINT", "thread": "BIGINT", "at_ns": "BIGINT", "on_cpu": "BOOLEAN",
        "cpu": "INTEGER", "state": "VARCHAR", "block": "VARCHAR",
    },
    "nvtx": {
        "process": "BIGINT", "thread": "BIGINT", "start_ns": "BIGINT", "end_ns": "BIGINT",
        "end_thread": "BIGINT", "domain": "BIGINT", "kind": "VARCHAR", "name_id": "BIGINT",
        "framework": "BOOLEAN", "open": "BOOLEAN",
    },
    "nvtx_domain": {"process": "BIGINT", "domain": "BIGINT", "name": "VARCHAR"},
    "nccl_call": {
        "process": "BIGINT", "thread": "BIGINT", "start_ns": "BIGINT", "end_ns": "BIGINT",
        "op": "VARCHAR", "comm": "VARCHAR",
    },
    "overhead": {
        "process": "BIGINT", "thread": "BIGINT", "start_ns": "BIGINT", "end_ns": "BIGINT",
        "type": "INTEGER", "name_id": "BIGINT",
    },
    "string": {"id": "BIGINT", "value": "VARCHAR"},
    "kernel_name": {"name_id": "BIGINT", "name": "VARCHAR", "class": "VARCHAR", "op": "VARCHAR"},
    "lane": {"lane": "INTEGER", "process": "BIGINT"},
}  # fmt: skip


@dataclass
class StepLane:
    """Rows by table, and the ids of the texts in them."""

    rows: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {name: [] for name in COLUMNS}
    )
    names: dict[str, int] = field(default_factory=dict)

    def text(self, value: str) -> int:
        """Return the id of a text."""
        if value not in self.names:
            self.names[value] = len(self.names)
            self.rows["string"].append({"id": self.names[value], "value": value})
        return self.names[value]

    def kernel(
        self, name: str, start: int, end: int, *, kind: str = "other", launch: int | None = None,
        stream: int = PRIMARY, thread: int = MAIN, collective: str | None = None,
    ) -> None:  # fmt: skip
        """Add a kernel of class ``kind``, or a collective."""
        known = name in self.names
        name_id = self.text(name)
        if not known:
            self.rows["kernel_name"].append(
                {"name_id": name_id, "name": name, "class": kind, "op": collective}
            )
        self._op(
            start, end, kind="kernel", comm=collective is not None, name_id=name_id, stream=stream,
            class_rank=None if collective else CLASSES.index(kind),
            launch_thread=None if launch is None else thread, launch_start_ns=launch,
            launch_end_ns=None if launch is None else launch + 1,
        )  # fmt: skip

    def copy_back(self, start: int, end: int, launch: int, *, wait: bool = True) -> None:
        """Add a copy to the host that the host waits for, or not."""
        api = self.text("cudaMemcpyAsync_v3020")
        self._op(
            start, end, kind="memcpy", comm=False, copy_kind=2, stream=PRIMARY, bytes=4,
            launch_thread=MAIN, launch_start_ns=launch, launch_end_ns=launch + 1,
            launch_name_id=api,
        )  # fmt: skip
        if wait:
            self.call("cudaStreamSynchronize_v3020", launch + 2, end + 1)

    def _op(self, start: int, end: int, **values: Any) -> None:
        where = {"lane": 0, "context": 1, "correlation": len(self.rows["op"])}
        self.rows["op"].append({"start_ns": start, "end_ns": end} | where | values)

    def range(
        self, text: str, start: int, end: int | None, *, thread: int = MAIN, domain: int = 0
    ) -> None:
        """Add an annotation; ``end`` None: still open."""
        self.rows["nvtx"].append(
            {
                "process": PROCESS, "thread": thread, "start_ns": start, "end_ns": end,
                "domain": domain, "kind": "push_pop", "name_id": self.text(text),
                "framework": False, "open": end is None,
            }
        )  # fmt: skip

    def domain(self, number: int, name: str) -> None:
        """Name a domain."""
        self.rows["nvtx_domain"].append({"process": PROCESS, "domain": number, "name": name})

    def call(self, name: str, start: int, end: int, thread: int = MAIN) -> None:
        """Add a CUDA call."""
        self._host("api", start, end, thread, name_id=self.text(name))

    def nccl(self, op: str, start: int, end: int, comm: str | None = None) -> None:
        """Add an NCCL call."""
        self._host("nccl_call", start, end, MAIN, op=op, comm=comm)

    def overhead(self, name: str, kind: int, start: int, end: int, thread: int = MAIN) -> None:
        """Add a profiler record."""
        self._host("overhead", start, end, thread, type=kind, name_id=self.text(name))

    def _host(self, table: str, start: int, end: int, thread: int, **values: Any) -> None:
        span = {"process": PROCESS, "thread": thread, "start_ns": start, "end_ns": end}
        self.rows[table].append(span | values)

    def workspace(self) -> Workspace:
        """Return the tables as a lane's workspace."""
        self.rows["lane"] = [{"lane": 0, "process": PROCESS}]
        connection = duckdb.connect(":memory:", config={"threads": 1})
        macros = data("sql", "macros", "intervals.sql").read_text(encoding="utf-8")
        connection.execute(macros)
        for table, columns in COLUMNS.items():
            declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
            connection.execute(f'CREATE TABLE "{table}" ({declared})')
            rows = sorted(
                self.rows[table], key=lambda row: (row.get("start_ns") or 0, row.get("end_ns") or 0)
            )
            if rows:
                arrow = pa.table({name: [row.get(name) for row in rows] for name in columns})
                connection.register("_rows", arrow)
                connection.execute(f'INSERT INTO "{table}" FROM _rows')
                connection.unregister("_rows")
        work = Workspace(connection)
        work.view("lane_op", lane=0)
        return work

    def steps(self, settings: Settings | None = None) -> Steps:
        """Return the lane's steps."""
        work, settings = self.workspace(), settings or Settings()
        device = Device(PROCESS, work.row("lane_span"), (1, PRIMARY))
        look_at_host(work, PROCESS, (0, 0), settings)
        return choose_steps(work, device, settings, {"start_ns": None, "end_ns": None})


def spans(steps: Steps) -> list[tuple[int, int]]:
    """Return the windows of all steps, kept or not."""
    return [(window.start_ns, window.end_ns) for window in steps.windows]


def reasons(steps: Steps) -> dict[int, str]:
    """Return why steps are dropped, by index."""
    dropped = {window.index: window.drop for window in steps.windows if window.drop}
    return dropped | {index: reason for index, _, reason in steps.unseen}
