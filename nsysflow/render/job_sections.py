"""Sections of the job page that name things across ranks: walk, stragglers, clocks, inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nsysflow.model import BUCKETS
from nsysflow.natural import natural_key
from nsysflow.render import bars, sections, units
from nsysflow.render.bars import Part
from nsysflow.render.capture import theirs
from nsysflow.render.sections import PARTS, Document, items, section
from nsysflow.render.tables import Cell, Column, Of, Table, build
from nsysflow.render.words import RANK_SOURCE, Word, cause, plain, section_title

_WALK_RANKS = 3
# Of files or ranks in a sentence.
_MOST_NAMED = 4
# Of a kernel name in a sentence.
_NAME = 80
_INPUT = (
    Column("file", "File", "name"),
    Column("status", "State"),
    Column("stage", "Stage", wide=True),
    Column("message", "What happened, and what to do", "long"),
)
# What lies across ranks, in the order of the page.
_ACROSS = {
    "walk": "Walk",
    "stragglers": "Stragglers",
    "collectives": "Communicators",
    "pipeline": "Pipeline",
    "alignment": "Clocks",
}
# Why a rank is late, in words.
LATE_CAUSE = {
    "host": "its host takes longer",
    "data": "its data take longer",
    "slow compute": "the same kernels take longer",
    "more work": "it runs more kernels",
    "comm on another communicator": "it waits in another communicator",
}


def missing(result: Document) -> list[str]:
    """Return one sentence for each kind of rank or input that is not in the report."""
    run = result["run"]
    said = []
    if run["missing_ranks"]:
        count = len(run["missing_ranks"])
        of = f" of {units.count(run['ranks_expected'])}" if run["ranks_expected"] else ""
        which = units.numbers(run["missing_ranks"])
        ranks, are = "ranks" if of or count > 1 else "rank", "are" if count > 1 else "is"
        said.append(
            f"{units.count(count)}{of} {ranks} {are} not in this report: "
            f"rank{'s' if count > 1 else ''} {which}."
        )
    for status, what in (("failed", "could not be used"), ("no_gpu_work", "hold no GPU work")):
        files = [
            units.clean(units.shorten(row["file"], 80))
            for row in run["inputs"]
            if row["status"] == status
        ]
        if files:
            what_one = what.replace("hold ", "holds ") if len(files) == 1 else what
            said.append(f"{units.some(len(files), 'input')} {what_one}: {_few(files)}.")
    if run["conflicts"]:
        which = units.numbers([row["rank"] for row in run["conflicts"]])
        said.append(
            f"Claimed by more than one lane, and left out of cross-rank results: rank {which}."
        )
    if run["several_jobs"]:
        said.append(
            f"Several jobs: {units.clean(str(run['several_jobs']))}. "
            "Cross-rank results are withheld."
        )
    return said


def failed(result: Document, documents: Sequence[Document], names: Mapping[str, str]) -> list[str]:
    """Return one sentence that names the sections whose question failed, here and on rank pages."""
    across = [t for name, t in _ACROSS.items() if section(result, name).get("status") == "error"]
    found = {str(one["lane"]["label"]): sections.failed(one) for one in documents}
    who = [names.get(label, units.clean(label)) for label, lost in found.items() if lost]
    lost = {name for each in found.values() for name in each}
    titles = [section_title(name) for name in PARTS if name in lost]
    said = [f"here: {', '.join(across)}"] if across else []
    if titles:
        pages = "page" if len(who) == 1 else "pages"
        said.append(f"on the {pages} of {_few(who)}: {', '.join(titles)}")
    return [f"Failed {'; '.join(said)}. The rest stands."] if said else []


def _few(items: Sequence[str]) -> str:
    more = f" and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    return ", ".join(items[:_MOST_NAMED]) + more


@dataclass(frozen=True)
class _Walk:
    """The walk summed: by cause (in bucket order), by rank, by both; ``top`` ranks are shown."""

    by_cause: dict[str, int]
    by_rank: dict[str, int]
    both: dict[tuple[str, str], int]
    top: tuple[str, ...]

    @property
    def rest(self) -> list[str]:
        """The ranks that share one column."""
        return [label for label in self.by_rank if label not in self.top]


def _sums(found: Mapping[str, Any]) -> _Walk:
    order: dict[str, int] = {}
    by_cause: dict[str, int] = {}
    by_rank: dict[str, int] = {}
    both: dict[tuple[str, str], int] = {}
    for item in found["items"]:
        key, label, bucket = item["cause"] or item["bucket"], item["label"], item["bucket"]
        order[key] = BUCKETS.index(bucket) if bucket in BUCKETS else len(BUCKETS)
        by_cause[key] = by_cause.get(key, 0) + item["ns"]
        by_rank[label] = by_rank.get(label, 0) + item["ns"]
        both[key, label] = both.get((key, label), 0) + item["ns"]
    causes = sorted(by_cause, key=lambda key: (order[key], -by_cause[key], key))
    ranks = sorted(by_rank, key=lambda label: (-by_rank[label], label))
    return _Walk(
        {key: by_cause[key] for key in causes},
        {label: by_rank[label] for label in ranks},
        both,
        tuple(ranks[:_WALK_RANKS]),
    )


def _steps(numbers: Sequence[int], *, numbered: bool) -> str:
    if not numbered:
        return "the steps that all ranks kept"
    return f"step{'' if len(numbers) == 1 else 's'} {units.numbers(numbers)}"


def walk(
    found: Mapping[str, Any], names: Mapping[str, str], *, unit: str = "step", numbered: bool = True
) -> dict[str, Any]:
    """Return the walk as two bars (by cause, by rank) and the table cause by rank.

    Steps that are not ``numbered`` in the traces are only counted: each rank's page counts its own.
    """
    sums, total = _sums(found), found["step_ns"]
    parts = [Part(cause(key), ns) for key, ns in sums.by_cause.items()]
    return {
        "bar": bars.stack(parts, total),
        "spoken": bars.spoken(parts, total),
        "legend": bars.legend(parts, total),
        "ranks": bars.stack(_rank_parts(sums, names), total, named=False),
        "table": _walk_table(sums, names, total, unit),
        "steps": _steps(found["steps"], numbered=numbered)
        if unit == "step"
        else sections.SEVERAL[unit],
        "n": len(found["steps"]),
        "step_ns": total,
    }


def rank_name(label: str, names: Mapping[str, str]) -> str:
    """Return the name of a lane as the rank table has it."""
    return names.get(label, units.clean(label))


def _rank_parts(sums: _Walk, names: Mapping[str, str]) -> list[Part]:
    parts = []
    for at, label in enumerate(sums.top):
        text = rank_name(label, names)
        parts.append(Part(Word(text, text, f"wr{min(at, 2)}"), sums.by_rank[label]))
    text = units.some(len(sums.rest), "other rank")
    rest = sum(sums.by_rank[label] for label in sums.rest)
    return [*parts, Part(Word(text, text, "wr3"), rest)]


def _walk_table(sums: _Walk, names: Mapping[str, str], total: int, unit: str) -> Table:
    columns = [Column("cause", "Cause")]
    columns += [Column(f"rank_{at}", rank_name(x, names), "ns") for at, x in enumerate(sums.top)]
    if sums.rest:
        columns.append(Column("others", units.some(len(sums.rest), "other rank"), "ns"))
    columns += [Column("ns", "Sum", "ns"), Column("share", f"Of {unit}", "share")]
    rows: list[dict[Any, Any]] = []
    for key, ns in sums.by_cause.items():
        word = cause(key)
        row: dict[Any, Any] = {
            "cause": Cell(word.label, csv=key, css=word.css, letter=word.letter),
            "others": sum(sums.both.get((key, label), 0) for label in sums.rest),
            "ns": ns,
            "share": units.ratio(ns, total),
        }
        row |= {f"rank_{at}": sums.both.get((key, x), 0) for at, x in enumerate(sums.top)}
        rows.append(row)
    last: dict[Any, Any] = {
        "cause": Cell(f"Job’s {unit}, sums exactly", csv="step_ns"),
        "others": sum(sums.by_rank[label] for label in sums.rest),
        "ns": total,
        "share": 1.0,
        Of.LEVEL: "tot",
    }
    last |= {f"rank_{at}": sums.by_rank[x] for at, x in enumerate(sums.top)}
    caption = f"Time per {unit}"
    note = "By the rank that held the others up: waiting is passed on to the rank waited for."
    return build("t-walk", caption, columns, [*rows, last], note=note, one_unit=True)


_VERDICT = {
    "transient": "late in some steps",
    "rotating": "late in turn with others",
    "cannot_tell": "late, but too few steps to rule out chance",
}


def stragglers(found: Mapping[str, Any], period_ns: int) -> list[dict[str, Any]]:
    """Return one card per late rank."""
    return [
        {
            "id": units.anchor("s", str(row["label"])),
            "name": f"Rank {row['rank']}"
            if row["rank"] is not None
            else units.clean(str(row["label"])),
            "verdict": _VERDICT.get(row["verdict"], plain(row["verdict"])),
            "gain": f"≤ {units.duration(row['gain_bound_ns_per_step'])} per step",
            "gain_share": units.share(units.ratio(row["gain_bound_ns_per_step"], period_ns)),
            "last": units.share(row["last_frac"]),
            "late": units.duration(row["median_late_ns"]),
            "cause": units.clean(LATE_CAUSE.get(row["cause"]) or str(row["cause"] or "not known")),
            "evidence": _evidence(row["evidence"]),
        }
        for row in items(found)[:12]
    ]


def _evidence(value: object) -> list[str]:
    parts = value if isinstance(value, list) else [value] if value else []
    return [units.clean(_shortened(str(part))) for part in parts]


def _shortened(text: str) -> str:
    """Cut the names in a text, which stand between backquotes, and never the words about them."""
    parts = text.split("`")
    parts[1::2] = [units.shorten(name, _NAME) for name in parts[1::2]]
    return units.shorten("`".join(parts))


def inputs(result: Document, limit: int) -> Table:
    """Return all inputs, those that failed first."""
    order = {"failed": 0, "no_gpu_work": 1, "ok": 2}
    word = {"failed": "failed", "no_gpu_work": "no GPU work", "ok": "ok"}
    rows = sorted(
        result["run"]["inputs"],
        key=lambda row: (order.get(row["status"], 0), natural_key(row["file"])),
    )
    return build(
        "t-inputs",
        "Inputs",
        _INPUT if any(row["message"] or row["stage"] for row in rows) else _INPUT[:2],
        [
            {
                "file": row["file"],
                "status": Cell(word.get(row["status"], row["status"]), csv=row["status"]),
                "stage": row["stage"] or "",
                "message": units.shorten(
                    "; ".join(str(part) for part in (row["message"], row["hint"]) if part), 400
                ),
            }
            for row in rows[: max(limit, 60) if len(rows) <= 2_048 else 400]  # noqa: PLR2004
        ],
        note=f"{units.some(len(rows), 'input')}.",
    )


def captures(documents: Sequence[Document]) -> list[str]:
    """Say what nsys warned about and what was left out, over all rank documents at hand."""
    said = []
    warned = [doc for doc in documents if theirs(doc["capture"])]
    if warned:
        said.append(
            f"nsys wrote warnings into {len(warned)} of {len(documents)} captures; "
            "the rank pages show them."
        )
    lost: dict[str, int] = {}
    for document in documents:
        for name, count in (document["capture"].get("dropped") or {}).items():
            lost[name] = lost.get(name, 0) + count
    left = ", ".join(
        f"{units.count(count)} {plain(name)}" for name, count in sorted(lost.items()) if count
    )
    if documents:
        said.append(f"Rows and cells left out over all captures: {left or '0'}.")
    return said


def conflicts(result: Document) -> list[str]:
    """Say who claims one rank, and on what evidence."""
    return [
        f"Rank {row['rank']} is claimed by {_joined(row['labels'])} "
        f"({_joined([RANK_SOURCE.get(source, source) for source in row['sources']])})."
        for row in result["run"]["conflicts"]
    ]


def _joined(texts: Sequence[object]) -> str:
    return ", ".join(units.clean(str(text)) for text in texts)
