"""Sections of the job page that name things across ranks: walk, stragglers, clocks, inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.model import BUCKETS
from nsysflow.render import bars, units
from nsysflow.render.bars import Part
from nsysflow.render.sections import Document, items, state
from nsysflow.render.tables import Cell, Column, Table, build
from nsysflow.render.words import Word, cause, plain

_WALK_RANKS = 3
_COMMUNICATORS = 40


def missing(result: Document) -> list[str]:
    """Return one sentence for each kind of rank or input that is not in the report."""
    run = result["run"]
    said = []
    if run["missing_ranks"]:
        count = len(run["missing_ranks"])
        of = f" of {run['ranks_expected']}" if run["ranks_expected"] else ""
        which = units.numbers(run["missing_ranks"])
        said.append(
            f"{count}{of} ranks are not in this report: rank{'s' if count > 1 else ''} {which}."
        )
    for status, what in (("failed", "could not be used"), ("no_gpu_work", "hold no GPU work")):
        files = [
            units.clean(units.shorten(row["file"], 80))
            for row in run["inputs"]
            if row["status"] == status
        ]
        if files:
            more = f" and {len(files) - 4} more" if len(files) > 4 else ""  # noqa: PLR2004 - fits a line
            what_one = what.replace("hold ", "holds ") if len(files) == 1 else what
            said.append(
                f"{len(files)} input{'s' if len(files) > 1 else ''} {what_one}: {', '.join(files[:4])}{more}."
            )
    if run["conflicts"]:
        which = units.numbers([row["rank"] for row in run["conflicts"]])
        said.append(
            f"Claimed by more than one lane, and left out of cross-rank results: rank {which}."
        )
    if run["several_jobs"]:
        said.append(
            f"Several jobs: {units.clean(str(run['several_jobs']))}. Cross-rank results are withheld."
        )
    return said


def walk(found: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the walk as two bars (by cause, by rank) and the table cause by rank."""
    by_cause: dict[tuple[int, str], int] = {}
    by_rank: dict[str, int] = {}
    both: dict[tuple[str, str], int] = {}
    for item in found["items"]:
        key = item["cause"] or item["bucket"]
        order = BUCKETS.index(item["bucket"]) if item["bucket"] in BUCKETS else len(BUCKETS)
        by_cause[order, key] = by_cause.get((order, key), 0) + item["ns"]
        by_rank[item["label"]] = by_rank.get(item["label"], 0) + item["ns"]
        both[key, item["label"]] = both.get((key, item["label"]), 0) + item["ns"]
    total = found["step_ns"]
    parts = [
        Part(cause(key), ns)
        for (_, key), ns in sorted(by_cause.items(), key=lambda p: (p[0][0], -p[1], p[0][1]))
    ]
    top = sorted(by_rank, key=lambda label: (-by_rank[label], label))[:_WALK_RANKS]
    return {
        "bar": bars.stack(parts, total),
        "spoken": bars.spoken(parts, total),
        "legend": bars.legend(parts, total),
        "ranks": bars.stack(_rank_parts(by_rank, top, names), total),
        "table": _walk_table(by_cause, by_rank, both, top, names, total),
        "steps": units.numbers(found["steps"]),
        "n": len(found["steps"]),
        "step_ns": total,
    }


def _label(label: str, names: Mapping[str, str]) -> str:
    return names.get(label, units.clean(label))


def _rank_parts(
    by_rank: Mapping[str, int], top: Sequence[str], names: Mapping[str, str]
) -> list[Part]:
    parts = []
    for at, label in enumerate(top):
        text = _label(label, names)
        parts.append(Part(Word(text, text, f"wr{min(at, 2)}"), by_rank[label]))
    rest = sum(ns for label, ns in by_rank.items() if label not in top)
    text = f"{len(by_rank) - len(top)} other ranks"
    return [*parts, Part(Word(text, text, "wr3"), rest)]


def _walk_table(  # noqa: PLR0913 - three sums, the ranks shown, their names and the total
    by_cause: Mapping[tuple[int, str], int],
    by_rank: Mapping[str, int],
    both: Mapping[tuple[str, str], int],
    top: Sequence[str],
    names: Mapping[str, str],
    total: int,
) -> Table:
    rest = [label for label in by_rank if label not in top]
    columns = [Column("cause", "Cause")]
    columns += [Column(f"rank_{at}", _label(label, names), "ns") for at, label in enumerate(top)]
    if rest:
        columns.append(Column("others", f"{len(rest)} other ranks", "ns"))
    columns += [Column("ns", "Sum", "ns"), Column("share", "Of step", "share")]
    rows: list[dict[str, Any]] = []
    for _, key in sorted(by_cause, key=lambda pair: (pair[0], -by_cause[pair], pair[1])):
        word = cause(key)
        row: dict[str, Any] = {"cause": Cell(word.label, csv=key, css=word.css, letter=word.letter)}
        row |= {f"rank_{at}": both.get((key, label), 0) for at, label in enumerate(top)}
        row["others"] = sum(both.get((key, label), 0) for label in rest)
        row["ns"] = sum(ns for (_, name), ns in by_cause.items() if name == key)
        row["share"] = units.ratio(row["ns"], total)
        rows.append(row)
    last: dict[str, Any] = {"cause": Cell("Job step, sums exactly", csv="step_ns"), "level": "tot"}
    last |= {f"rank_{at}": by_rank[label] for at, label in enumerate(top)}
    last |= {"others": sum(by_rank[label] for label in rest), "ns": total, "share": 1.0}
    return build(
        "t-walk",
        "Cause by rank",
        columns,
        [*rows, last],
        note="Per step. Wait is passed on to the rank that caused it.",
    )


def stragglers(found: Mapping[str, Any], period_ns: int) -> list[dict[str, Any]]:
    """Return one card per late rank."""
    return [
        {
            "id": units.anchor("s", str(row["label"])),
            "name": f"Rank {row['rank']}"
            if row["rank"] is not None
            else units.clean(str(row["label"])),
            "verdict": plain(row["verdict"]),
            "gain": f"≤ {units.duration(row['gain_bound_ns_per_step'])} per step",
            "gain_share": units.share(units.ratio(row["gain_bound_ns_per_step"], period_ns)),
            "last": units.share(row["last_frac"]),
            "late": units.duration(row["median_late_ns"]),
            "cause": units.clean(str(row["cause"] or "not known")),
            "evidence": _evidence(row["evidence"]),
        }
        for row in items(found)[:12]
    ]


def _evidence(value: object) -> str:
    parts = value if isinstance(value, list) else [value] if value else []
    return units.clean(units.shorten("; ".join(str(part) for part in parts)))


def communicators(found: Mapping[str, Any], limit: int) -> Table | None:
    """Return the communicators by transfer, the largest 40."""
    if state(found):
        return None
    groups = sorted(
        found["groups"], key=lambda g: (-(g["transfer_ns"] or 0), str(g["communicator"]))
    )
    rows = []
    for group in groups[: min(limit, _COMMUNICATORS)]:
        late = max(group["median_late"], key=lambda row: (row["ns"], row["label"]), default=None)
        last = max(group["last_share"], key=lambda row: (row["frac"], row["label"]), default=None)
        rows.append(
            {
                **group,
                "kind": plain(str(group["kind"])),
                "members": len(group["members"]),
                "hosts": len(group["hosts"]),
                "late": f"{units.clean(last['label'])}: last in {units.share(last['frac'])}"
                if last
                else None,
                "late_ns": late["ns"] if late else None,
            }
        )
    return build(
        "t-communicators",
        "Communicators",
        (
            Column("communicator", "Communicator", "name", null="no name"),
            Column("kind", "Kind"),
            Column("members", "Members", "count"),
            Column("hosts", "Hosts", "count", wide=True),
            Column("instances", "Instances", "count"),
            Column("wait_ns", "Wait", "ns", null="not split"),
            Column("transfer_ns", "Transfer", "ns", null="not split"),
            Column("late", "Most often last", null="cannot tell", wide=True),
            Column("late_ns", "Latest, median", "ns", null="cannot tell", wide=True),
        ),
        rows,
        note=f"{len(rows)} of {len(groups)} communicators, the largest transfers first. Totals over the kept steps.",
    )


def clocks(found: Mapping[str, Any], limit: int) -> Table | None:
    """Return the clock offset of every file."""
    offsets = found.get("offsets") or ()
    if not offsets:
        return None
    return build(
        "t-clocks",
        "Clock offsets",
        (Column("file", "File", "name"), Column("offset_ns", "Offset", "ns", null="not aligned")),
        list(offsets)[: max(limit, 60)],
    )


def inputs(result: Document, limit: int) -> Table:
    """Return all inputs, those that failed first."""
    order = {"failed": 0, "no_gpu_work": 1, "ok": 2}
    word = {"failed": "failed", "no_gpu_work": "no GPU work", "ok": "ok"}
    rows = sorted(
        result["run"]["inputs"], key=lambda row: (order.get(row["status"], 0), row["file"])
    )
    return build(
        "t-inputs",
        "Inputs",
        (
            Column("file", "File", "name"),
            Column("status", "State"),
            Column("stage", "Stage", wide=True),
            Column("message", "What happened, and what to do", "long"),
        ),
        [
            {
                "file": row["file"],
                "status": Cell(word.get(row["status"], row["status"]), csv=row["status"]),
                "stage": row["stage"] or "",
                "message": units.shorten(
                    " ".join(str(part) for part in (row["message"], row["hint"]) if part), 400
                ),
            }
            for row in rows[: max(limit, 60) if len(rows) <= 2_048 else 400]  # noqa: PLR2004
        ],
        note=f"{units.some(len(rows), 'input')}.",
    )


def captures(documents: Sequence[Document]) -> list[str]:
    """Say what nsys warned about and what was left out, over all rank documents at hand."""
    said = []
    warned = [doc for doc in documents if doc["capture"].get("warnings")]
    if warned:
        said.append(
            f"nsys wrote warnings into {len(warned)} of {len(documents)} captures; the rank pages show them."
        )
    lost: dict[str, int] = {}
    for document in documents:
        for name, count in (document["capture"].get("dropped") or {}).items():
            lost[name] = lost.get(name, 0) + count
    left = ", ".join(
        f"{units.count(count)} {plain(name)}" for name, count in sorted(lost.items()) if count
    )
    if documents:
        said.append(f"Rows left out over all captures: {left or '0'}.")
    return said


def conflicts(result: Document) -> list[str]:
    """Say who claims one rank, and on what evidence."""
    return [
        f"Rank {row['rank']} is claimed by {', '.join(units.clean(str(label)) for label in row['labels'])}"
        f" ({', '.join(units.clean(str(source)) for source in row['sources'])})."
        for row in result["run"]["conflicts"]
    ]
