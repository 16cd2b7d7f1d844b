"""Search a folder for traces: inside it only, each real place once, whatever the links say."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from nsysflow.find import names
from nsysflow.find.content import is_nsys_database

# macOS leaves such a companion beside every file it copies to a foreign disk.
_APPLE_DOUBLE = "._"


@dataclass(frozen=True)
class Entry:
    """A trace, or (``kind`` None) a raw capture that never became one."""

    path: Path
    kind: names.Kind | None


@dataclass
class Walk:
    """What one search met. ``problems``: (path, what is wrong), one line each."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[tuple[Path, str]] = field(default_factory=list)
    outside: list[Path] = field(default_factory=list)
    unread: list[Path] = field(default_factory=list)


def search(root: Path) -> Walk:
    """Search ``root`` for traces, folders in folders, opening none of them."""
    return _Search(root).run()


def member_names(folder: Path) -> list[str]:
    """Return the names in a folder; OSError if it cannot be read."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


class _Search:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.real_root = os.path.realpath(root)
        self.walk = Walk()
        self.seen: set[str] = set()
        self.links: list[Path] = []

    def run(self) -> Walk:
        self._descend(self.root)
        # Links last: what they lead to keeps the name it has without them.
        while self.links:
            self._follow(self.links.pop(0))
        return self.walk

    def _descend(self, top: Path) -> None:
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            real = os.path.realpath(folder)
            if real not in self.seen:
                self.seen.add(real)
                waiting.extend(self._read(folder))

    def _read(self, folder: Path) -> list[Path]:
        """Note the traces of one folder; return the folders in it still to be searched."""
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self.walk.problems.append((folder, f"cannot be read: {reason(error)}"))
            return []
        members = [entry.name for entry in entries]
        if names.MARKER in members:
            return []
        kind = names.folder_kind(folder.name, members)
        if kind is not None:
            self.walk.entries.append(Entry(folder, kind))
        return [Path(entry.path) for entry in entries if self._take(entry)]

    def _take(self, entry: os.DirEntry[str]) -> bool:
        """Note one entry; return whether it is a folder to search now."""
        path = Path(entry.path)
        try:
            if entry.is_dir():
                hidden = entry.name.startswith(".")
                if entry.is_symlink() and not hidden:
                    self.links.append(path)
                self._notice(path)
                return not hidden and not entry.is_symlink()
        except OSError as error:
            # A link in a circle matters only where a trace was to be expected.
            if not entry.is_symlink() or names.kind_of(entry.name):
                self.walk.problems.append((path, f"cannot be read: {reason(error)}"))
            return False
        self._file(path)
        return False

    def _file(self, path: Path) -> None:
        if path.name.startswith(_APPLE_DOUBLE):
            return
        kind = names.kind_of(path.name)
        if kind is None and not path.name.lower().endswith(names.STREAM_SUFFIX):
            self._notice(path)
            return
        try:
            mode = path.stat().st_mode
        except OSError as error:
            self.walk.problems.append((path, f"cannot be read: {reason(error)}"))
            return
        if not stat.S_ISREG(mode):
            # Opening a pipe would wait for ever.
            self.walk.problems.append((path, "is not a regular file"))
        elif kind is None or not kind.vague or is_nsys_database(path):
            self.walk.entries.append(Entry(path, kind))

    def _notice(self, path: Path) -> None:
        if path.name.lower().endswith(names.OTHER_EXPORTS):
            self.walk.unread.append(path)

    def _follow(self, link: Path) -> None:
        real = os.path.realpath(link)
        if real != self.real_root and not real.startswith(self.real_root.rstrip(os.sep) + os.sep):
            self.walk.outside.append(link)
        elif not self._in_our_output(real):
            self._descend(link)

    def _in_our_output(self, real: str) -> bool:
        folder = Path(real)
        while str(folder) != self.real_root:
            if (folder / names.MARKER).exists():
                return True
            folder = folder.parent
        return False


def reason(error: OSError) -> str:
    """Return what the system says, without the path it repeats."""
    return error.strerror or type(error).__name__
