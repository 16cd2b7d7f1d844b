"""What the capture holds, what it lacks, and what makes the numbers doubtful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nsysflow import recording
from nsysflow.model import OWN
from nsysflow.render import facts, units
from nsysflow.render.sections import PARTS, Document, State, Window, failed, section, state
from nsysflow.render.words import GPU_SOURCE, RANK_SOURCE, plain, section_title

_LOW_CONFIDENCE = 0.5
# What a person calls the tables, what they are for, and the flag that records them.
MESSAGES = 20
SEVERITY = {0: "unknown", 1: "info", 2: "warning", 3: "error", 4: "verbose"}
SOURCES = (
    ("Kernels", ("CUPTI_ACTIVITY_KIND_KERNEL", "CUDA_GPU_KERNELS"), "everything", "--trace=cuda"),
    ("Copies", ("CUPTI_ACTIVITY_KIND_MEMCPY",), "copies", "--trace=cuda"),
    ("Memsets", ("CUPTI_ACTIVITY_KIND_MEMSET",), "copies", "--trace=cuda"),
    (
        "CUDA graphs as a whole",
        ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",),
        "graphs",
        "--cuda-graph-trace",
    ),
    ("CUDA calls", ("CUPTI_ACTIVITY_KIND_RUNTIME",), "causes of idle time", "--trace=cuda"),
    ("Synchronisation records", ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",), "waits", "--trace=cuda"),
    ("NVTX ranges", ("NVTX_EVENTS",), "steps, phases", "--trace=nvtx"),
    ("OS calls", ("OSRT_API",), "data loading", "--trace=osrt"),
    (
        "Call stacks of calls",
        ("CUDA_CALLCHAINS", "OSRT_CALLCHAINS"),
        "source lines",
        "--cudabacktrace",
    ),
    ("GPU metrics", ("GPU_METRICS",), "clocks, HFU", "--gpu-metrics-devices=all"),
    ("Thread scheduling", ("SCHED_EVENTS",), "CPU contention", "--cpuctxsw=process-tree"),
    (
        "CUDA events",
        ("CUPTI_ACTIVITY_KIND_CUDA_EVENT",),
        "waits of queued kernels",
        "--cuda-event-trace=true",
    ),
    ("Turns on the GPU", ("GPU_CONTEXT_SWITCH_EVENTS",), "a shared GPU", "--gpuctxsw=true"),
    ("GPU memory use", ("CUDA_GPU_MEMORY_USAGE_EVENTS",), "head-room", "--cuda-memory-usage=true"),
    ("Profiler overhead", ("PROFILER_OVERHEAD",), "perturbation", "always on"),
    ("Messages of nsys", ("DIAGNOSTIC_EVENT",), "lost events", "always on"),
)

# What the usual line leaves out, by the flag of the source; call stacks come with samples only.
_MORE = {
    "--cudabacktrace": {"--cudabacktrace": "sync", "--sample": "process-tree"},
    "--cpuctxsw=process-tree": {"--cpuctxsw": "process-tree"},
}


@dataclass(frozen=True)
class Caution:
    """One line above the numbers."""

    lead: str
    text: str


def warnings(document: Document) -> list[Caution]:
    """Return what must be known before any number is read, gravest first."""
    found = _failed(document) + [
        Caution("Not all was recorded:", f"{units.clean(text)}.")
        for text in _own(document["capture"])
    ]
    mfu, steps, lane = section(document, "mfu"), section(document, "steps"), document["lane"]
    for verdict, lead in (("wrong", "A check failed:"), ("suspicious", "A check looks wrong:")):
        found += [
            Caution(lead, units.clean(check["text"]))
            for check in mfu.get("checks") or ()
            if check["verdict"] == verdict
        ]
    # Without any steps the verdict has said so already.
    guessed = steps.get("source", "none") != "none" and steps.get("confidence") is not None
    if guessed and steps["confidence"] < _LOW_CONFIDENCE:
        text = f"confidence {steps['confidence']:.2f}; check where they begin before you act."
        found.append(Caution("Steps are uncertain:", text))
    attribution = document["attribution"]
    if attribution.get("verdict") == "incomplete":
        share = units.share(attribution["unattributed_frac"])
        text = f"{share} of the time has no cause in this capture.{_wider(document)}"
        found.append(Caution("Attribution is incomplete:", text))
    if lane["shared_gpu"]:
        found.append(
            Caution("Shared GPU:", "another captured process used this GPU; its time is idle here.")
        )
    if section(document, "overlap").get("status") == "withheld":
        found.append(
            Caution("Overlap is withheld:", units.clean(section(document, "overlap")["reason"]))
        )
    return found


def _wider(document: Document) -> str:
    """Say what to record for idle time to have a cause."""
    flags = [
        row["capture_next"]
        for row in document["findings"]
        if row["id"] == "idle_unattributed" and row["status"] == "info" and row["capture_next"]
    ]
    return f" To tell more, capture with {units.clean(flags[0])}." if flags else ""


def _failed(document: Document) -> list[Caution]:
    titles = [section_title(name) for name in failed(document)]
    if not titles:
        return []
    text = f"{', '.join(titles)}. The rest stands; why is told under Capture quality."
    return [Caution("Failed on this page:", text)]


def context(document: Document, over: Window) -> dict[str, Any]:
    """Return the variables of the capture section."""
    taken = document["capture"]
    dropped = {name: n for name, n in (taken.get("dropped") or {}).items() if n}
    more = _more(taken.get("tables") or {})
    return {
        "capture_line": _line(taken),
        "recorded": _recorded(taken.get("tables") or {}),
        "messages": _messages(theirs(taken)),
        "capture_dropped": [(plain(name), units.count(n)) for name, n in sorted(dropped.items())],
        "capture_dropped_names": ", ".join(
            plain(name) for name in sorted(taken.get("dropped") or {})
        ),
        "masked": document.get("masked"),
        "checks": [
            {
                "id": units.clean(check["id"]),
                "verdict": check["verdict"],
                "text": units.clean(check["text"]),
            }
            for check in section(document, "mfu").get("checks") or ()
        ],
        "silent": _silent(document),
        "facts": facts.facts(document, over),
        "rank_source": RANK_SOURCE.get(
            document["lane"]["rank_source"], document["lane"]["rank_source"]
        ),
        "gpu_source": units.clean(
            GPU_SOURCE.get(str(document["lane"]["gpu_source"]), document["lane"]["gpu_source"])
            or "not found"
        ),
        "flags": recording.line(taken.get("nsys_version"), more),
        "flags_more": bool(more),
    }


def _own(taken: Mapping[str, Any]) -> list[str]:
    """Return the warnings of a capture that are nsysflow's own."""
    texts = (str(row["text"]) for row in taken.get("warnings") or ())
    return [text.removeprefix(OWN) for text in texts if text.startswith(OWN)]


def theirs(taken: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages of a capture that nsys wrote."""
    rows = taken.get("warnings") or ()
    return [row for row in rows if not str(row["text"]).startswith(OWN)]


@dataclass(frozen=True)
class Messages:
    """What nsys wrote into the capture: ``grave`` (warnings, errors, unknown) and the rest."""

    grave: tuple[str, ...]
    rest: tuple[str, ...]
    left_out: int


def _messages(rows: Sequence[Mapping[str, Any]]) -> Messages:
    grave: list[str] = []
    rest: list[str] = []
    for row in rows:
        severity = SEVERITY.get(row["severity"], str(row["severity"]))
        times = f" ({units.count(row['count'])} times)" if row["count"] > 1 else ""
        text = f"{severity}: {units.clean(units.shorten(row['text'], 300))}{times}"
        (rest if severity in ("info", "verbose") else grave).append(text)
    left_out = max(0, len(grave) - MESSAGES) + max(0, len(rest) - MESSAGES)
    return Messages(tuple(grave[:MESSAGES]), tuple(rest[:MESSAGES]), left_out)


def _line(taken: Mapping[str, Any]) -> str:
    counts = taken["counts"]
    parts = [
        f"nsys {taken['nsys_version']}" if taken["nsys_version"] else "nsys version not recorded",
        f"schema {taken['schema_version']}" if taken["schema_version"] else "schema not recorded",
        f"{units.duration(taken['end_ns'] - taken['start_ns'])} captured",
    ]
    names = {
        "kernels": "kernels",
        "memcpys": "copies",
        "memsets": "memsets",
        "graph_rows": "graph rows",
        "api_calls": "CUDA calls",
        "nvtx_ranges": "NVTX ranges",
    }
    parts += [
        f"{units.count(counts[key])} {name}"
        for key, name in names.items()
        if counts.get(key) is not None
    ]
    return units.clean(", ".join(parts))


def _find(tables: Mapping[str, str], names: tuple[str, ...]) -> str:
    states = {tables.get(name, "absent") for name in names}
    return next(found for found in ("present", "empty", "absent") if found in states)


def _recorded(tables: Mapping[str, str]) -> list[dict[str, str]]:
    words = {"present": "recorded", "empty": "recorded, empty", "absent": ""}
    # Where CUDA was traced, a table of copies is absent because there were none.
    traced = any(_find(tables, names) != "absent" for _, names, _, _ in SOURCES[:4])
    rows = []
    for source, names, purpose, flag in SOURCES:
        found = words[_find(tables, names)]
        if not found and traced and source in ("Kernels", "Copies", "Memsets"):
            found = "recorded, none"
        rows.append({"source": source, "state": found, "purpose": purpose, "flag": flag})
    return rows


def _more(tables: Mapping[str, str]) -> dict[str, str]:
    """Return the options beside the usual line that record what this capture lacks."""
    lacking = {flag for _, names, _, flag in SOURCES if _find(tables, names) == "absent"}
    more: dict[str, str] = {}
    for flag, options in _MORE.items():
        more |= options if flag in lacking else {}
    return more


def _silent(document: Document) -> list[tuple[str, State]]:
    """Name every section that is not ok, in the order of the contract."""
    found = []
    for name in PARTS:
        value = document.get(name)
        why = state(section(document, name)) if not isinstance(value, list) else None
        if why:
            found.append((section_title(name), why))
    return found
