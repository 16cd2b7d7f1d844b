"""``sql/README.md``: what each statement answers, from its own header."""

from __future__ import annotations

from pathlib import Path

from nsysflow import sqlfile
from nsysflow.sqlfile import SqlFile

ROOT = Path(__file__).parent.parent.parent
FOLDERS = {
    "convert": "From the tables of an export to those of the store.",
    "stages": "Facts of one lane, each from the store or from earlier stages.",
    "analyses": "What the reports show; judged in `nsysflow/analyses/`.",
    "job": "What is said across lanes.",
}


def files() -> list[SqlFile]:
    """Every statement with a header; macros are definitions and have none."""
    found = sorted((ROOT / "sql").glob("*/*.sql"))
    return [
        sqlfile.load(path.parent.name, path.stem) for path in found if path.parent.name != "macros"
    ]


def readme() -> str:
    """The text of ``sql/README.md``."""
    lines = ["# SQL", "", "Written from the headers of the files: `pytest --update-golden`.", ""]
    every = files()
    for folder in sorted({each.folder for each in every}):
        lines += [f"## {folder}", "", FOLDERS.get(folder, ""), "", "| file | question | a row is |"]
        lines += ["| --- | --- | --- |"]
        lines += [
            f"| {each.stem} | {_cell(each.question or _about(each))} | {_cell(each.grain)} |"
            for each in every
            if each.folder == folder
        ]
        lines.append("")
    return "\n".join(lines)


def _about(each: SqlFile) -> str:
    return each.title.removeprefix(f"{each.stem}:").strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
