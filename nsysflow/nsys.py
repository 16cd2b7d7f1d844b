"""The only module that starts a process: NVIDIA's ``nsys``, to export a report."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from nsysflow.errors import InputError, UsageError

INSTALLED = (
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-*/nsys",
    "/opt/nvidia/nsight-systems-cli/*/bin/nsys",
    "/opt/nvidia/nsight-systems-cli/*/target-linux-*/nsys",
    "/usr/local/cuda*/bin/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
)
_PROBE_S = 60.0
# nsys exports some 10 MB/s; ten times slower than that is taken for a hang.
_EXPORT_S, _EXPORT_BYTES_PER_S = 1800.0, 1e6
_MESSAGE_CHARS = 300
_TELLING = re.compile(
    r"(?i)error|fail|wrong|cannot|could not|unable|not supported|unsupported|newer|invalid|usage"
)


@dataclass(frozen=True)
class Ended:
    """How a process ended: ``code`` None when it was stopped for taking too long."""

    code: int | None
    text: str


def find(asked: str | None = None, installed: Sequence[str] | None = None) -> Path | None:
    """Return the nsys to use: as asked, NSYSFLOW_NSYS, on PATH, or the newest installed one.

    Raises:
        UsageError: the one that was asked for cannot be run.
    """
    for source, wanted in (("--nsys", asked), ("NSYSFLOW_NSYS", os.environ.get("NSYSFLOW_NSYS"))):
        if wanted:
            found = shutil.which(wanted)
            if found is None:
                raise UsageError(f"{source} {wanted} is no program that can be run")
            return Path(found)
    on_path = shutil.which("nsys")
    if on_path is not None:
        return Path(on_path)
    patterns = INSTALLED if installed is None else installed
    places = [path for pattern in patterns for path in Path("/").glob(pattern.lstrip("/"))]
    usable = [path for path in places if os.access(path, os.X_OK)]
    return max(usable, key=lambda path: (_numbers(str(path)), str(path)), default=None)


def version(nsys: Path) -> str | None:
    """Return what ``nsys --version`` says, as ``2024.6.2.225``; None if it says nothing such."""
    try:
        ended = _run([str(nsys), "--version"], _PROBE_S)
    except OSError:
        return None
    match = re.search(r"\b(\d{4}\.\d+(?:\.\d+)*)", ended.text)
    return match[1] if match else None


def elsewhere(report: Path) -> str:
    """Return the command to run where nsys is."""
    target, name = shlex.quote(f"{report.stem}.sqlite"), shlex.quote(report.name)
    return f"nsys export --type sqlite --include-json true --output {target} {name}"


def export(report: Path, out_dir: Path, nsys: str | None = None) -> Path:
    """Export ``report`` into ``out_dir``: a parquetdir where this nsys can, else SQLite.

    The export appears under its final name only once its META_DATA_EXPORT could be read.

    Raises:
        InputError: no nsys, or it failed, hung, or left nothing that can be read.
    """
    program = find(nsys)
    if program is None:
        raise InputError(
            f"no nsys here to export {report.name}",
            stage="export",
            hint=f"run `{elsewhere(report)}` where nsys is and add the result, or give --nsys PATH",
        )
    out_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".nsys-", dir=out_dir) as work:
        made = _export_to(report, Path(work), program)
        final = out_dir / f"{report.stem}{'_pqtdir' if made.is_dir() else '.sqlite'}"
        if final.is_dir():
            shutil.rmtree(final)
        made.rename(final)
    return final


def _export_to(report: Path, work: Path, program: Path) -> Path:
    kind = "parquetdir" if "parquetdir" in _help(program, "type") else "sqlite"
    # NCCL's payloads exist as JSON only; a nsys without the switch exports them always.
    payloads = ["--include-json", "true"] if "--include-json" in _help(program) else []
    target = work / ("export" if kind == "parquetdir" else "export.sqlite")
    command = [str(program), "export", "-t", kind, "-o", str(target), "-f", "true", *payloads]
    try:
        ended = _run([*command, str(report)], _export_seconds(report))
    except OSError as error:
        raise _failed(report, program, f"it cannot be run: {error.strerror}") from error
    if ended.code is None:
        raise _failed(report, program, f"no end after {_export_seconds(report):.0f} s: stopped")
    if ended.code != 0:
        raise _failed(report, program, f"exit {ended.code}: {one_line(ended.text)}")
    made = next((p for p in (target, work / f"{target.name}_pqtdir") if p.exists()), None)
    if made is None:
        raise _failed(report, program, f"exit 0, but nothing written: {one_line(ended.text)}")
    _verify(made, report, program)
    return made


def _failed(report: Path, program: Path, what: str, stage: str = "export") -> InputError:
    return InputError(
        f"nsys {version(program) or '(version unknown)'} could not export {report.name}: {what}",
        stage=stage,
        hint="export it with the nsys that recorded it or a newer one (--nsys PATH)",
    )


def _export_seconds(report: Path) -> float:
    asked = os.environ.get("NSYSFLOW_NSYS_TIMEOUT", "")
    if asked:
        try:
            return float(asked)
        except ValueError as error:
            raise UsageError(f"NSYSFLOW_NSYS_TIMEOUT={asked} is no number of seconds") from error
    return _EXPORT_S + report.stat().st_size / _EXPORT_BYTES_PER_S


def _help(program: Path, *topic: str) -> str:
    try:
        return _run([str(program), "export", "--help", *topic], _PROBE_S).text
    except OSError:
        return ""


def _verify(made: Path, report: Path, program: Path) -> None:
    try:
        names = _metadata_parquet(made) if made.is_dir() else _metadata_sqlite(made)
    except (OSError, pa.ArrowException, sqlite3.Error, KeyError) as error:
        what = f"its META_DATA_EXPORT cannot be read: {one_line(str(error))}"
        raise _failed(report, program, what, "verify") from error
    if not any("VERSION" in name for name in names):
        raise _failed(report, program, "its META_DATA_EXPORT names no version", "verify")


def _metadata_parquet(made: Path) -> list[str]:
    table = pq.read_table(made / "META_DATA_EXPORT.parquet", columns=["name"])
    return [str(name).upper() for name in table["name"].to_pylist()]


def _metadata_sqlite(made: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(f"{made.as_uri()}?mode=ro", uri=True)) as db:
        return [str(name).upper() for (name,) in db.execute("SELECT name FROM META_DATA_EXPORT")]


def one_line(text: str) -> str:
    """Return the telling part of what a program printed, as one short line."""
    # A progress bar redraws its line with carriage returns; only what it ends with counts.
    lines = [line.rsplit("\r", 1)[-1].strip() for line in text.replace("\r\n", "\n").split("\n")]
    spoken = list(dict.fromkeys(line for line in lines if line and "===" not in line))
    chosen = [line for line in spoken if _TELLING.search(line)] or spoken[-2:]
    joined = " ".join(" ".join(chosen).split())
    if not joined:
        return "it printed nothing"
    return joined if len(joined) <= _MESSAGE_CHARS else joined[: _MESSAGE_CHARS - 1] + "…"


def _run(command: list[str], seconds: float) -> Ended:
    """Run to the end or for ``seconds``; what it printed is kept off our own streams."""
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            # Its own group, so that helpers it started end with it.
            start_new_session=True,
        )
        code: int | None = None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                _kill(process)
        printed.seek(max(0, printed.seek(0, os.SEEK_END) - 65536))
        return Ended(code, printed.read().decode("utf-8", "replace"))


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
