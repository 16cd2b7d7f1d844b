"""Patterns that users write are RE2, here as in DuckDB: no input can make one run away."""

from __future__ import annotations

from nsysflow.errors import UsageError


def check_pattern(pattern: str, where: str) -> str:
    """Return the pattern if RE2 accepts it; UsageError naming ``where`` it was written if not."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and not needed to show help
    from pyarrow import compute  # noqa: PLC0415

    try:
        compute.match_substring_regex(pa.array([""]), pattern=pattern)
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise UsageError(
            f"{where}: {pattern!r} is no RE2 pattern: {reason}",
            hint="RE2 has no look-ahead, look-behind or back-references",
        ) from error
    return pattern


def check_group(pattern: str, where: str) -> str:
    """Check a pattern that has to capture something."""
    check_pattern(pattern, where)
    if not _groups(pattern):
        raise UsageError(
            f"{where}: {pattern!r} captures nothing",
            hint="put the number in a group: rank_([0-9]+)",
        )
    return pattern


def first_group(pattern: str, text: str, name: str) -> str | None:
    """Return what the group ``name``, else the first group, captures in ``text``, if anything."""
    import pyarrow as pa  # noqa: PLC0415 - see check_pattern
    from pyarrow import compute  # noqa: PLC0415

    plain = text.encode("utf-8", "backslashreplace").decode("utf-8")
    # Arrow wants every group named.
    groups = compute.extract_regex(pa.array([plain]), pattern=_all_named(pattern))[0].as_py()
    if groups is None:
        return None
    found = groups.get(name, next(iter(groups.values())))
    return str(found) or None


def _groups(pattern: str) -> list[int]:
    """Return where the capturing groups of a valid RE2 pattern open."""
    opens, index = [], 0
    while index < len(pattern):
        if pattern.startswith(r"\Q", index):
            index = _after(pattern, r"\E", index + 2)
        elif pattern[index] == "\\":
            index += 2
        elif pattern[index] == "[":
            index = _after_class(pattern, index)
        else:
            if pattern[index] == "(" and _captures(pattern[index + 1 : index + 4]):
                opens.append(index)
            index += 1
    return opens


def _captures(after: str) -> bool:
    return not after.startswith("?") or after.startswith(("?P<", "?<"))


def _after(pattern: str, what: str, index: int) -> int:
    found = pattern.find(what, index)
    return len(pattern) if found < 0 else found + len(what)


def _after_class(pattern: str, index: int) -> int:
    index += 1
    index += pattern.startswith("^", index)
    index += pattern.startswith("]", index)  # a bracket in first place is itself
    while index < len(pattern) and pattern[index] != "]":
        if pattern.startswith("[:", index):
            index = _after(pattern, ":]", index)
        else:
            index += 2 if pattern[index] == "\\" else 1
    return index + 1


def _all_named(pattern: str) -> str:
    pieces, last = [], 0
    for number, index in enumerate(_groups(pattern)):
        pieces.append(pattern[last : index + 1])
        if pattern[index + 1 : index + 2] != "?":
            pieces.append(f"?P<unnamed{number}>")
        last = index + 1
    return "".join(pieces) + pattern[last:]
