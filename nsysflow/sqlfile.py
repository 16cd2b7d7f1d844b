"""Read the ``.sql`` files: their documented header and their text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from nsysflow.resources import data

_FIELD = re.compile(r"^-- (Question|Grain|Needs|Params|Columns):\s*(.*)$")
_ITEM = re.compile(r"^--   \$?(\w+)\s+([A-Z][\w(), \[\]]*?)(?:\s{2,}(.*))?$")
_PARAM = re.compile(r"\$([a-z]\w*)")


@dataclass(frozen=True)
class SqlFile:
    """One statement and what its header says of it.

    ``params`` and ``columns`` are (name, type, meaning) in the order of the header.
    """

    folder: str
    stem: str
    title: str
    question: str
    grain: str
    needs: tuple[str, ...]
    params: tuple[tuple[str, str, str], ...]
    columns: tuple[tuple[str, str, str], ...]
    text: str

    @property
    def param_names(self) -> frozenset[str]:
        """The ``$names`` that the statement really uses."""
        code = "\n".join(line for line in self.text.splitlines() if not line.startswith("--"))
        return frozenset(_PARAM.findall(code))


@cache
def load(folder: str, stem: str) -> SqlFile:
    """Return ``sql/<folder>/<stem>.sql``."""
    return parse(folder, stem, data("sql", folder, f"{stem}.sql").read_text(encoding="utf-8"))


def parse(folder: str, stem: str, text: str) -> SqlFile:
    """Split ``text`` into header and statement. A missing field is an empty one."""
    fields: dict[str, str] = {}
    items: dict[str, list[tuple[str, str, str]]] = {"Params": [], "Columns": []}
    title, current = "", ""
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if not title:
            title = line.removeprefix("--").strip()
        elif found := _FIELD.match(line):
            current = found[1]
            fields[current] = found[2].strip()
        elif current in items and (item := _ITEM.match(line)):
            items[current].append((item[1], item[2].strip(), (item[3] or "").strip()))
        elif current in fields and current not in items and line.startswith("--   "):
            fields[current] += " " + line.removeprefix("--").strip()
    needs = tuple(name for name in re.split(r"[,\s]+", fields.get("Needs", "")) if name)
    return SqlFile(
        folder,
        stem,
        title,
        fields.get("Question", ""),
        fields.get("Grain", ""),
        needs,
        tuple(items["Params"]),
        tuple(items["Columns"]),
        text,
    )
