"""The table of all questions asked: found, found nothing, could not look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nsysflow.model import CATEGORIES
from nsysflow.render import findings, units
from nsysflow.render.sections import Document, section, state
from nsysflow.render.words import IDLE_CAUSE, STATUS

# The section of the job that says whether a question between ranks arises at all.
_OF_RANKS = {"stragglers": "stragglers", "pipeline_bubble": "pipeline"}


@dataclass(frozen=True)
class Question:
    """One row of "all questions asked"."""

    title: str
    css: str
    chip: str | None
    text: str
    links: tuple[tuple[str, str], ...]
    share: str
    share_value: str
    bound: str
    bound_value: str


def questions(document: Document, links: Sequence[findings.Card]) -> list[Question]:
    """Return one row per category: found, found nothing, could not look, or not asked."""
    by_category: dict[str, list[Mapping[str, Any]]] = {name: [] for name in CATEGORIES}
    for finding in document["findings"]:
        by_category.setdefault(finding["category"], []).append(finding)
    found = findings.opportunities(document["findings"])
    card_of = {id(finding): card for finding, card in zip(found, links, strict=True)}
    return [
        _question(name, document.get("categories") or {}, rows, card_of)
        for name, rows in by_category.items()
    ]


def with_unsplit(
    rows: Sequence[Question], causes: Sequence[Mapping[str, Any]], whole: int
) -> list[Question]:
    """Say in the row of measurement what of its share is communication nobody could split.

    ``causes`` are those of the lanes that the rows are about, ``whole`` is all their time.
    """
    unsplit, title = _unsplit(causes, whole), findings.word("measurement").label
    if not unsplit:
        return list(rows)
    return [
        replace(row, text=f"{row.text.rstrip('.')}. {unsplit}".lstrip(". "))
        if row.title == title
        else row
        for row in rows
    ]


def but_not_asked(rows: Sequence[Question], job: Document | None) -> list[Question]:
    """Say of the categories that only several ranks can have where the job says they cannot arise.

    That nothing was found would say that somebody looked.
    """
    why = {
        findings.word(category).label: state(section(job, name))
        for category, name in _OF_RANKS.items()
        if job and name in job and section(job, name).get("status") == "not_applicable"
    }
    return [
        replace(row, chip=told.chip, text=told.reason)
        if (told := why.get(row.title)) and not row.chip and not float(row.share_value or 0)
        else row
        for row in rows
    ]


def _unsplit(causes: Sequence[Mapping[str, Any]], whole: int) -> str:
    ns = sum(
        length
        for each in causes
        for name, length in each["exposed_comm"].items()
        if name.startswith("unsplit")
    )
    return f"{units.share(ns / whole)} is exposed communication: waiting or transfer." if ns else ""


def _question(
    name: str,
    categories: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    card_of: Mapping[int, findings.Card],
) -> Question:
    share = categories.get(name)
    made = [(row, card_of[id(row)]) for row in rows if id(row) in card_of]
    bounds = [row["bound_ns_per_step"] or 0 for row, _ in made]
    chip, text = _answer(rows, has_cards=bool(made))
    # A share of zero says something only where somebody could look.
    told = bool(share and (share["ns"] or not chip))
    return Question(
        title=findings.word(name).label,
        css=findings.word(name).css,
        chip=chip,
        text=text,
        links=tuple((card.id, card.title) for _, card in made),
        share=units.share(share["frac"]) if told and share else "",
        share_value=str(share["frac"]) if told and share else "",
        bound=f"≤ {units.duration(max(bounds))}" if bounds else "",
        bound_value=str(max(bounds)) if bounds else "",
    )


def _others(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what became of the other questions of a category of which one could not be looked at."""
    blind = sum(row["status"] in ("error", "unavailable") for row in rows) - 1
    calm = sum(row["status"] == "ok" for row in rows)
    parts = [f"{units.some(calm, 'other question')} found nothing"] if calm else []
    if blind:
        parts.append(f"{blind} more could not be looked at")
    return f" {'; '.join(parts)}." if parts else ""


def _detail(row: Mapping[str, Any]) -> str:
    """Say what was seen and why it matters, or what is missing and what records it."""
    # Why it would cost time is no news where nothing was found, nor known where nobody looked.
    if row["status"] == "ok" or not (row["why"] or row["capture_next"]):
        return str(row["title"])
    if row["status"] == "info":
        return f"{row['title']}. {row['why']}" if row["why"] else str(row["title"])
    asked = f"{IDLE_CAUSE[row['id']].label}: " if row["id"] in IDLE_CAUSE else ""
    record = row["capture_next"]
    if record:
        record = f" To look, capture {'with ' if record.startswith('--') else ''}{record}."
    return f"{asked}{row['title']}.{record or ''}"


def _answer(rows: Sequence[Mapping[str, Any]], *, has_cards: bool) -> tuple[str | None, str]:
    """Return the chip and the words for the findings of a category that are not cards."""
    rest = [row for row in rows if row["status"] != "opportunity"]
    for status in ("error", "unavailable", "info", "ok"):
        for row in rest:
            if row["status"] == status:
                chip = STATUS[status] if status in ("error", "unavailable") else None
                others = _others(rest) if chip else ""
                lead = "found nothing: " if status == "ok" and not has_cards else ""
                return chip, f"{lead}{units.clean(units.shorten(_detail(row)))}{others}"
    return (None, "") if has_cards else ("not asked", "no question of this kind")
