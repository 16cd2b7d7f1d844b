"""Result documents in, pages out: pure functions, no trace, no clock, no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.render import job_page, page, rank_page, units
from nsysflow.render.sections import failed

__all__ = ["JOB_SECTIONS", "RANK_SECTIONS", "failed", "render_index", "render_rank"]


def render_rank(document: Mapping[str, Any], job: Mapping[str, Any] | None = None) -> str:
    """Return the page of one lane from its rank document (schema 1).

    ``job`` is the result document of its run, or ``role.brief`` of it: what other ranks wait for.
    """
    return page.write(
        "rank.html",
        ("page.js", "timeline.js"),
        lambda limits: {
            **rank_page.context(document, limits, job),
            "page_title": units.one_line(f"{rank_page.lane_title(document)} · nsysflow"),
            "toc": RANK_SECTIONS,
        },
    )


def render_index(
    result: Mapping[str, Any], ranks: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """Return the page of a run from its result document.

    ``ranks`` are the rank documents, where they are at hand: they add what the captures of the
    ranks dropped, what nsys said, whether steps were found, which hold no kernels and what failed.
    Of each the ``label`` of ``lane``, ``capture``, ``steps`` and sections that failed are enough.
    """
    return page.write(
        "index.html",
        ("page.js",),
        lambda limits: {
            **job_page.context(result, ranks or (), limits),
            "page_title": units.one_line(f"{result['run']['name']} · nsysflow"),
            "toc": JOB_SECTIONS,
        },
    )


RANK_SECTIONS = (
    ("summary", "Summary"),
    ("findings", "Findings"),
    ("timeline", "Timeline"),
    ("step", "Step time"),
    ("kernels", "Kernels"),
    ("comm", "Communication"),
    ("host", "Host and copies"),
    ("capture", "Capture quality"),
    ("method", "Method"),
    ("glossary", "Glossary"),
)
JOB_SECTIONS = (
    ("summary", "Summary"),
    ("findings", "Findings"),
    ("walk", "Walk"),
    ("stragglers", "Stragglers"),
    ("heat", "Heat map"),
    ("ranks", "Ranks"),
    ("comm", "Communicators"),
    ("clocks", "Clocks"),
    ("inputs", "Inputs"),
    ("glossary", "Glossary"),
)
