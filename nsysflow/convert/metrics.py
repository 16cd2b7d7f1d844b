"""Sampled counters of GPUs: clock and links, the few of hundreds that anything here asks for."""

from __future__ import annotations

import re

import pyarrow as pa

from nsysflow.convert.work import Work
from nsysflow.read import Only, Request, integer, text

# Counters are known by their names: their numbers change from capture to capture.
_METRICS = (
    ("sm_clock", re.compile(r"(?i)^GPC Clock Frequency\b")),
    ("nvlink", re.compile(r"(?i)^NVLink (RX|TX)\b")),
    ("pcie", re.compile(r"(?i)^PCIe (RX|TX)\b")),
)
_NAMED = pa.schema([("type", pa.int64()), ("number", pa.int64()), ("metric", pa.string())])
_LINKS = {1: "ethernet", 2: "infiniband"}


def gpu_metrics(work: Work) -> None:
    """Write gpu_metric; empty where nothing was sampled."""
    rows = work.raw.rows(
        work.connection,
        "TARGET_INFO_GPU_METRICS",
        integer("type", "typeId"),
        integer("number", "metricId"),
        text("name", "metricName"),
    )
    named = [
        {"type": row["type"], "number": row["number"], "metric": metric}
        for row in rows
        for metric, pattern in _METRICS
        if row["name"] and pattern.match(row["name"])
    ]
    work.connection.register("_named", pa.Table.from_pylist(named, _NAMED))
    work.connection.execute("CREATE OR REPLACE TABLE _metric_name AS FROM _named")
    numbers = tuple(sorted({row["number"] for row in named if row["number"] is not None}))
    request = Request(
        "GPU_METRICS",
        (
            integer("at_ns", "timestamp"),
            integer("type", "typeId"),
            integer("number", "metricId"),
            integer("value"),
        ),
        Only("metricId", numbers or (-1,)),
    )
    work.save("gpu_metric", {"_raw_metric": request})


def nic_links(work: Work) -> list[str]:
    """Return what the network adapters of the node are linked by; empty if none is listed."""
    rows = work.raw.rows(work.connection, "TARGET_INFO_NIC_INFO", integer("link", "linkLayer"))
    return sorted({_LINKS[row["link"]] for row in rows if row["link"] in _LINKS})
