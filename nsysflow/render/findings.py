"""Findings as cards, and the sum of their bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nsysflow.model import BUCKETS
from nsysflow.render import units
from nsysflow.render.bars import Segment, track
from nsysflow.render.sections import Document
from nsysflow.render.timeline import Places
from nsysflow.render.words import (
    BUCKET,
    CATEGORY,
    CONFIDENCE,
    Word,
    bucket_of,
    plain,
)

# On paper so many cards are open at most, and while so many characters are not used up; a text
# of so many is cut there.
PAPER_CARDS = 6
PAPER_CHARACTERS = 3_000
PAPER_TEXT = 400
OPEN_CARDS = 2
ON_TOP = 5
MAX_EVIDENCE = 4


@dataclass(frozen=True)
class Evidence:
    """One line of proof, with a table or a place in the timeline that shows it."""

    text: str
    table: str | None = None
    at: str | None = None


@dataclass(frozen=True)
class Card:
    """One opportunity as the page shows it."""

    id: str
    number: int
    title: str
    category: Word
    dots: str
    confidence: str
    n: str
    ranks: str
    bound: str
    share: str
    remarks: tuple[str, ...]
    mark: Segment | None
    evidence: tuple[Evidence, ...]
    parts: tuple[tuple[str, str], ...]
    why: str
    fix: str
    open: bool
    printed: bool = False

    @property
    def length(self) -> int:
        """How many characters its body has, a part cut on paper as it is there."""
        texts = [e.text for e in self.evidence] + [text for _, text in self.parts] + [self.why]
        return sum(min(len(text), PAPER_TEXT) for text in texts)


def opportunities(findings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the findings that are cards, in the order given (by bound, largest first)."""
    return [finding for finding in findings if finding["status"] == "opportunity"]


def told(findings: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
    """Return what to do first where nothing was found: mend what kept us from looking."""
    rows = [
        row
        for row in findings
        if row["status"] == "info" and row["category"] == "measurement" and row["fix"]
    ]
    row = max(rows, key=lambda row: row["bound_frac"] or 0, default=None)
    if row is None:
        return None
    return {key: units.clean(row[key] or "") for key in ("title", "fix", "capture_next")}


def word(category: str) -> Word:
    """Return the word of a category; an unknown one keeps its own name."""
    return CATEGORY.get(category) or Word(plain(category), plain(category), "nr")


def anchors(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one unique id per finding."""
    seen: dict[str, int] = {}
    ids = []
    for finding in findings:
        name = units.anchor("f", str(finding["id"]))
        seen[name] = seen.get(name, 0) + 1
        ids.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return ids


def adds(finding: Mapping[str, Any]) -> bool:
    """Whether a bound lies in a bucket of its own, so that it may be added to others."""
    return bucket_of(finding["bucket"]) is not None and finding["category"] != "stragglers"


def added(findings: Sequence[Mapping[str, Any]], period_ns: int) -> tuple[int, int]:
    """Add the bounds of disjoint buckets; return the sum (at most one step) and how many.

    A bucket named twice counts once with its larger bound, and a whole level-1 bucket is never
    added to its own parts: the larger of the two stands.
    """
    best: dict[str, int] = {}
    for finding in opportunities(findings):
        bound = finding["bound_ns_per_step"]
        if bound is not None and adds(finding):
            best[finding["bucket"]] = max(best.get(finding["bucket"], 0), bound)
    total = number = 0
    for bucket in BUCKETS:
        inside = {name: ns for name, ns in best.items() if bucket_of(name) == bucket}
        whole = inside.pop(bucket, 0)
        parts = sum(inside.values())
        total += max(whole, parts)
        number += len(inside) if parts > whole else int(whole > 0)
    return min(total, period_ns), number


def _mark(finding: Mapping[str, Any], document: Document) -> Segment | None:
    bound = finding["bound_frac"]
    if bound is None:
        return None
    buckets = document.get("buckets")
    bucket = bucket_of(finding["bucket"])
    css = word(finding["category"]).css
    if bucket is None or not buckets:
        return track(css, 0, bound)
    before = sum(buckets[name] for name in BUCKETS[: BUCKETS.index(bucket)])
    return track(BUCKET[bucket].css, units.ratio(before, buckets["window_ns"]), bound)


def _evidence(item: str | Mapping[str, Any], places: Places, tables: frozenset[str]) -> Evidence:
    if isinstance(item, str):
        return Evidence(units.clean(units.shorten(item)))
    at = item.get("at")
    place = places.at(at["start_ns"], at["dur_ns"]) if at else None
    # Evidence names the section that proves it; the page's table of it has the same name.
    table = next((t for t in (item.get("table"), f"t-{item.get('table')}") if t in tables), None)
    text = units.clean(units.shorten(item["text"]))
    return Evidence(text, table, place)


def _remarks(finding: Mapping[str, Any]) -> tuple[str, ...]:
    if finding["category"] == "stragglers":
        return ("job-wide, not in the sum",)
    return () if adds(finding) else ("view: does not add to others",)


def _parts(finding: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    wanted = (
        ("Do", "fix"),
        ("Trade-off", "trade_off"),
        ("Check that it worked", "verify"),
        ("Next experiment", "experiment"),
        ("To be surer, capture", "capture_next"),
    )
    return tuple((title, units.clean(finding[key])) for title, key in wanted if finding[key])


def cards(
    document: Document, which: str, unit: str = "step", tables: frozenset[str] = frozenset()
) -> list[Card]:
    """Return the cards of a document, largest bound first; the first two are open.

    ``tables`` are the ids of the tables on the page, to which evidence may point.
    """
    places = Places(document)
    found = opportunities(document["findings"])
    made = []
    for number, (finding, anchor) in enumerate(zip(found, anchors(found), strict=True), start=1):
        ns, frac = finding["bound_ns_per_step"], finding["bound_frac"]
        ranks = finding.get("ranks")
        made.append(
            Card(
                id=anchor,
                number=number,
                title=units.clean(units.shorten(finding["title"], 160)),
                category=word(finding["category"]),
                dots=CONFIDENCE.get(finding["confidence"], ""),
                confidence=finding["confidence"],
                n=f"n {units.some(finding['n_steps'], unit)}"
                + (f", {which.partition(' ')[2]}" if which and unit == "step" else ""),
                ranks=_ranks(ranks) if ranks else "",
                bound=f"≤ {units.duration(ns)}" if ns is not None else "bound not known",
                share=units.share(frac) if frac is not None else "",
                remarks=_remarks(finding),
                mark=_mark(finding, document),
                evidence=tuple(
                    _evidence(item, places, tables) for item in finding["evidence"][:MAX_EVIDENCE]
                ),
                parts=_parts(finding),
                why=units.clean(finding["why"] or ""),
                fix=units.clean(finding["fix"] or ""),
                open=number <= OPEN_CARDS,
            )
        )
    return _printed(made)


def _printed(made: Sequence[Card]) -> list[Card]:
    """Say which cards are open on paper: the first, as long as their texts leave room."""
    left, found = PAPER_CHARACTERS, []
    for number, card in enumerate(made):
        fits = number == 0 or (number < PAPER_CARDS and card.length <= left)
        left = left - card.length if fits else 0
        found.append(replace(card, printed=fits))
    return found


def _ranks(ranks: Sequence[object]) -> str:
    if len(ranks) > 8 and not all(isinstance(rank, int) for rank in ranks):  # noqa: PLR2004
        return f"{len(ranks)} ranks"
    if all(isinstance(rank, int) for rank in ranks):
        text = units.numbers([int(str(rank)) for rank in ranks])
    else:
        return ", ".join(units.clean(str(rank)) for rank in ranks)
    return f"rank{'s' if len(ranks) > 1 else ''} {text}"
