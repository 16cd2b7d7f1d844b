"""Measure what a large trace costs, and print it beside the bars."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench import make_trace
from tests.bench.measure import Cost, middle, nsysflow, run, scan_seconds, size_of

KERNELS = 10_000_000
GB = 1e9


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    value: str
    bar: str


def main() -> None:
    """Make what is missing, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 = ten million kernels")
    parser.add_argument("--times", type=int, default=3, help="measurements behind each median")
    parser.add_argument("--skip-twice", action="store_true", help="leave the 20 M export out")
    parser.add_argument("--skip-jobs", action="store_true", help="leave the eight files out")
    options = parser.parse_args()
    kernels = int(KERNELS * options.scale)
    say(f"exports in {make_trace.folder()} (NSYSFLOW_BENCH_DIR)")
    lines = one_file(kernels, options.times, twice=not options.skip_twice)
    if not options.skip_jobs:
        lines += several_files(kernels // 10, options.times)
    lines.append(start_up(options.times))
    widths = [max(len(getattr(line, name)) for line in lines) for name in ("what", "value")]
    print(f"{'measured':{widths[0]}}  {'value':>{widths[1]}}  bar")  # noqa: T201
    for line in lines:
        print(f"{line.what:{widths[0]}}  {line.value:>{widths[1]}}  {line.bar}")  # noqa: T201


def say(text: str) -> None:
    """Tell on stderr what goes on."""
    sys.stderr.write(text + "\n")


def one_file(kernels: int, times: int, *, twice: bool) -> list[Line]:
    """The report of one large file: cold, again, and from the store."""
    path = make_trace.export(kernels)
    say(f"{path.name}: {path.stat().st_size / GB:.2f} GB")
    unit = middle(lambda: scan_seconds(path), times)
    reading = middle(
        lambda: run([sys.executable, "-m", "tests.bench.reading", str(path)]).seconds, times
    )
    cold, again, analyse = [], [], []
    with tempfile.TemporaryDirectory(dir=make_trace.folder()) as scratch:
        out = Path(scratch) / "out"
        for _ in range(times):
            shutil.rmtree(out, ignore_errors=True)
            cold.append(report(path, out))
            forget_documents(out)
            analyse.append(report(path, out))
            again.append(report(path, out))
            say(f"cold {cold[-1].seconds:.1f} s, again {again[-1].seconds:.1f} s")
        store = size_of(out / "store")
    lines = [
        Line("S: sqlite3 adds up the durations", f"{unit:.2f} s", ""),
        *seconds("report, cold", cold, unit, "<= 10, aim 6"),
        Line("  / reading the same columns", f"{middle_seconds(cold) / reading:.1f}", "<= 2.5"),
        *seconds("report again, from the store", again, unit, "<= 3"),
        *seconds("every lane analysed again", analyse, unit, ""),
        Line("resident, highest", f"{peak(cold) / GB:.2f} GB", "<= 2 GB"),
        Line("store / SQLite", f"{store / path.stat().st_size:.3f}", "<= 0.15"),
    ]
    return lines + one_lane(kernels) + (double(kernels, peak(cold)) if twice else [])


def one_lane(kernels: int) -> list[Line]:
    """Memory where one lane holds all of it: columns of so many ops are in memory at once."""
    path = make_trace.export(kernels, processes=1, first_pid=3001)
    with tempfile.TemporaryDirectory(dir=make_trace.folder()) as scratch:
        cost = report(path, Path(scratch) / "out")
    return [
        Line("the same kernels in one lane", f"{cost.seconds:.1f} s", ""),
        Line("  resident", f"{cost.resident_bytes / GB:.2f} GB", "<= 2 GB"),
    ]


def double(kernels: int, before: int) -> list[Line]:
    """Memory at twice the size, which must not follow it."""
    path = make_trace.export(2 * kernels)
    with tempfile.TemporaryDirectory(dir=make_trace.folder()) as scratch:
        cost = report(path, Path(scratch) / "out")
    return [
        Line("resident at twice the kernels", f"{cost.resident_bytes / GB:.2f} GB", ""),
        Line("the same / at once", f"{cost.resident_bytes / before:.2f}", "<= 1.15"),
    ]


def several_files(kernels: int, times: int) -> list[Line]:
    """Eight ranks in eight files: two processes against one, one thread each."""
    files = [make_trace.export(kernels, processes=1, first_pid=2001 + n) for n in range(8)]
    one, two = [], []
    with tempfile.TemporaryDirectory(dir=make_trace.folder()) as scratch:
        for number in range(times):
            one.append(report(files, Path(scratch) / f"one{number}", jobs=1, cores=1).seconds)
            two.append(report(files, Path(scratch) / f"two{number}", jobs=2, cores=2).seconds)
            shutil.rmtree(Path(scratch) / f"one{number}")
            shutil.rmtree(Path(scratch) / f"two{number}")
    ratio = median(one) / median(two)
    return [
        Line("eight files, --jobs 1", f"{median(one):.1f} s", ""),
        Line("eight files, --jobs 2", f"{median(two):.1f} s", ""),
        Line("the gain of the second process", f"{ratio:.2f}", ">= 1.7"),
    ]


def start_up(times: int) -> Line:
    """How much slower than a bare Python the help is."""
    bare = middle(lambda: run([sys.executable, "-c", "pass"]).seconds, 5 * times)
    asked = middle(lambda: nsysflow("--help").seconds, 5 * times)
    return Line("--help / bare python", f"{asked / bare:.1f}", "<= 4")


def report(
    run_of: Path | list[Path], out: Path, jobs: int | None = None, cores: int | None = None
) -> Cost:
    """Report some files into a folder, as a user would unless told otherwise."""
    files = run_of if isinstance(run_of, list) else [run_of]
    options = [] if jobs is None else ["--jobs", jobs]
    return nsysflow("report", *files, "-o", out, *options, "--quiet", cores=cores)


def forget_documents(out: Path) -> None:
    """Leave only the canonical tables, as if the analyses had changed."""
    for path in out.glob("*.json"):
        path.unlink()
    for folder in (out / "store").glob("*/lane-*"):
        shutil.rmtree(folder)


def seconds(what: str, costs: list[Cost], unit: float, bar: str) -> list[Line]:
    """A time, and the same in units of S."""
    value = middle_seconds(costs)
    return [Line(what, f"{value:.1f} s", ""), Line("  / S", f"{value / unit:.1f}", bar)]


def middle_seconds(costs: list[Cost]) -> float:
    """The middle one of the times."""
    return median(cost.seconds for cost in costs)


def peak(costs: list[Cost]) -> int:
    """The middle one of the highest resident sizes."""
    return int(median(cost.resident_bytes for cost in costs))


if __name__ == "__main__":
    main()
