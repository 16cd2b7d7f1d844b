"""The figures of NVIDIA's own tools, and HTA's, on real traces."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from statistics import median, stdev
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.support.command import Report, check_identity, report, traces_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow

Row = dict[str, Any]


@pytest.fixture(scope="module")
def traces() -> Path:
    return traces_folder()


@dataclass
class Reports:
    """Each trace reported once, when first asked for."""

    traces: Path
    folder: Path
    made: dict[str, Report] = field(default_factory=dict)

    def of(self, name: str) -> Report:
        if name not in self.made:
            self.made[name] = report(self.traces / name, self.folder / name, jobs=2)
        return self.made[name]

    def table(self, name: str, table: str) -> list[Row]:
        (path,) = (self.of(name).folder / "store").glob(f"*/{table}.parquet")
        rows: list[Row] = pq.read_table(path).to_pylist()
        return rows

    def strings(self, name: str) -> dict[int, str]:
        return {row["id"]: row["value"] for row in self.table(name, "string")}

    def expected(self, name: str) -> list[dict[str, str]]:
        with (self.traces / "expected" / name).open(newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def reports(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return Reports(traces, tmp_path_factory.mktemp("figures"))


def rounded(value: float, places: int) -> str:
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def figures(groups: dict[str, list[int]], scale: int = 1, places: int = 1) -> Counter[Row]:
    """Rows as ``nsys stats`` prints them, without the share: the numbers, then the name."""
    rows: Counter[Any] = Counter()
    for name, values in groups.items():
        middle = [sum(values) / len(values), median(values)]
        spread = stdev(values) if len(values) > 1 else 0.0
        if scale == 1:
            numbers = [str(sum(values)), str(len(values)), *(rounded(v, 1) for v in middle)]
            numbers += [str(min(values)), str(max(values)), rounded(spread, 1)]
        else:
            numbers = [rounded(sum(values) / scale, places), str(len(values))]
            numbers += [rounded(v / scale, places) for v in [*middle, min(values), max(values)]]
            numbers.append(rounded(spread / scale, places))
        rows[(tuple(numbers), name)] += 1
    return rows


def compare(ours: Counter[Any], theirs: Sequence[dict[str, str]], kind: str) -> None:
    """Equal as multisets of numbers; a name cut with an ellipsis is a prefix of ours."""
    listed: Counter[Any] = Counter()
    for row in theirs:
        values = [value for column, value in row.items() if column not in {"Time (%)", kind}]
        listed[(tuple(values), row[kind])] += 1
    assert Counter(n for n, _ in ours.elements()) == Counter(n for n, _ in listed.elements())
    names = defaultdict(list)
    for numbers, name in ours.elements():
        names[numbers].append(name)
    for numbers, name in listed.elements():
        cut = name.rstrip("…") if name.endswith("…") else None
        same = [n for n in names[numbers] if n == name or (cut is not None and n.startswith(cut))]
        assert same, (numbers, name, names[numbers])
        names[numbers].remove(same[0])


def grouped(rows: Iterable[Row], name: str, strings: dict[int, str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        groups[strings[row[name]]].append(row["end_ns"] - row["start_ns"])
    return groups


TRACES = ("a100_transformer_fwd", "a100_cudagraph")


@pytest.mark.parametrize("name", TRACES)
def test_kernels_as_nsys_stats_sums_them(reports: Reports, name: str) -> None:
    file = f"{name}.sqlite"
    kernels = [row for row in reports.table(file, "op") if row["kind"] == "kernel"]
    ours = figures(grouped(kernels, "name_id", reports.strings(file)))
    # NVIDIA's demangler writes <unnamed> where the export holds (anonymous namespace).
    compare(ours, reports.expected(f"{name}.cuda_gpu_kern_sum.csv"), "Name")


@pytest.mark.parametrize("name", TRACES)
def test_kernel_section_as_nsys_stats_sums_them(reports: Reports, name: str) -> None:
    document = reports.of(f"{name}.sqlite").lane
    assert document["steps"]["source"] == "none"
    top = [item for item in document["kernels"]["top"] if item["name"] != "(other)"]
    ours = Counter(
        (
            (str(item["work_ns"]), str(item["count"])),
            (str(item["min_ns"]), str(item["max_ns"])),
        )
        for item in top
    )
    expected = reports.expected(f"{name}.cuda_gpu_kern_sum.csv")
    theirs = Counter(
        (
            (row["Total Time (ns)"], row["Instances"]),
            (row["Min (ns)"], row["Max (ns)"]),
        )
        for row in expected
    )
    assert ours == theirs


@pytest.mark.parametrize("name", TRACES)
def test_calls_as_nsys_stats_sums_them(reports: Reports, name: str) -> None:
    file = f"{name}.sqlite"
    strings = {key: re.sub(r"_v\d{4}$", "", text) for key, text in reports.strings(file).items()}
    ours = figures(grouped(reports.table(file, "api"), "name_id", strings))
    compare(ours, reports.expected(f"{name}.cuda_api_sum.csv"), "Name")


@pytest.mark.parametrize("name", TRACES)
def test_os_calls_as_nsys_stats_sums_them(reports: Reports, name: str) -> None:
    file = f"{name}.sqlite"
    ours = figures(grouped(reports.table(file, "os_call"), "name_id", reports.strings(file)))
    compare(ours, reports.expected(f"{name}.osrt_sum.csv"), "Name")


def test_copies_as_nsys_stats_sums_them(reports: Reports) -> None:
    file = "a100_transformer_fwd.sqlite"
    copies = [row for row in reports.table(file, "op") if row["kind"] in {"memcpy", "memset"}]
    names = {1: "[CUDA memcpy Host-to-Device]", 2: "[CUDA memcpy Device-to-Host]"}
    sizes: dict[str, list[int]] = defaultdict(list)
    times: dict[str, list[int]] = defaultdict(list)
    for row in copies:
        sizes[names[row["copy_kind"]]].append(row["bytes"])
        times[names[row["copy_kind"]]].append(row["end_ns"] - row["start_ns"])
    stem = "a100_transformer_fwd.cuda_gpu_mem"
    compare(figures(times), reports.expected(f"{stem}_time_sum.csv"), "Operation")
    megabytes = figures(sizes, scale=10**6, places=3)
    compare(megabytes, reports.expected(f"{stem}_size_sum.csv"), "Operation")
    memory = reports.of(file).lane["memory"]
    assert {item["kind"] for item in memory["items"]} == {"h2d"}
    for name, total in (("count", 294), ("bytes", sum(sizes.popitem()[1])), ("work_ns", None)):
        expected = sum(times.popitem()[1]) if total is None else total
        assert sum(item[name] for item in memory["items"]) == expected


def test_each_call_of_cloverleaf(reports: Reports) -> None:
    file = "a100_cloverleaf.sqlite"
    strings = reports.strings(file)
    threads = {row["thread"]: row["tid"] for row in reports.table(file, "thread")}
    ours = Counter(
        (strings[row["name_id"]], row["thread"] & 0xFFFFFF, row["start_ns"], row["end_ns"])
        for row in reports.table(file, "api")
    )
    entries = reports.expected("a100_cloverleaf.cuda_api_trace.csv")
    theirs = Counter(
        (row["Name"], int(row["Thread"]), int(row["Timestamp (ns)"]),
         int(float(row["_matching_timestamp"])))
        for row in entries
        if row["Event Type"] == "Enter"
    )  # fmt: skip
    assert ours == theirs
    assert all(threads.get(row["thread"], row["thread"] & 0xFFFFFF) == row["thread"] & 0xFFFFFF
               for row in reports.table(file, "api"))  # fmt: skip


def test_each_op_of_cloverleaf(reports: Reports) -> None:
    file = "a100_cloverleaf.sqlite"
    short = {row["name_id"]: row["short_name"] for row in reports.table(file, "kernel_name")}
    kinds = {1: "CUDA_MEMCPY_KIND_HTOD", 2: "CUDA_MEMCPY_KIND_DTOH"}
    ours: Counter[Any] = Counter()
    for row in reports.table(file, "op"):
        kernel = row["kind"] == "kernel"
        name = short[row["name_id"]] if kernel else kinds[row["copy_kind"]]
        size = "" if kernel else str(row["bytes"])
        ours[(name, row["stream"], size, row["start_ns"], row["end_ns"])] += 1
    entries = reports.expected("a100_cloverleaf.gpu_trace.csv")
    theirs = Counter(
        (row["Name"], int(row["streamId"]), row["bytes"], int(row["Timestamp (ns)"]),
         int(float(row["_matching_timestamp"])))
        for row in entries
        if row["Event Type"] == "Enter"
    )  # fmt: skip
    assert ours == theirs


def hta_rows(traces: Path) -> list[dict[str, str]]:
    with (traces / "expected" / "hta.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_unions_as_hta_takes_them(traces: Path, reports: Reports) -> None:
    rows = hta_rows(traces)
    assert len(rows) == 9
    for row in rows:
        folder = row["file"].split("/")[0] if "/" in row["file"] else row["file"]
        lanes = reports.of(folder).lanes.values()
        name = row["file"].split("/")[-1]
        (document,) = [d for d in lanes if d["lane"]["file"].split("/")[-1] == name]
        check_identity(document)
        buckets = document["capture"]["span"]["buckets"]
        figure = {column: int(row[column]) for column in row if column.endswith("_ns")}
        compute = buckets["compute_only"] + buckets["compute_comm_overlap"]
        assert buckets["window_ns"] == figure["span_ns"], name
        assert compute == figure["comp_union_ns"], name
        assert buckets["compute_comm_overlap"] == figure["overlap_ns"], name
        communication = buckets["exposed_comm"] + buckets["compute_comm_overlap"]
        assert communication == figure["comm_union_ns"], name
        assert buckets["exposed_comm"] == figure["comm_without_comp_ns"], name
        assert buckets["exposed_mem"] == figure["mem_alone_ns"], name
        assert buckets["idle"] == figure["idle_ns"], name
        assert buckets["graph_opaque"] == 0, name
        shares = (buckets["idle"], compute, buckets["window_ns"] - buckets["idle"] - compute)
        for share, column in zip(shares, ("idle", "compute", "non_compute"), strict=True):
            theirs = float(row[f"hta_{column}_pct"])
            assert abs(100 * share / buckets["window_ns"] - theirs) < 0.006, (name, column)
        overlap = 100 * buckets["compute_comm_overlap"] / communication
        assert abs(overlap - float(row["hta_overlap_pct"])) < 0.006, name
