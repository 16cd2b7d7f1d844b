"""The result document in a few lines: for the terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nsysflow.console import aligned, plain

# From here on whole milliseconds are three digits.
WHOLE_MS = 100
TOP = 5
_HEADER = ("label", "file", "process", "host", "GPU", "rank", "found by")
Document = Mapping[str, Any]


def terminal(result: Document, bold: Callable[[str], str]) -> str:
    """Return the rank table, what is odd about it, and the top findings, as plain lines."""
    header, *rows = aligned(_HEADER, [_rank_row(row) for row in result["ranks"]])
    notes = [plain(note) for note in _notes(result["run"])]
    findings = [f"{number}. {plain(text)}" for number, text in enumerate(_findings(result), 1)]
    lines = [bold(header), *rows]
    if notes:
        lines += ["", bold("Notes"), *notes]
    return "\n".join([*lines, "", bold("Top findings"), *(findings or ["none"])])


def markdown(result: Document) -> str:
    """Return the same, and the inputs without a page, as Markdown."""
    run = result["run"]
    lines = [f"# {_cell(run['name'])}", "", *_table(_HEADER, map(_rank_row, result["ranks"]))]
    if notes := _notes(run):
        lines += ["", "## Notes", "", *(f"- {_cell(note)}" for note in notes)]
    findings = [f"{number}. {_cell(text)}" for number, text in enumerate(_findings(result), 1)]
    lines += ["", "## Top findings", "", *(findings or ["none"])]
    if bad := [row for row in run["inputs"] if row["status"] != "ok"]:
        lines += ["", "## Inputs without a page", ""]
        lines += _table(("file", "status", "why", "next"), map(_input_row, bad))
    return "\n".join(lines)


def is_markdown(text: str) -> bool:
    """Return whether a file that begins so is one that ``markdown`` wrote."""
    title, *table = text.splitlines()[:3] or [""]
    return title.startswith("# ") and table == ["", _line(_HEADER)]


def _notes(run: Document) -> list[str]:
    """Return what a reader of the rank table must know about it."""
    notes = [
        f"rank {each['rank']} is claimed by {', '.join(each['labels'])}"
        for each in run["conflicts"]
    ]
    if run["missing_ranks"]:
        notes.append(f"missing ranks: {', '.join(map(str, run['missing_ranks']))}")
    if run["several_jobs"]:
        notes.append(f"several jobs in one folder: {run['several_jobs']}")
    return [*notes, *run["notes"]]


def _rank_row(row: Document) -> tuple[str, ...]:
    gpu = f"{row['device']} {row['gpu_name'] or ''}".strip()
    return (
        row["label"],
        row["file"],
        str(row["pid"]),
        row["host"] or "-",
        gpu,
        "-" if row["rank"] is None else str(row["rank"]),
        row["rank_source"],
    )


def _input_row(row: Document) -> tuple[str, ...]:
    return (row["file"], row["status"], row["message"] or "", row["hint"] or "")


def _findings(result: Document) -> list[str]:
    found = [each for each in result["findings"] if each["status"] == "opportunity"]
    if found:
        return [_sentence(each, _per(result)) for each in found[:TOP]]
    # What one lane says on its own, and which lanes say the same.
    lanes: dict[str, list[str]] = {}
    for row in result["ranks"]:
        if row["top_finding"]:
            lanes.setdefault(row["top_finding"], []).append(row["label"])
    return [f"{title} [{', '.join(labels)}]" for title, labels in list(lanes.items())[:TOP]]


def _ms(ns: int) -> str:
    """Write three digits, and thousands in full."""
    ms = ns / 1e6
    return f"{ms:.3g}" if ms < WHOLE_MS else f"{ms:,.0f}"


def _per(result: Document) -> str:
    """Say what a bound is of: a step, or all that was looked at where no lane has steps."""
    # A result of an earlier version does not say, and spoke of steps.
    if any(row.get("steps_source") != "none" for row in result["ranks"]):
        return "per step"
    chosen = any(row.get("chosen") for row in result["ranks"])
    return "in the chosen time" if chosen else "in the capture"


def _sentence(finding: Document, per: str) -> str:
    ranks = ", ".join(str(rank) for rank in finding.get("ranks") or [])
    bound = finding["bound_ns_per_step"]
    saving = "" if bound is None else f" (at most {_ms(bound)} ms {per})"
    return f"{finding['title']}{saving}{f' [{ranks}]' if ranks else ''}"


def _table(header: Sequence[str], rows: Any) -> list[str]:  # noqa: ANN401 - any iterable of rows
    return [_line(header), _line(["---"] * len(header)), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Return text that Markdown shows as it is: names come from traces and may hold anything."""
    escaped = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{char}" if char in "\\`*_[]()#|!~$@" else char for char in escaped)
