"""One input -> its canonical store: every table of the vocabulary, and ``capture.json``."""

from __future__ import annotations

import contextlib
import errno
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from nsysflow.convert import events, evidence, facts, metrics, nccl
from nsysflow.convert.doubts import doubts, unrecognised
from nsysflow.convert.identity import store_key
from nsysflow.convert.requests import DEVICE_TABLES, EVENT_TABLES, NVTX, RUNTIME, SMALL, TABLES
from nsysflow.convert.work import Work, engine, scratch_folder
from nsysflow.errors import InputError
from nsysflow.read import RawTrace, open_raw
from nsysflow.scratch import clean, owned
from nsysflow.settings import Limits, Settings

if TYPE_CHECKING:
    from nsysflow.find import Input

_MOST_NAMES = 12


def convert_trace(
    found: Input, target: Path, settings: Settings, limits: Limits, nsys: str | None = None
) -> dict[str, Any]:
    """Convert one input into the folder ``target``, which appears whole or not at all.

    Returns the content of ``capture.json``.

    Raises:
        InputError: the input cannot be read, or holds no GPU work.
    """
    key = store_key(found, settings)
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        _said_simply(found.file),
        scratch_folder(limits, target.parent) as scratch,
        _appearing(target) as store,
        open_raw(found, scratch, nsys, limits.threads) as raw,
        engine(limits, scratch) as connection,
    ):
        _check_content(raw)
        content = _fill(Work(raw, connection, scratch, store), found.file, key, settings)
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        (store / "capture.json").write_text(text + "\n", encoding="utf-8")
    return content


def _fill(work: Work, file: str, key: str, settings: Settings) -> dict[str, Any]:
    export = facts.export_facts(work)
    duration = facts.duration_ns(work)
    work.limit_ns = None if duration is None else events.limit_ns(duration)
    events.strings(work)
    env = evidence.environment(work)
    events.keep_strings(work)
    events.host(work)
    if work.limit_ns is None:
        work.limit_ns = events.host_limit_ns(work)
    events.device(work, settings)
    if not work.rows["op"]:
        raise _no_gpu_work(
            work.raw, f", {work.count('_op', 'true')} device rows without usable times"
        )
    told = doubts(work)
    nccl.nccl_calls(work)
    metrics.gpu_metrics(work)
    for stem, views in SMALL.items():
        work.save(stem, views)
    work.save_table("string")
    for stem in ("diagnostic", "sched"):
        work.see_stored(stem, stem)
    content = facts.capture(work, file, key, export)
    for kind, number in work.raw.strays.copy().items():
        content["dropped"][kind] += number
    name = facts.input_name(export)
    content["nic_links"] = metrics.nic_links(work)
    content["rank_evidence"] = evidence.rank_evidence(work, env, name)
    content["doubts"] = told + unrecognised(work, content["rank_evidence"]["world_size"])
    return content


def _check_content(raw: RawTrace) -> None:
    """Check that there is something to convert."""
    if not any(raw.has(table) for table in (*TABLES, "EXPORT_META_DATA")):
        raise InputError(
            f"{raw.file}: is no nsys export{_seen(raw)}",
            stage="convert",
            hint="give the file that `nsys export` wrote",
        )
    for table in DEVICE_TABLES:
        for column in ("start", "end"):
            if raw.has(table) and not raw.has(table, column):
                raise InputError(
                    f"{raw.file}: {table} has no column {column}",
                    stage="convert",
                    hint="export the report again",
                )
    if any(raw.filled(table) for table in DEVICE_TABLES):
        return
    unknown = [name for name in raw.tables() if _kernel_like(name)]
    if unknown:
        raise InputError(
            f"{raw.file}: its kernels are in a table that is not known here{_seen(raw)}",
            stage="convert",
            hint="export it with nsys 2021 or newer, or report these table names",
        )
    if not any(raw.has(table) for table in EVENT_TABLES):
        raise InputError(
            f"{raw.file}: holds no event table{_seen(raw)}",
            stage="convert",
            hint="the capture failed: record it again",
        )
    raise _no_gpu_work(raw)


def _kernel_like(name: str) -> bool:
    upper = name.upper()
    return "KERNEL" in upper and upper not in TABLES and not upper.startswith("ENUM_")


def _seen(raw: RawTrace) -> str:
    names = [name for name in raw.tables() if not name.startswith("ENUM_")]
    names.sort(key=lambda name: (not _kernel_like(name), name))
    shown = ", ".join(name[:80] for name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f" (tables: {shown or 'none'}{more})"


def _no_gpu_work(raw: RawTrace, more: str = "") -> InputError:
    calls, ranges = raw.count(RUNTIME), raw.count(NVTX)
    return InputError(
        f"{raw.file}: no GPU work recorded (CUDA API calls: {calls}, NVTX ranges: {ranges}{more})",
        stage="convert",
        hint="record with `nsys profile --trace=cuda,nvtx,osrt` where the GPU can be traced",
        no_gpu_work=True,
    )


@contextlib.contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """Give a folder beside ``target`` that takes its name if all goes well."""
    clean(target.parent, target.name)
    store = target.with_name(owned(target.name))
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    try:
        yield store
        old = target.with_name(f"{store.name}-old")
        if target.exists():
            target.rename(old)
        store.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(store, ignore_errors=True)


@contextlib.contextmanager
def _said_simply(file: str) -> Iterator[None]:
    """Turn what disk and engine say into one line about this input."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise InputError(
            f"{file}: not enough memory or scratch space: {_line(error)}",
            stage="convert",
            hint="raise --memory-limit, lower --jobs, or set TMPDIR to a larger disk",
        ) from error
    except duckdb.IOException as error:
        raise InputError(
            f"{file}: cannot be converted: {_line(error)}",
            stage="convert",
            hint="check the disks of the output folder and of TMPDIR",
        ) from error
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise InputError(
            f"{file}: cannot be converted: {error.strerror or error}",
            stage="convert",
            hint="make room on the disk" if full else "check the output folder",
        ) from error


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
