"""What a worker process does: one input, one lane or one page. Everything here must pickle."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from nsysflow import analyse, convert, outdir, rank, render
from nsysflow.errors import UsageError
from nsysflow.find import Input
from nsysflow.mask import Masker, masked
from nsysflow.model import SCHEMA
from nsysflow.resources import walk
from nsysflow.settings import Limits, Settings

KEYS = "keys"
_RANK_FILE = re.compile(r"rank-[^/\\\0]+\.(?:json|html)")
# Of an error about a value, which may be as long as the value.
_MOST_TOLD = 200
ACROSS = ("alignment", "collectives", "stragglers", "walk", "pipeline", "findings")


def convert_input(
    found: Input, target: Path, settings: Settings, limits: Limits, nsys: str | None
) -> str:
    """Convert one input unless the store has it already; return ``made`` or ``kept``."""
    if is_converted(found, target, settings):
        return "kept"
    convert.convert_trace(found, target, settings, limits, nsys)
    return "made"


def is_converted(found: Input, target: Path, settings: Settings) -> bool:
    """Return whether the store has an input as it is now."""
    key = capture(target).get("key")
    # Small inputs are read whole for their key.
    return key is not None and bool(key == convert.store_key(found, settings))


def capture(trace: Path) -> dict[str, Any]:
    """Return the ``capture.json`` of a trace in the store; empty if it is not whole."""
    content = _json(trace / "capture.json")
    return content if isinstance(content, dict) else {}


def drop_other_traces(store: Path, known: set[str]) -> None:
    """Remove the traces of inputs that are no longer part of the run."""
    for folder in store.iterdir():
        if (folder / "capture.json").is_file() and folder.name not in known:
            shutil.rmtree(folder)


def analyse_lane(
    store: Path, lane: rank.Lane, hosts: dict[str, str], settings: Settings, limits: Limits
) -> str:
    """Write the lane's own document into the store unless it is there; return ``made`` or ``kept``.

    The job adds what lies across ranks and writes ``rank-<label>.json`` from it.
    """
    if is_analysed(store, lane, hosts, settings):
        return "kept"
    target, note = lane_document(store, lane), _note(store, lane)
    # What an interrupt leaves is not taken for whole, whatever the settings then.
    note.unlink(missing_ok=True)
    masker = Masker(hosts)
    document = masked(analyse.analyse_lane(store, lane, settings, limits), masker)
    # A label is a file name too: it was made fit to be shown when it was made.
    document["lane"]["label"] = lane.label
    document["masked"] = masker.count
    outdir.write_text(target, outdir.json_text(document))
    if not _failed(document):
        note.parent.mkdir(exist_ok=True)
        outdir.write_text(note, outdir.json_text(_noted(store, lane, hosts, settings)))
    return "made"


def is_analysed(store: Path, lane: rank.Lane, hosts: dict[str, str], settings: Settings) -> bool:
    """Return whether the store has a whole document of the lane, made of what it holds now."""
    note = _json(_note(store, lane))
    return note is not None and bool(note == _noted(store, lane, hosts, settings))


def _note(store: Path, lane: rank.Lane) -> Path:
    return store / KEYS / f"rank-{lane.label}.json"


def _noted(
    store: Path, lane: rank.Lane, hosts: dict[str, str], settings: Settings
) -> dict[str, Any]:
    key = _lane_key(store, lane, hosts, settings)
    return {"key": key, "document": _digest(lane_document(store, lane))}


def _failed(document: dict[str, Any]) -> bool:
    """Whether a question failed, perhaps for want of memory: it is asked again next time."""
    parts = [part for part in document.values() if isinstance(part, dict)]
    return any(part.get("status") == "error" for part in parts)


def lane_document(store: Path, lane: rank.Lane) -> Path:
    """Return where a lane's own document lies."""
    return analyse.lane_folder(store, lane) / "document.json"


def masked_result(result: dict[str, Any], hosts: dict[str, str]) -> dict[str, Any]:
    """Return ``result.json`` fit to be shown; labels, pages and file names of ours stay."""
    masker = Masker(hosts)
    shown = masked(result, masker)
    for row, original in zip(shown["ranks"], result["ranks"], strict=True):
        row |= {name: original[name] for name in ("label", "page", "result")}
    if not result["run"]["several_jobs"]:
        # Made of labels and of texts that were masked with their lane.
        shown |= {name: result[name] for name in ACROSS}
    shown["masked"] = masker.count
    return shown


def load(path: Path) -> dict[str, Any]:
    """Return a document that an earlier part wrote.

    Raises:
        UsageError: it is not there or no longer what was written.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise _unfit(path, "is missing") from error
    except OSError as error:
        hint = "look at its permissions and its type"
        raise _unfit(path, f"cannot be read: {error.strerror}", hint) from error
    except (ValueError, RecursionError) as error:
        raise _unfit(path, "is damaged: it is no whole JSON document") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise _unfit(path, f"is no document of schema {SCHEMA}")
    return document


def _unfit(path: Path, why: str, hint: str = "run nsysflow analyse again") -> UsageError:
    return UsageError(f"{path} {why}", hint=hint)


def stored(store: Path, lane: rank.Lane) -> analyse.Stored:
    """Return a lane's own document.

    Raises:
        UsageError: it is not there or no longer what was written.
    """
    path = lane_document(store, lane)
    try:
        return analyse.Stored(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} is no document of nsysflow", hint="run nsysflow analyse again"
        ) from error


def render_page(document: Path, page: Path, job: dict[str, Any]) -> None:
    """Write the page of one rank document; ``job`` is ``render.role.brief`` of its result.

    Raises:
        UsageError: the document is not there or no longer what was written.
    """
    loaded = load(document)
    with drawing(document):
        # What the index will take of it must be there as well.
        for_index(loaded)
        text = render.render_rank(loaded, job)
    outdir.write_text(page, text)


def for_index(document: dict[str, Any]) -> dict[str, Any]:
    """Keep of a rank document what the job's page takes; a thousand whole ones are gigabytes."""
    steps = {name: document["steps"].get(name) for name in ("status", "source", "chosen")}
    # One tells whether the traces number them.
    steps["items"] = (document["steps"].get("items") or [])[:1]
    lane = {"label": document["lane"]["label"]}
    failed = {name: {"status": "error"} for name in render.failed(document)}
    return {"lane": lane, "capture": document["capture"], "steps": steps} | failed


def page_names(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the names of each rank's document and page.

    Raises:
        ValueError: they are not names of files that lie beside the result document.
    """
    names = [(row["result"], row["page"]) for row in result["ranks"]]
    if all(_RANK_FILE.fullmatch(name) for pair in names for name in pair):
        return names
    raise ValueError("a rank whose files are not named as those of a rank")


@contextlib.contextmanager
def drawing(path: Path) -> Iterator[None]:
    """Blame the document at ``path`` where a page of it cannot be made.

    Raises:
        UsageError: it cannot; the cause, which ``--debug`` shows, tells damage from a fault.
    """
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())[:_MOST_TOLD]
        raise _unfit(path, f"is damaged, no page can be made of it ({told})") from error


def _lane_key(store: Path, lane: rank.Lane, hosts: dict[str, str], settings: Settings) -> str:
    trace = capture(store / lane.trace).get("key")
    parts = [_program(), trace, asdict(lane), hosts, asdict(settings)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@cache
def _program() -> str:
    """Return a digest of the code and the SQL that compute a document."""
    digest = hashlib.sha256()
    for name, content in sorted(_sources()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, bytes]]:
    package = Path(__file__).parent
    for path in package.rglob("*.py"):
        yield path.relative_to(package).as_posix(), path.read_bytes()
    yield from walk("sql")


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _json(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
