"""What a file name says about a rank, and what only looks as if it did."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from nsysflow.find import trace_stem
from nsysflow.natural import natural_key
from nsysflow.pattern import first_group

# "rank" and what launchers call it. A letter or digit in front makes it another word (crank3).
_KEYWORDS = ("rank", "procid", "taskid", "task", "pe")
_NAMED = re.compile(
    r"(?i)(?:^|(?<=[^a-z0-9]))([a-z0-9]*?[._ -]??)(rank|procid|taskid|task|pe)[._ =-]?([0-9]{1,7})"
    r"(?=$|[^a-z0-9]|of[0-9])"
)
_NUMBER = re.compile(r"[0-9]{1,7}")
_WHOLE = re.compile(r"(?i)r(\d{1,7})")
# These count within a node or a group of a parallel layout; the job has many of each.
_PARTIAL = re.compile(
    r"(?i)(?:local|node|host|group|stage|shard|replica|intra|inter|pipeline|tensor|expert|sequence"
    r"|context|\w*parallel|tp|pp|dp|ep|cp|sp|mp|etp|edp|vpp)[._ -]?"
)
# nsys numbers the captures of one process with .1, .2, ... (--capture-range-end=repeat).
_REPEAT = re.compile(r"(.+)\.\d{1,6}")
_TRAILING = re.compile(r"(?i)(.+?[._-]r?)(\d{1,7})")


def named_rank(path: str) -> int | None:
    """Return the rank that a path names in words: the file name, else the nearest folder that does.

    None too where a name holds two different ranks, or only a local or a group rank.
    """
    *folders, name = path.split("/")
    found = _ranks_in(trace_stem(name))
    for folder in reversed(folders):
        found = found or _named_in(folder, "rank")
    return found.pop() if len(found) == 1 else None


def regex_rank(path: str, pattern: str) -> int | None:
    """Return the rank that the user's pattern finds: in the file name, else in the path."""
    found = next(filter(_NUMBER.fullmatch, _captured(path, pattern)), None)
    return None if found is None else int(found)


def regex_other(path: str, pattern: str) -> str | None:
    """Return what the user's pattern finds where that is no rank."""
    return next((found for found in _captured(path, pattern) if not _NUMBER.fullmatch(found)), None)


def _captured(path: str, pattern: str) -> Iterator[str]:
    for text in (path.rsplit("/", 1)[-1], path):
        found = first_group(pattern, text, "rank")
        if found is not None:
            yield found


def counted_ranks(captures: Iterable[tuple[int, dict[str, Any]]]) -> dict[str, int]:
    """Return trace -> rank for names that only end in a number, where a whole set proves it.

    A trailing number may be a process id, a step or a repetition. It is a rank only if files of
    one folder differ in nothing else, count 0, 1, ... n-1 without a gap, and were recorded at the
    same time (``captures`` are (cluster in time, capture), the cluster -1 where that is unknown).
    """
    sets: dict[tuple[int, str], dict[str, int]] = {}
    for cluster, capture in captures:
        folder, _, name = str(capture["file"]).rpartition("/")
        match = _TRAILING.fullmatch(_without_repeat(trace_stem(name)))
        if match is not None and cluster >= 0:
            key = (cluster, f"{folder}/{match[1]}")
            sets.setdefault(key, {})[str(capture["trace"])] = int(match[2])
    return {
        trace: rank
        for numbered in sets.values()
        if _is_complete(numbered.values())
        for trace, rank in sorted(numbered.items(), key=lambda item: natural_key(item[0]))
    }


def _ranks_in(stem: str) -> set[int]:
    whole = _WHOLE.fullmatch(_without_repeat(stem))
    return {int(whole[1])} if whole else _named_in(stem, *_KEYWORDS)


def _named_in(text: str, *keywords: str) -> set[int]:
    return {
        int(match[3])
        for match in _NAMED.finditer(text)
        if match[2].lower() in keywords
        and not _PARTIAL.fullmatch(match[1])
        and _is_word_start(match[1])
    }


def _is_word_start(before: str) -> bool:
    """Return whether the keyword stands alone, or after a word that keeps it the job's rank."""
    return before == "" or before[-1] in "._ -" or before.lower() in {"mpi", "global", "world"}


def _without_repeat(stem: str) -> str:
    match = _REPEAT.fullmatch(stem)
    return match[1] if match else stem


def _is_complete(numbers: Iterable[int]) -> bool:
    ordered = sorted(numbers)
    return len(ordered) > 1 and ordered == list(range(len(ordered)))
