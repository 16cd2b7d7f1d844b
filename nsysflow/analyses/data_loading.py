"""Judge whether the GPU waits for data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section
from nsysflow.shares import mean_ns

HOST_TABLES = ("NVTX_EVENTS", "OSRT_API")
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Idle claimed by loading, and input copies that nothing hid before the first kernel."""
    steps = rows["data_loading"]
    total = sum(row["idle_ns"] + row["copy_ns"] for row in steps)
    evidence = [
        text
        for text, there in (
            ("loader ranges or waits of the launching thread", any(r["idle_ns"] for r in steps)),
            ("exposed input copies", any(r["copy_ns"] for r in steps)),
        )
        if there
    ]
    if not evidence and (untold := _untold(known)):
        return {
            **untold,
            "per_step_ns": None,
            "steps_affected": None,
            "evidence": None,
            "workers": None,
        }
    return {
        "per_step_ns": mean_ns(total, known.kept),
        "steps_affected": len(steps),
        "evidence": " and ".join(evidence) or None,
        "workers": _workers(rows["loader_threads"], known),
    }


def _untold(known: Known) -> Section:
    """Return why nothing found is no answer; nothing if it is one."""
    if all(known.tables.get(table, "absent") == "absent" for table in HOST_TABLES):
        reason = (
            "neither annotations nor operating-system calls were recorded; "
            "capture with --trace=nvtx,osrt"
        )
        return {"status": "not_recorded", "reason": reason}
    if not known.launched:
        reason = (
            "no device work was recorded with the call that asked for it, so the thread that may "
            "wait for data is not known; capture with --trace=cuda"
        )
        calls = known.tables.get(CALLS, "absent") != "absent"
        return {"status": "withheld" if calls else "not_recorded", "reason": reason}
    return {}


def _workers(rows: Sequence[Row], known: Known) -> list[Row] | None:
    """Threads that load, by name; None where threads have no names in this capture."""
    if known.tables.get("ThreadNames", "absent") == "absent":
        return None
    return [{"name": row["name"], "count": row["count"], "own": row["own"]} for row in rows]


ANALYSIS = Analysis(
    name="data_loading",
    title="Data loading",
    question="does the GPU wait for data?",
    why="A step cannot begin without its batch.",
    do="More workers, prefetching, pinned buffers with `non_blocking` copies, pre-tokenised data.",
    misleads="Without loader ranges only waits before a step's first input copy can be told.",
    judge=judge,
    queries=("data_loading", "loader_threads"),
)
