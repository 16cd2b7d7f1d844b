"""What ``convert`` leaves for ``analyse``: each input and what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nsysflow.errors import InputError, NsysflowError, UsageError
from nsysflow.natural import natural_key
from nsysflow.outdir import json_text, write_text
from nsysflow.settings import Settings


@dataclass(frozen=True)
class InputState:
    """One input. ``status``: ok, failed or no_gpu_work; ``trace``: its folder in the store."""

    file: str
    status: str
    stage: str | None = None
    message: str | None = None
    hint: str | None = None
    trace: str | None = None

    def line(self) -> str:
        """Return the one line that a person reads about it."""
        text = self.message or self.status
        named = text if self.file in text else f"{self.file}: {text}"
        return f"{named}; {self.hint}" if self.hint else named

    def broken(self, error: NsysflowError, stage: str) -> InputState:
        """Return the state after ``error``, which says its stage if it knows better."""
        known = error if isinstance(error, InputError) else None
        status = "no_gpu_work" if known is not None and known.no_gpu_work else "failed"
        return replace(
            self,
            status=status,
            stage=known.stage if known is not None else stage,
            message=error.message,
            hint=error.hint,
        )

    def document(self) -> dict[str, Any]:
        """Return the item of ``result.json``'s run.inputs."""
        item = asdict(self)
        del item["trace"]
        return item


@dataclass(frozen=True)
class Record:
    """A run as it was found. ``settings`` are those the conversion was made with."""

    name: str
    notes: tuple[str, ...]
    states: tuple[InputState, ...]
    settings: Settings


def write(store: Path, record: Record, shard: tuple[int, int]) -> None:
    """Write the record of one shard, and drop those of another division."""
    document = {
        "name": record.name,
        "notes": list(record.notes),
        "settings": asdict(record.settings),
        "states": [asdict(state) for state in record.states],
    }
    write_text(store / _name(*shard), json_text(document))
    kept = {_name(number, shard[1]) for number in range(1, shard[1] + 1)}
    for path in store.glob("inputs-*-of-*.json"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def read(store: Path) -> Record:
    """Unite the records of all shards; an input whose shard never ran is a failed one.

    Raises:
        UsageError: there is none.
    """
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in _paths(store)]
    if not documents:
        raise UsageError(
            f"{store.parent} holds no converted run", hint="run nsysflow convert first"
        )
    states: dict[str, InputState] = {}
    for document in documents:
        for item in document["states"]:
            state = InputState(**item)
            if state.status != "waiting" or state.file not in states:
                states[state.file] = state
    first = documents[0]
    united = tuple(_settled(states[file]) for file in sorted(states, key=natural_key))
    return Record(first["name"], tuple(first["notes"]), united, _settings(first["settings"]))


def _settings(stored: dict[str, Any]) -> Settings:
    """Return settings as they were before JSON made lists of their tuples."""
    values = {name: _tuples(value) for name, value in stored.items()}
    return Settings(**values)


def _tuples(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _settled(state: InputState) -> InputState:
    if state.status != "waiting":
        return state
    return replace(
        state,
        status="failed",
        stage="convert",
        message="its shard was not converted",
        hint="run that convert --shard again",
        trace=None,
    )


def _paths(store: Path) -> Sequence[Path]:
    return sorted(store.glob("inputs-*-of-*.json"))


def _name(number: int, parts: int) -> str:
    return f"inputs-{number}-of-{parts}.json"
