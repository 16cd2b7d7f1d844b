"""Which files are the same capture: a report, its own export, and that export's other forms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nsysflow.find.content import reports_named
from nsysflow.find.names import STREAM_SUFFIX, Form, Kind
from nsysflow.natural import natural_key

# Plain before packed, and what opens fastest before what has to be unpacked first.
_PREFERENCE: tuple[tuple[Form, str | None], ...] = (
    ("sqlite", None),
    ("parquetdir", None),
    ("sqlite", "zst"),
    ("parquetdir", "zst"),
    ("sqlite", "gz"),
    ("parquetdir", "gz"),
    ("nsys-rep", None),
    ("nsys-rep", "zst"),
    ("nsys-rep", "gz"),
)


@dataclass(frozen=True)
class Trace:
    """A file that holds a trace, under the name it is shown by."""

    path: Path
    file: str
    kind: Kind

    @property
    def group(self) -> tuple[str, str]:
        """Folder and stem: what a report and its own export share."""
        return str(self.path.parent), self.kind.stem

    @property
    def preference(self) -> tuple[object, ...]:
        """Sort key: the form to read first."""
        return _PREFERENCE.index((self.kind.form, self.kind.packed)), natural_key(self.file)


@dataclass(frozen=True)
class Choice:
    """The file to read of one capture, and the others it stands for. ``stale``: older exports."""

    trace: Trace
    twins: tuple[str, ...]
    stale: tuple[str, ...]
    covered: tuple[str, ...]


def choose(traces: Sequence[Trace]) -> list[Choice]:
    """Return one choice per capture, in natural order of the file names."""
    groups: dict[tuple[str, str], list[Trace]] = {}
    for trace in traces:
        groups.setdefault(trace.group, []).append(trace)
    _join_by_origin(groups)
    choices = [_choice(group) for group in groups.values()]
    return sorted(choices, key=lambda choice: natural_key(choice.trace.file))


def has_report(stream: Path, traces: Sequence[Trace]) -> bool:
    """Return whether a raw capture was imported after all: something of its stem lies beside it."""
    stem = stream.name[: -len(STREAM_SUFFIX)]
    return any(trace.group == (str(stream.parent), stem) for trace in traces)


def _join_by_origin(groups: dict[tuple[str, str], list[Trace]]) -> None:
    """Put exports that name their report into its group, where the stems do not tell."""
    lone_reports = {
        key: group
        for key, group in groups.items()
        if all(trace.kind.form == "nsys-rep" for trace in group)
    }
    lone_exports = [
        key
        for key, group in groups.items()
        if all(trace.kind.form != "nsys-rep" for trace in group)
    ]
    # Only now is a file opened: most runs need no look inside.
    for key in lone_exports if lone_reports else []:
        owner = _owner(groups[key], lone_reports)
        if owner is not None:
            groups[owner].extend(groups.pop(key))


def _owner(
    exports: list[Trace], reports: dict[tuple[str, str], list[Trace]]
) -> tuple[str, str] | None:
    named = [name for trace in exports for name in reports_named(trace.path, trace.kind)]
    for key, group in reports.items():
        if any(_is_named(report, named, exports[0]) for report in group):
            return key
    return None


def _is_named(report: Trace, named: list[str], export: Trace) -> bool:
    for name in named:
        parts = name.replace("\\", "/").split("/")
        if parts[-1] != report.path.name:
            continue
        if report.path.parent == export.path.parent:
            return True
        # Elsewhere a bare name proves nothing: every node may have its report1.nsys-rep.
        if len(parts) > 1 and parts[-2] and parts[-2] == report.path.parent.name:
            return parts[0] != "" or _same_tail(parts, report.path)
    return False


def _same_tail(parts: list[str], path: Path) -> bool:
    """Return whether an absolute path still names this file, perhaps after the run was moved."""
    ours = path.absolute().parts
    return "/".join(parts) == str(path.absolute()) or parts[-3:] == list(ours[-3:])


def _choice(group: list[Trace]) -> Choice:
    ordered = sorted(group, key=lambda trace: trace.preference)
    reports = [trace for trace in ordered if trace.kind.form == "nsys-rep"]
    exports = [trace for trace in ordered if trace.kind.form != "nsys-rep"]
    written = max((_written_ns(trace) for trace in reports), default=None)
    fresh = [trace for trace in exports if written is None or _written_ns(trace) >= written]
    chosen = (fresh or reports or exports)[0]
    others = sorted((trace.file for trace in group if trace is not chosen), key=natural_key)
    stale = () if fresh else tuple(sorted((trace.file for trace in exports), key=natural_key))
    covered = tuple(trace.file for trace in reports) if fresh else ()
    return Choice(chosen, tuple(others), stale, covered)


def _written_ns(trace: Trace) -> int:
    path = trace.path
    if trace.kind.form == "parquetdir" and trace.kind.packed is None:
        # A folder's own time changes when anything is put into it.
        table = path / "META_DATA_EXPORT.parquet"
        path = table if table.exists() else path
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - as written, links followed
    except OSError:
        return 0
