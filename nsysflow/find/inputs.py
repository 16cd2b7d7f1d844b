"""RUN -> inputs: what to read, what stands for what, and what could not even be looked at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nsysflow.errors import NothingUsableError, UsageError
from nsysflow.find import names, twins
from nsysflow.find.content import is_sqlite
from nsysflow.find.walk import Entry, Walk, member_names, reason, search
from nsysflow.natural import natural_key

LOOKED_FOR = ".nsys-rep, .sqlite and parquetdir (_pqtdir) exports, each also as .zst or .gz"


@dataclass(frozen=True)
class Input:
    """One capture to read. ``file`` is its name in every result: relative to the run, with ``/``.

    ``twins`` are the other files of the same capture, which it stands for. A packed parquetdir is
    either a folder of packed tables or one tar file.
    """

    path: Path
    file: str
    form: names.Form
    packed: names.Packed | None
    twins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Something that should have been an input. ``stage`` is where it failed: find."""

    file: str
    stage: str
    message: str
    hint: str | None


@dataclass(frozen=True)
class Found:
    """What a RUN holds. ``folder``: the run folder, None for single files or several RUNs.

    ``inputs`` may be empty when ``failures`` are not: then nothing is usable, and these say why.
    """

    root: Path
    name: str
    inputs: tuple[Input, ...]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    folder: Path | None


def find_inputs(runs: Sequence[Path]) -> Found:
    """Return the captures of the given folders and files.

    Raises UsageError for a RUN that does not exist, NothingUsableError where nothing looks like a
    capture at all.
    """
    if not runs:
        raise UsageError("no RUN was given", hint="name a folder or the files of a run")
    given = [_given(run) for run in runs]
    folders = [run for run in given if _is_folder(run)]
    walk = Walk()
    for run in given:
        _merge(walk, search(run) if run in folders else _single(run))
    root = _root(given, folders)
    found = Found(
        root=root,
        name=_name(given, root),
        inputs=(),
        failures=(),
        notes=(),
        folder=given[0] if len(given) == 1 and folders else None,
    )
    found = _fill(found, walk)
    if not found.inputs and not found.failures:
        raise _nothing(given, walk)
    return found


def _given(run: Path) -> Path:
    path = Path(os.path.abspath(run))  # noqa: PTH100 - resolve() would lose the name of a link
    if not path.exists():
        what = "is a link to nothing" if path.is_symlink() else "does not exist"
        raise UsageError(f"{shown(str(run))} {what}", hint="RUN is a folder or a trace file")
    return path


def _is_folder(path: Path) -> bool:
    """Return whether a RUN is a folder to search, not a parquetdir, which is one trace."""
    if not path.is_dir():
        return False
    try:
        return names.folder_kind(path.name, member_names(path)) is None
    except OSError as error:
        raise UsageError(f"{shown(str(path))} cannot be read: {reason(error)}") from error


def _single(path: Path) -> Walk:
    """Return the one entry that a file named on the command line is."""
    if path.is_dir():
        return Walk(entries=[Entry(path, names.folder_kind(path.name, member_names(path)))])
    kind = names.kind_of(path.name)
    if kind is None and is_sqlite(path):
        kind = names.Kind("sqlite", None, path.stem)
    if not path.is_file():
        return Walk(problems=[(path, "is not a regular file")])
    if kind is None and not path.name.lower().endswith(names.STREAM_SUFFIX):
        return Walk(problems=[(path, f"is no trace by name or content; looked for {LOOKED_FOR}")])
    return Walk(entries=[Entry(path, kind and replace(kind, vague=False))])


def _merge(walk: Walk, other: Walk) -> None:
    walk.entries += other.entries
    walk.problems += other.problems
    walk.outside += other.outside
    walk.unread += other.unread


def _root(given: list[Path], folders: list[Path]) -> Path:
    """Return the folder that file names are relative to."""
    if len(given) == 1:
        return given[0] if folders else given[0].parent
    return Path(os.path.commonpath([path if path in folders else path.parent for path in given]))


def _name(given: list[Path], root: Path) -> str:
    name = names.trace_stem(given[0].name) if len(given) == 1 and given[0] != root else root.name
    return shown(name) or "run"


def _fill(found: Found, walk: Walk) -> Found:
    traces = _once(
        [
            twins.Trace(entry.path, _relative(entry.path, found.root), entry.kind)
            for entry in walk.entries
            if entry.kind is not None
        ]
    )
    choices = twins.choose(traces)
    streams = sorted({entry.path for entry in walk.entries if entry.kind is None})
    failures = [
        _lost(stream, found.root) for stream in streams if not twins.has_report(stream, traces)
    ]
    failures += [
        Failure(_relative(path, found.root), "find", what, "look at its permissions and its type")
        for path, what in sorted(set(walk.problems))
    ]
    return replace(
        found,
        inputs=tuple(_input(choice) for choice in choices),
        failures=tuple(sorted(failures, key=lambda failure: natural_key(failure.file))),
        notes=(*_twin_notes(choices), *_place_notes(found.root, walk)),
    )


def _once(traces: list[twins.Trace]) -> list[twins.Trace]:
    """Keep one trace per real file; a name that is no link wins, then the shorter one."""
    ordered = sorted(
        traces,
        key=lambda trace: (_is_linked(trace.path), len(trace.file), natural_key(trace.file)),
    )
    kept: dict[str, twins.Trace] = {}
    for trace in ordered:
        kept.setdefault(os.path.realpath(trace.path), trace)
    return list(kept.values())


def _is_linked(path: Path) -> bool:
    return os.path.realpath(path) != str(path)


def _input(choice: twins.Choice) -> Input:
    kind = choice.trace.kind
    return Input(choice.trace.path, choice.trace.file, kind.form, kind.packed, choice.twins)


def _lost(stream: Path, root: Path) -> Failure:
    return Failure(
        file=_relative(stream, root),
        stage="find",
        message="the capture import did not finish: nsys left its raw stream and no report",
        hint="convert it with the same or a newer nsys, or capture this rank again",
    )


def _twin_notes(choices: list[twins.Choice]) -> list[str]:
    notes = []
    for choice in choices:
        file = shown(choice.trace.file)
        if choice.stale:
            stale = ", ".join(shown(name) for name in choice.stale)
            notes.append(f"{file} is read; its export is older and is not ({stale})")
        elif choice.twins:
            others = ", ".join(shown(name) for name in choice.twins)
            why = ", an export at least as new as its report" if choice.covered else ""
            notes.append(f"{file} is read{why}; the same capture, not counted again: {others}")
    return notes


def _place_notes(root: Path, walk: Walk) -> list[str]:
    return [
        f"{shown(_relative(path, root))} is a link to a folder outside the run: not followed"
        for path in sorted(set(walk.outside))
    ]


def _nothing(given: list[Path], walk: Walk) -> NothingUsableError:
    where = ", ".join(shown(str(path)) for path in given)
    if len(given) == 1 and (given[0] / names.MARKER).exists():
        return NothingUsableError(
            f"{where} is a result folder of nsysflow ({names.MARKER} marks it) and is not searched",
            hint="name the folder that holds the traces",
        )
    seen = f"; not readable here: {shown(walk.unread[0].name)}" if walk.unread else ""
    return NothingUsableError(f"no trace in {where}: looked for {LOOKED_FOR}{seen}")


def _relative(path: Path, root: Path) -> str:
    """Return the path below ``root`` as text; bytes that are no UTF-8 are written out."""
    relative = os.path.relpath(path, root).replace(os.sep, "/")
    return os.fsencode(relative).decode("utf-8", "backslashreplace")


def shown(text: str) -> str:
    """Return a name for a message: one line, nothing that steers a terminal."""
    readable = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in readable)
