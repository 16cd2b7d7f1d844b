"""Find and read nsysflow.toml, lay the command line over it, give Settings."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from nsysflow.config import checks, rank_map
from nsysflow.config.model import gpu_table, job_table, model_table
from nsysflow.errors import UsageError
from nsysflow.model import CLASSES
from nsysflow.settings import Settings

FILE_NAME = "nsysflow.toml"

_KERNEL_KINDS = (*CLASSES, "comm")
_CAUSES = ("checkpoint", "eval", "logging", "loader")
_MOST_STEPS = 1_000
# How the run is worked on; what of it is left out of Settings cannot change a result.
_WORK = ("jobs", "memory_limit", "scheduler", "scheduler_file", "nsys")

# The tables that a model file may hold.
_OF_THE_MODEL = frozenset({"model", "gpu", "job"})
# A line of each table, for whoever wrote a value where the table belongs.
_LINES = {
    "model": "params = 7e9",
    "gpu": "peak_tflops = 989",
    "job": "tp = 8 (the number of processes is jobs)",
    "kernels": 'gemm = "my_gemm"',
    "patterns": 'checkpoint = "my_save"',
    "ranks": 'regex = "rank([0-9]+)"',
    "steps": 'range = "my_step"',
}

Values = dict[str, Any]
Reader = Callable[[Any, str, Path], Values]


def load_settings(root: Path, given: Mapping[str, Any]) -> tuple[Settings, Values]:
    """Return the settings, and the rest: jobs, memory_limit (bytes), scheduler(_file), nsys.

    ``root`` is the folder that may hold nsysflow.toml; ``given`` are the options of the command
    line under their names there, which go before the file. ``config`` names another file.
    Raises UsageError for anything that is not understood.
    """
    given = {name: value for name, value in given.items() if value is not None}
    named = given.pop("config", None)
    asked = _command_line(given)
    values = _file(root, named, replaced=_OF_THE_MODEL & asked.keys())
    if "scheduler" in asked or "scheduler_file" in asked:
        values = {key: value for key, value in values.items() if not key.startswith("scheduler")}
    values |= asked
    _check_together(values)
    rest = {key: values.pop(key) for key in _WORK if key in values}
    return Settings(**values), rest


def _file(root: Path, named: Path | None, replaced: Collection[str]) -> Values:
    """Return what the file says, but for the tables that a model file replaces."""
    path = root / FILE_NAME if named is None else Path(named)
    if named is None and not path.exists():
        return {}
    document = _toml(path)
    checks.known_keys(document, _READERS, path.name)
    values: Values = {}
    read = {key: value for key, value in document.items() if key not in replaced}
    for key, value in read.items():
        where = _place(path, key, value)
        found = _READERS[key](value, where, path.absolute().parent)
        twice = sorted(values.keys() & found.keys())
        if twice:
            raise UsageError(f"{where}: {twice[0]} is set twice in this file")
        values |= found
    return values


def _place(path: Path, key: str, value: object) -> str:
    return f"{path.name}: [{key}]" if isinstance(value, dict) else f"{path.name}: {key}"


def _toml(path: Path) -> Values:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} cannot be read: it is no UTF-8") from error
    except ValueError as error:
        raise UsageError(f"{path} is no TOML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is no TOML of ours: nested too deeply") from error


def _command_line(given: Mapping[str, Any]) -> Values:
    here = Path()
    values: Values = {}
    for name, value in given.items():
        if name not in _OPTIONS:
            raise UsageError(f"there is no option {name!r}")  # a fault of the caller, not the user
        option = "--" + _SPELLED.get(name, name).replace("_", "-")
        values |= _OPTIONS[name](value, option, here)
    return values


def _model_file(value: Any, _where: str, _folder: Path) -> Values:  # noqa: ANN401 - unchecked
    path = Path(value)
    document = _toml(path)
    if "model" not in document:
        return {"model": model_table(document, path.name)}
    checks.known_keys(document, _OF_THE_MODEL, path.name)
    values: Values = {}
    for key, part in document.items():
        values |= _READERS[key](part, _place(path, key, part), path.parent)
    return values


def _check_together(values: Values) -> None:
    start, end = values.get("window_from_s"), values.get("window_to_s")
    if start is not None and end is not None and start >= end:
        raise UsageError(f"the window from {start:g} s to {end:g} s is empty")
    if "scheduler" in values and "scheduler_file" in values:
        raise UsageError("scheduler and scheduler_file are both set", hint="name one")


def _plain(name: str, check: Callable[[Any, str], Any]) -> Reader:
    return lambda value, where, _folder: {name: check(value, where)}


def _existing(name: str) -> Reader:
    return lambda value, where, folder: {name: checks.path(str(value), where, folder)}


def _no_redact(value: Any, where: str, _folder: Path) -> Values:  # noqa: ANN401 - unchecked
    return {"redact": not checks.truth(value, where)}


def _rank_map(value: Any, where: str, folder: Path) -> Values:  # noqa: ANN401 - unchecked
    if isinstance(value, dict):
        return {"rank_map": rank_map.from_table(value, where)}
    text = str(value) if isinstance(value, Path) else value
    return {"rank_map": rank_map.read(checks.path(text, where, folder))}


def _timeline_steps(value: Any, where: str, _folder: Path) -> Values:  # noqa: ANN401 - unchecked
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise UsageError(f"{where} is {value!r}, not a list of step numbers such as 3,5-8")
    steps: set[int] = set()
    for item in items:
        steps |= _step_numbers(str(item).strip(), where)
    if len(steps) > _MOST_STEPS:
        raise UsageError(f"{where} names {len(steps)} steps; at most {_MOST_STEPS} can be shown")
    return {"timeline_steps": tuple(sorted(steps))}


def _step_numbers(item: str, where: str) -> set[int]:
    first, dash, last = item.partition("-")
    ends = [part.strip() for part in ((first, last) if dash else (first, first))]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in ends):  # noqa: PLR2004
        raise UsageError(f"{where}: {item!r} is no step number and no range such as 5-8")
    start, end = int(ends[0]), int(ends[1])
    if end < start:
        raise UsageError(f"{where}: {item!r} ends before it starts; write {end}-{start}")
    if end - start > _MOST_STEPS:
        raise UsageError(f"{where}: {item!r} are too many steps; at most {_MOST_STEPS}")
    return set(range(start, end + 1))


def _kernels(value: Any, where: str, _folder: Path) -> Values:  # noqa: ANN401 - unchecked
    rules = _table("kernels", value, where)
    checks.known_keys(rules, _KERNEL_KINDS, where)
    return {
        "kernel_rules": tuple(
            (pattern, kind)
            for kind, patterns in rules.items()
            for pattern in checks.patterns(patterns, f"{where} {kind}")
        )
    }


def _patterns(value: Any, where: str, _folder: Path) -> Values:  # noqa: ANN401 - unchecked
    causes = _table("patterns", value, where)
    checks.known_keys(causes, _CAUSES, where)
    return {
        "cause_patterns": tuple(
            (cause, pattern)
            for cause, patterns in causes.items()
            for pattern in checks.patterns(patterns, f"{where} {cause}")
        )
    }


def _group(name: str, readers: Mapping[str, Reader]) -> Reader:
    """Return the reader of a table whose keys are options."""

    def read(value: Any, where: str, folder: Path) -> Values:  # noqa: ANN401 - unchecked
        found: Values = {}
        entries = _table(name, value, where)
        checks.known_keys(entries, readers, where)
        for key, entry in entries.items():
            found |= readers[key](entry, f"{where} {key}", folder)
        return found

    return read


def _table_of(name: str, check: Callable[[Mapping[str, Any], str], Values]) -> Reader:
    return lambda value, where, _folder: {name: check(_table(name, value, where), where)}


def _table(name: str, value: Any, where: str) -> Values:  # noqa: ANN401 - unchecked
    return checks.table(value, where, f"write [{name}] and below it lines such as {_LINES[name]}")


_OPTIONS: dict[str, Reader] = {
    "jobs": _plain("jobs", lambda value, where: checks.whole(value, where, least=1)),
    "memory_limit": _plain("memory_limit", checks.size),
    "scheduler": _plain("scheduler", checks.text),
    "scheduler_file": _existing("scheduler_file"),
    "nsys": _plain("nsys", checks.text),
    "rank_map": _rank_map,
    "rank_regex": _plain("rank_regex", checks.capturing),
    "step_range": _plain("step_range", checks.pattern),
    "window_from_s": _plain("window_from_s", checks.seconds),
    "window_to_s": _plain("window_to_s", checks.seconds),
    "timeline_steps": _timeline_steps,
    "no_redact": _no_redact,
    "model": _model_file,
}
_SPELLED = {"window_from_s": "from", "window_to_s": "to"}
_READERS: dict[str, Reader] = {
    **{
        spelled: reader
        for name, reader in _OPTIONS.items()
        for spelled in {_SPELLED.get(name, name), _SPELLED.get(name, name).replace("_", "-")}
    },
    "redact": _plain("redact", checks.truth),
    "model": _table_of("model", model_table),
    "gpu": _table_of("gpu", gpu_table),
    "job": _table_of("job", job_table),
    "kernels": _kernels,
    "patterns": _patterns,
    "ranks": _group("ranks", {"map": _rank_map, "regex": _OPTIONS["rank_regex"]}),
    "steps": _group(
        "steps",
        {
            "range": _OPTIONS["step_range"],
            "from": _OPTIONS["window_from_s"],
            "to": _OPTIONS["window_to_s"],
        },
    ),
}
