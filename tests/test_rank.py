"""Who is which rank, on which GPU, how that is known, and when it cannot be told."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from nsysflow.errors import UsageError
from nsysflow.rank import Lane, RankTable, check_rank_map, gpu_rows, load_captures, rank_table
from nsysflow.settings import Settings

S = 1_000_000_000
NOW = 1_700_000_000 * S
H100 = {"name": "NVIDIA H100 80GB HBM3", "sm_count": 132, "nvidia": True}


def capture(
    file: str,
    lanes: list[tuple[int, int]] | None = None,
    *,
    start: int | None = None,
    seconds: int = 10,
    host: str | None = None,
    gpus: list[dict[str, Any]] | None = None,
    devices: list[dict[str, Any]] | None = None,
    **evidence: Any,
) -> dict[str, Any]:
    """Return a capture as the store gives it; ``lanes`` are (pid, device)."""
    lanes = [(100, 0)] if lanes is None else lanes
    return {
        "trace": "t-" + hashlib.sha256(file.encode()).hexdigest()[:12],
        "file": file,
        "host": host,
        "utc_start_ns": start,
        "start_ns": 0,
        "end_ns": seconds * S,
        "duration_ns": None,
        "rank_evidence": evidence,
        "gpus": gpus or [],
        "cuda_devices": devices or [],
        "lanes": [
            {"lane": number, "process": pid + (1 << 24), "pid": pid, "device": device, "ops": 1}
            for number, (pid, device) in enumerate(lanes)
        ],
    }


def gpu(number: int, uuid: str | None, **more: Any) -> dict[str, Any]:
    bus = f"0000:{number:02x}:00.0"
    return {**H100, "id": number, "uuid": uuid, "bus": bus, "cuda_device": number, **more}


def table(*captures: dict[str, Any], failed: tuple[str, ...] = (), **settings: Any) -> RankTable:
    return rank_table(captures, Settings(**settings), failed)


def known(found: RankTable) -> list[tuple[str, int | None, str]]:
    return [(lane.file, lane.rank, lane.rank_source) for lane in found.lanes]


def only(found: RankTable) -> Lane:
    (lane,) = found.lanes
    return lane


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank0.sqlite", 0),
        ("trace.rank10.sqlite", 10),
        ("node1_rank2.sqlite", 2),
        ("dlrm8_rank7.sqlite", 7),
        ("RANK_03.nsys-rep", 3),
        ("prof-rank-12-host.sqlite.zst", 12),
        ("rank3of8.sqlite", 3),
        ("rank0_of_8.sqlite", 0),
        ("global_rank5.sqlite", 5),
        ("globalrank5.sqlite", 5),
        ("mpi_rank_6_pid4242.sqlite", 6),
        ("rank4.2.sqlite", 4),
        ("job_procid3.sqlite", 3),
        ("job.task11.sqlite", 11),
        ("out_pe9_pqtdir", 9),
        ("r3.nsys-rep", 3),
        ("r3.1.nsys-rep", 3),
        ("rank5/report1.sqlite", 5),
        ("job/rank5/out/report1.sqlite", 5),
        # A number that is something else.
        ("worker_process_4242.5.sqlite", None),
        ("report1.sqlite", None),
        ("report_3.sqlite", None),
        ("local_rank3.sqlite", None),
        ("localrank3.sqlite", None),
        ("job-local-rank-3.sqlite", None),
        ("node_rank1.sqlite", None),
        ("data_parallel_rank_2.sqlite", None),
        ("pipeline_rank3.sqlite", None),
        ("tensor-rank1.sqlite", None),
        ("intra_rank3_rank11.sqlite", 11),
        ("rank_0007_of_64.sqlite", 7),
        ("rank\u0663.sqlite", None),
        ("tp_rank1.sqlite", None),
        ("dp-rank0.sqlite", None),
        ("crank3.sqlite", None),
        ("frank3.sqlite", None),
        ("prank_3.sqlite", None),
        ("ranks8.sqlite", None),
        ("type0.sqlite", None),
        ("tape3.sqlite", None),
        ("multitask_2.sqlite", None),
        ("deepseek-r1.sqlite", None),
        ("rank3b.sqlite", None),
        ("rank1_rank2.sqlite", None),
        ("prof_host_4242.sqlite", None),
        ("gpu3.sqlite", None),
        ("task7/report1.sqlite", None),
        ("local_rank3/report1.sqlite", None),
        ("rank99999999.sqlite", None),
    ],
)
def test_rank_in_a_file_name(name: str, rank: int | None) -> None:
    lane = only(table(capture(name)))
    assert (lane.rank, lane.rank_source) == (rank, "unknown" if rank is None else "filename")


def test_one_number_in_name_and_folder_prefers_the_name() -> None:
    assert only(table(capture("rank1/rank2.sqlite"))).rank == 2


def test_the_report_an_export_was_made_from_still_tells() -> None:
    assert only(table(capture("x.sqlite", input_name="job_rank4.nsys-rep"))).rank == 4


def test_order_of_trust() -> None:
    mpi = [{"pid": 100, "rank": 2}]
    nccl = [{"pid": 100, "rank": 3, "ranks": 8, "device": 0, "comm": "a"}]
    env = {"RANK": "4", "WORLD_SIZE": "8"}
    file = "rank5.sqlite"
    steps: list[tuple[dict[str, Any], dict[str, Any], tuple[int, str]]] = [
        ({"mpi": mpi, "nccl": nccl, "env": env}, {"rank_map": ((file, 1),)}, (1, "user")),
        ({"mpi": mpi, "nccl": nccl, "env": env}, {}, (2, "mpi")),
        ({"nccl": nccl, "env": env}, {}, (3, "nccl")),
        ({"env": env}, {}, (4, "env")),
        ({}, {}, (5, "filename")),
    ]
    for evidence, settings, answer in steps:
        lane = only(table(capture(file, **evidence), **settings))
        assert (lane.rank, lane.rank_source) == answer
    noisy = table(capture(file, env=env))
    assert noisy.notes == ("0004: rank 4 by the environment, but the file name says 5",)


def test_the_device_ordinal_is_never_a_rank() -> None:
    found = table(capture("a.sqlite", [(100, 3)]), capture("b.sqlite", [(100, 3)]))
    assert known(found) == [("a.sqlite", None, "unknown"), ("b.sqlite", None, "unknown")]
    assert [lane.label for lane in found.lanes] == ["a-pid100-gpu3", "b-pid100-gpu3"]


def test_several_ranks_in_one_file() -> None:
    found = table(capture("all.sqlite", [(101, 0), (102, 1), (103, 2), (104, 3)]))
    assert [(lane.rank, lane.rank_source, lane.label) for lane in found.lanes] == [
        (None, "process", f"all-pid{101 + n}-gpu{n}") for n in range(4)
    ]
    assert found.ranks_usable == 4


def test_file_wide_evidence_is_not_about_each_of_several_processes() -> None:
    found = table(
        capture(
            "rank3.sqlite",
            [(101, 0), (102, 1)],
            env={"RANK": "3", "WORLD_SIZE": "8", "SLURM_PROCID": "1"},
        )
    )
    assert {(lane.rank, lane.rank_source) for lane in found.lanes} == {(None, "process")}


def test_evidence_by_process_is() -> None:
    rows = [{"pid": 100 + n, "rank": n, "ranks": 4, "device": n, "comm": "c"} for n in range(4)]
    lanes = [(100 + n, n) for n in range(4)]
    found = table(capture("all.sqlite", lanes, nccl=rows))
    assert [(lane.rank, lane.rank_source, lane.pid) for lane in found.lanes] == [
        (n, "nccl", 100 + n) for n in range(4)
    ]
    assert (found.ranks_expected, found.missing_ranks) == (4, [])
    found = table(capture("all.sqlite", lanes, mpi=[{"pid": 102, "rank": 7}]))
    assert [(lane.rank, lane.rank_source) for lane in found.lanes] == [
        (7, "mpi"),
        (None, "process"),
        (None, "process"),
        (None, "process"),
    ]


def test_several_gpus_of_one_process_are_one_rank() -> None:
    found = table(capture("rank2.sqlite", [(100, 0), (100, 1), (100, 10)]))
    assert [lane.label for lane in found.lanes] == ["0002-gpu0", "0002-gpu1", "0002-gpu10"]
    assert (found.conflicts, found.several_jobs, found.ranks_usable) == ((), None, 1)


def test_one_process_with_a_communicator_rank_per_gpu() -> None:
    rows = [{"pid": 100, "rank": 1 - d, "ranks": 2, "device": d, "comm": "c"} for d in range(2)]
    found = table(capture("a.sqlite", [(100, 0), (100, 1)], nccl=rows))
    assert [(lane.rank, lane.device, lane.label) for lane in found.lanes] == [
        (0, 1, "0000"),
        (1, 0, "0001"),
    ]


def test_the_largest_communicator_gives_the_rank() -> None:
    rows = [
        {"pid": 100, "rank": 1, "ranks": 2, "device": 0, "comm": "tp"},
        {"pid": 100, "rank": 5, "ranks": 8, "device": 0, "comm": "world"},
        {"pid": 100, "rank": 0, "ranks": 1, "device": 0, "comm": "self"},
    ]
    assert only(table(capture("a.sqlite", nccl=rows))).rank == 5


def test_ranks_of_a_parallel_group_are_not_ranks_of_the_job() -> None:
    captures = [
        capture(
            f"{n}.sqlite",
            start=NOW,
            nccl=[{"pid": 100, "rank": n % 2, "ranks": 2, "device": 0, "comm": f"tp{n // 2}"}],
        )
        for n in range(4)
    ]
    found = table(*captures)
    assert [lane.rank for lane in found.lanes] == [None] * 4
    assert "groups" in found.notes[0]
    # Neither is a small communicator where the environment knows a larger job.
    small = [{"pid": 100, "rank": 1, "ranks": 2, "device": 0, "comm": "x"}]
    lane = only(table(capture("a.sqlite", nccl=small, env={"RANK": "5", "WORLD_SIZE": "8"})))
    assert (lane.rank, lane.rank_source) == (5, "env")


def test_whole_jobs_in_one_file_each_keep_their_nccl_ranks() -> None:
    def job(name: str, pids: tuple[int, int]) -> dict[str, Any]:
        rows = [
            {"pid": pid, "rank": n, "ranks": 2, "device": n, "comm": name}
            for n, pid in enumerate(pids)
        ]
        return capture(f"{name}.sqlite", [(pid, n) for n, pid in enumerate(pids)], nccl=rows)

    found = table(job("before", (10, 11)), job("after", (20, 21)))
    assert sorted(lane.rank for lane in found.lanes if lane.rank is not None) == [0, 0, 1, 1]
    assert found.several_jobs is not None


@pytest.mark.parametrize(
    ("env", "rank", "expected"),
    [
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, 3, 4),
        ({"RANK": "6", "WORLD_SIZE": "8", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, 6, 8),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "SLURM_PROCID": "0"}, 1, 2),
        ({"PMI_RANK": "2", "PMI_SIZE": "3"}, 2, 3),
        ({"PMIX_RANK": "2"}, 2, None),
        ({"PMIX_RANK": "2", "PMIX_SIZE": "3"}, 2, 3),
        ({"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2"}, 1, 2),
        ({"FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "4"}, 1, 4),
        ({"JSM_NAMESPACE_RANK": "1", "JSM_NAMESPACE_SIZE": "4"}, 1, 4),
        ({"HOROVOD_RANK": "3", "HOROVOD_SIZE": "4", "SLURM_PROCID": "0"}, 3, 4),
        ({"PALS_RANKID": "1025"}, 1025, None),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "6", "SLURM_LOCALID": "1"}, 5, 6),
        ({"LOCAL_RANK": "3", "SLURM_LOCALID": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "3"}, None, None),
        ({"RANK": "x", "PMI_RANK": "-1"}, None, None),
        ({"RANK": "9", "WORLD_SIZE": "8"}, None, None),
    ],
)
def test_rank_in_the_environment(
    env: dict[str, str], rank: int | None, expected: int | None
) -> None:
    found = table(capture("a.sqlite", env=env))
    assert only(found).rank == rank
    assert only(found).rank_source == ("unknown" if rank is None else "env")
    if rank is not None:
        assert found.ranks_expected == expected


def test_missing_ranks_of_a_job_of_known_size() -> None:
    found = table(
        *(capture(f"{n}.sqlite", env={"RANK": str(n), "WORLD_SIZE": "6"}) for n in (0, 1, 4))
    )
    assert (found.ranks_expected, found.ranks_usable, found.missing_ranks) == (6, 3, [2, 3, 5])


def test_missing_ranks_without_a_known_size() -> None:
    gap = table(capture("rank0.sqlite"), capture("rank2.sqlite"))
    assert (gap.ranks_expected, gap.missing_ranks) == (None, [1])
    lost = table(capture("rank0.sqlite"), capture("rank1.sqlite"), failed=("rank2.qdstrm",))
    assert (lost.ranks_expected, lost.missing_ranks) == (None, [2])
    full = table(capture("rank0.sqlite"), capture("rank1.sqlite"))
    assert (full.ranks_expected, full.missing_ranks) == (None, None)


def test_an_unknown_lane_may_be_the_missing_rank() -> None:
    found = table(capture("rank0.sqlite"), capture("rank2.sqlite"), capture("x.sqlite"))
    assert found.missing_ranks is None


def test_a_size_smaller_than_the_run_is_not_believed() -> None:
    found = table(*(capture(f"rank{n}.sqlite", env={"WORLD_SIZE": "2"}) for n in range(3)))
    assert found.ranks_expected is None


def test_two_files_that_claim_one_rank() -> None:
    found = table(
        *(
            capture(name)
            for name in (
                "trace.rank10.sqlite",
                "trace.rank2.sqlite",
                "node1_rank2.sqlite",
                "worker_process_4242.5.sqlite",
            )
        ),
        capture("many.sqlite", [(101 + n, n) for n in range(4)]),
    )
    assert known(found)[:3] == [
        ("node1_rank2.sqlite", 2, "filename"),
        ("trace.rank2.sqlite", 2, "filename"),
        ("trace.rank10.sqlite", 10, "filename"),
    ]
    assert [source for _, _, source in known(found)[3:]] == ["process"] * 4 + ["unknown"]
    (conflict,) = found.conflicts
    assert (conflict["rank"], conflict["sources"]) == (2, ["filename", "filename"])
    assert conflict["labels"] == [lane.label for lane in found.lanes[:2]]
    assert found.several_jobs is not None
    assert "rank 2 is claimed by more than one process" in found.several_jobs
    assert "node1_rank2.sqlite, trace.rank2.sqlite" in found.several_jobs
    assert found.missing_ranks is None
    assert found.ranks_usable == 8


def test_a_local_rank_in_the_name_shows_as_a_conflict() -> None:
    found = table(*(capture(f"node{node}/rank{n}.sqlite") for node in range(2) for n in range(2)))
    assert [conflict["rank"] for conflict in found.conflicts] == [0, 1]


def test_the_same_name_in_two_folders() -> None:
    found = table(capture("a/report1.sqlite"), capture("b/report1.sqlite"))
    digests = [
        hashlib.sha256(f"{folder}/report1.sqlite".encode()).hexdigest()[:8] for folder in "ab"
    ]
    assert [lane.label for lane in found.lanes] == [
        f"report1-pid100-gpu0-{digest}" for digest in digests
    ]


def test_labels_differ_whatever_the_case() -> None:
    found = table(capture("A.sqlite"), capture("a.sqlite"), capture("b.sqlite"))
    labels = [lane.label for lane in found.lanes]
    assert len({label.lower() for label in labels}) == 3
    assert labels[2] == "b-pid100-gpu0"
    assert all(re.fullmatch(r"[aA]-pid100-gpu0-[0-9a-f]{8}", label) for label in labels[:2])


def test_labels_of_a_rank_claimed_twice_in_one_file() -> None:
    found = table(
        capture("x.sqlite", [(1, 0), (2, 0)]), rank_map=(("x.sqlite#1", 0), ("x.sqlite#2", 0))
    )
    labels = [lane.label for lane in found.lanes]
    assert len(set(labels)) == 2
    assert all(re.fullmatch(r"0000-gpu0-[0-9a-f]{8}", label) for label in labels)
    assert len(found.conflicts) == 1


@pytest.mark.parametrize(
    "file",
    [
        "<b>x</b>.sqlite",
        "日本語.sqlite",
        "a b\n.sqlite",
        "x" * 200 + ".sqlite",
        "..sqlite",
        "it's#1?.sqlite",
        "hf_" + "A1b2" * 9 + ".sqlite",
    ],
)
def test_labels_are_plain(file: str) -> None:
    label = only(table(capture(file))).label
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,60}-pid100-gpu0", label)
    assert "A1b2A1b2" not in label


def test_the_order_of_captures_does_not_matter() -> None:
    captures = [
        capture(f"{folder}/rank{n}.sqlite", start=NOW) for n in (10, 2, 0) for folder in "ba"
    ] + [capture("x.sqlite", [(2, 1), (1, 1), (1, 0)])]
    first = table(*captures)
    assert first == table(*reversed(captures))
    assert [lane.rank for lane in first.lanes] == [0, 0, 2, 2, 10, 10, None, None, None]
    assert [(lane.pid, lane.device) for lane in first.lanes[-3:]] == [(1, 0), (1, 1), (2, 1)]


def test_jobs_of_different_size() -> None:
    found = table(
        capture("a.sqlite", env={"RANK": "0", "WORLD_SIZE": "8"}),
        capture("b.sqlite", env={"RANK": "1", "WORLD_SIZE": "4"}),
    )
    assert found.several_jobs == "the traces name jobs of different sizes (4, 8 ranks)"
    assert (found.ranks_expected, found.missing_ranks) == (None, None)


def test_captures_at_different_times() -> None:
    found = table(capture("rank0.sqlite", start=NOW), capture("rank1.sqlite", start=NOW + 3600 * S))
    assert found.several_jobs is not None
    assert "not taken at the same time (such as rank0.sqlite, rank1.sqlite)" in found.several_jobs
    near = table(capture("rank0.sqlite", start=NOW), capture("rank1.sqlite", start=NOW + 20 * S))
    assert near.several_jobs is None
    half = table(capture("rank0.sqlite", start=NOW), capture("rank1.sqlite"))
    assert half.several_jobs is None


def test_a_capture_without_gpu_work_does_not_join_two_jobs() -> None:
    found = table(
        capture("rank0.sqlite", start=NOW),
        capture("cpu.sqlite", [], start=NOW, seconds=7200),
        capture("rank1.sqlite", start=NOW + 3600 * S),
    )
    assert found.several_jobs is not None
    assert len(found.lanes) == 2


def test_trailing_numbers_are_ranks_only_as_a_whole_set_recorded_together() -> None:
    def names(numbers: list[int], step: int, head: str = "report_") -> list[int | None]:
        found = table(
            *(
                capture(f"{head}{n}.sqlite", [(50 + n, 0)], start=NOW + i * step * S)
                for i, n in enumerate(numbers)
            )
        )
        return [lane.rank for lane in found.lanes]

    assert names([0, 1, 2, 3], 1) == [0, 1, 2, 3]
    assert names([0, 1, 2, 3], 100) == [None] * 4  # one after the other: repetitions
    assert names([1, 2, 3, 4], 1) == [None] * 4
    assert names([0, 1, 3], 1) == [None] * 3
    assert names([4242, 4243], 1) == [None] * 2
    assert names([0], 1) == [None]
    timeless = table(capture("report_0.sqlite"), capture("report_1.sqlite"))
    assert [lane.rank for lane in timeless.lanes] == [None, None]
    apart = table(capture("a/x_0.sqlite", start=NOW), capture("b/x_1.sqlite", start=NOW))
    assert [lane.rank for lane in apart.lanes] == [None, None]


# --- the user's own word ---


def test_rank_map_by_file_pid_and_device() -> None:
    two = capture("d/x.sqlite", [(1, 0), (1, 1), (2, 0)])
    found = table(
        two,
        capture("y.sqlite"),
        rank_map=(
            ("d/x.sqlite#1", 4),
            ("d/x.sqlite#1#1", 5),
            ("x.sqlite#2", 6),
            ("y", 7),
        ),
    )
    assert [(lane.file, lane.pid, lane.device, lane.rank) for lane in found.lanes] == [
        ("d/x.sqlite", 1, 0, 4),
        ("d/x.sqlite", 1, 1, 5),
        ("d/x.sqlite", 2, 0, 6),
        ("y.sqlite", 100, 0, 7),
    ]
    assert {lane.rank_source for lane in found.lanes} == {"user"}


def test_rank_map_with_a_hash_in_the_file_name() -> None:
    found = table(
        capture("a#1.sqlite"), capture("b#7"), rank_map=(("a#1.sqlite#100", 3), ("b#7", 4))
    )
    assert [lane.rank for lane in found.lanes] == [3, 4]


def test_rank_map_that_does_not_fit() -> None:
    with pytest.raises(UsageError, match=r"several GPU processes.*#1#0, #2#1"):
        table(capture("x.sqlite", [(1, 0), (2, 1)]), rank_map=(("x.sqlite", 0),))
    with pytest.raises(UsageError, match=r"'x.sqlite#9'.*in it #1#0"):
        table(capture("x.sqlite", [(1, 0)]), rank_map=(("x.sqlite#9", 0),))


def test_check_rank_map_lists_what_is_there() -> None:
    files = {f"r{n}.sqlite": (f"r{n}.nsys-rep",) for n in range(12)}
    check_rank_map(
        (("r1.sqlite", 0), ("r2.nsys-rep", 1), ("./r3", 2), ("r4.sqlite#77#0", 3)), files
    )
    with pytest.raises(UsageError, match=r"'q.sqlite'.*it has r0.sqlite.*and 2 more"):
        check_rank_map((("q.sqlite", 0),), files)
    twice = ["a/r.sqlite", "b/r.sqlite"]
    check_rank_map((("a/r.sqlite", 0),), twice)
    for key in ("r.sqlite", "c/r.sqlite"):
        with pytest.raises(UsageError):
            check_rank_map(((key, 0),), twice)


def test_a_file_of_the_map_that_failed_costs_nothing() -> None:
    assert only(table(capture("a.sqlite"), rank_map=(("b.sqlite", 1),))).rank is None


@pytest.mark.parametrize(
    ("pattern", "file", "rank"),
    [
        (r"_(\d+)$", "w_3", 3),
        (r"w(\d+)", "d7/w3.sqlite", 3),
        (r"node(\d+)/", "node4/x.sqlite", 4),
        (r"n(?P<node>\d+)_g(?P<rank>\d+)", "n2_g9.sqlite", 9),
        (r"(?:n)(\d)_(\d)", "n2_9.sqlite", 2),
        (r"[(](\d)[)]", "x(5).sqlite", 5),
        (r"\((\d)\)", "x(5).sqlite", 5),
        (r"\Q(\E(\d)", "x(5).sqlite", 5),
        (r"[^](]([0-9])[[:alpha:]]", "x5a.sqlite", 5),
        (r"(?i)WORKER(\d+)", "worker12.sqlite", 12),
        (r"w(x)?", "w.sqlite", None),
        (r"(w)", "w.sqlite", None),
        (r"rank(\d)z", "rank3.sqlite", None),
    ],
)
def test_rank_regex(pattern: str, file: str, rank: int | None) -> None:
    lane = only(table(capture(file), rank_regex=pattern))
    assert (lane.rank, lane.rank_source) == (rank, "unknown" if rank is None else "filename")


# --- GPUs and hosts ---


def test_a_rank_regex_that_finds_no_number_is_told() -> None:
    files = ("w1a.sqlite", "w2.sqlite", "other.sqlite", "w/w3b.sqlite", "w12345678.sqlite")
    found = table(*map(capture, files), rank_regex="w([^.]+)")
    assert [lane.rank for lane in found.lanes if lane.file == "w2.sqlite"] == [2]
    told = "w/w3b.sqlite: --rank-regex finds '3b', no number of up to 7 digits; so in 2 more files"
    assert found.notes == (told, "other.sqlite: --rank-regex finds nothing in its name")
    assert table(capture("w12345678.sqlite"), rank_regex="w([^.]+)").notes == (
        "w12345678.sqlite: --rank-regex finds '12345678', no number of up to 7 digits",
    )
    # Also where the capture itself tells the rank, so that the table shows nothing odd.
    told = table(capture("a.sqlite", env={"RANK": "3"}), rank_regex="w([0-9]+)")
    assert (only(told).rank, only(told).rank_source) == (3, "env")
    assert told.notes == ("a.sqlite: --rank-regex finds nothing in its name",)
    both = capture("w1.sqlite", [(100, 0), (200, 0)])
    assert table(both, rank_regex="w([0-9]+)").notes == (
        "w1.sqlite: --rank-regex is not asked: the file holds several GPU processes",
    )
    # The folder's number counts where the name of the file has none.
    assert table(capture("rank7/rankx.sqlite"), rank_regex="rank([^./]+)(?:/|$)").notes == ()


def test_two_gpus_that_both_call_themselves_device_0() -> None:
    captures = [
        capture(
            f"rank{n}.sqlite",
            host="node",
            gpus=[gpu(0, uuid)],
            devices=[{"gpu_id": 0, "cuda_id": 0, "pid": 100, "uuid": uuid, "sm_count": 132}],
        )
        for n, uuid in enumerate(("GPU-aaaa", "GPU-bbbb"))
    ]
    found = table(*captures)
    assert [lane.gpu["uuid"] for lane in found.lanes if lane.gpu] == ["GPU-aaaa", "GPU-bbbb"]
    assert [(lane.gpu_source, lane.shared_gpu) for lane in found.lanes] == [
        ("cuda_device", False)
    ] * 2


def test_gpu_by_the_table_of_the_process() -> None:
    gpus = [gpu(n, f"u{n}a") for n in range(4)]
    devices = [
        {"gpu_id": 3 - n, "cuda_id": n, "pid": 100, "uuid": None, "sm_count": 132} for n in range(4)
    ] + [{"gpu_id": 0, "cuda_id": 1, "pid": 7, "uuid": None}]
    found = table(capture("a.sqlite", [(100, 1)], gpus=gpus, devices=devices))
    assert only(found).gpu == {
        "name": H100["name"],
        "uuid": "u2a",
        "bus": "0000:02:00.0",
        "sm_count": 132,
        "memory_bytes": None,
        "bandwidth_bytes_per_s": None,
    }


def test_gpu_falls_back_step_by_step() -> None:
    intel = {
        "id": 1,
        "name": "Intel(R) Iris(R) Xe Graphics",
        "uuid": None,
        "bus": "",
        "cuda_device": 0,
        "nvidia": False,
    }
    windows = [gpu(0, "abc1", cuda_device=5), intel]
    assert only(table(capture("a", gpus=windows))).gpu_source == "only_gpu"
    four = [gpu(n, f"u{n}a", cuda_device=3 - n) for n in range(4)]
    lane = only(table(capture("a", [(1, 3)], gpus=four)))
    assert (lane.gpu_source, lane.gpu and lane.gpu["uuid"]) == ("cu_device", "u0a")
    lane = only(table(capture("a", [(1, 9)], gpus=four)))
    assert (lane.gpu, lane.gpu_source) == (None, None)
    assert only(table(capture("a", gpus=[intel]))).gpu is None
    lane = only(
        table(
            capture(
                "a",
                devices=[{"gpu_id": 0, "cuda_id": 0, "pid": 100, "uuid": "e6c0", "sm_count": 76}],
            )
        )
    )
    assert (lane.gpu_source, lane.gpu and lane.gpu["uuid"], lane.gpu and lane.gpu["name"]) == (
        "cuda_device",
        "e6c0",
        None,
    )


def test_a_contradictory_table_is_not_believed() -> None:
    devices = [{"gpu_id": n, "cuda_id": 0, "pid": 100, "uuid": None} for n in range(2)]
    lane = only(table(capture("a", gpus=[gpu(0, "u0a"), gpu(1, "u1a")], devices=devices)))
    assert lane.gpu_source == "cu_device"


def test_two_processes_on_one_gpu() -> None:
    one = [gpu(0, "GPU-aaaa"), gpu(0, "aaaa")]  # listed twice, with and without prefix
    found = table(capture("a.sqlite", [(1, 0), (2, 0)], gpus=one))
    assert [lane.shared_gpu for lane in found.lanes] == [True, True]
    apart = table(
        capture("rank0", host="h", start=NOW, gpus=one),
        capture("rank1", host="h", start=NOW, gpus=one),
        capture("rank2", host="i", start=NOW, gpus=one),
    )
    assert [lane.shared_gpu for lane in apart.lanes] == [True, True, False]


def test_without_a_uuid_the_bus_of_a_host_is_the_gpu() -> None:
    def shared(hosts: tuple[str | None, str | None], buses: tuple[int, int]) -> list[bool]:
        found = table(
            *(
                capture(f"rank{n}", host=host, start=NOW, gpus=[gpu(bus, None)])
                for n, (host, bus) in enumerate(zip(hosts, buses, strict=True))
            )
        )
        return [lane.shared_gpu for lane in found.lanes]

    assert shared(("h", "h"), (1, 1)) == [True, True]
    assert shared(("h", "h"), (1, 2)) == [False, False]
    assert shared(("h", "i"), (1, 1)) == [False, False]
    assert shared((None, None), (1, 1)) == [False, False]


def test_one_gpu_at_different_times_is_not_shared() -> None:
    one = [gpu(0, "aaaa")]
    found = table(
        capture("before/rank0", host="h", start=NOW, gpus=one),
        capture("after/rank0", host="h", start=NOW + 9999 * S, gpus=one),
    )
    assert not any(lane.shared_gpu for lane in found.lanes)
    timeless = table(
        capture("before/rank0", host="h", gpus=one), capture("after/rank0", host="h", gpus=one)
    )
    assert not any(lane.shared_gpu for lane in timeless.lanes)


def test_the_ordinal_alone_never_says_shared() -> None:
    four = [gpu(n, f"u{n}a") for n in range(4)]
    found = table(capture("a.sqlite", [(1, 0), (2, 0)], gpus=four))
    assert [(lane.gpu_source, lane.shared_gpu) for lane in found.lanes] == [
        ("cu_device", False)
    ] * 2


def test_hosts_are_numbered_in_natural_order() -> None:
    captures = [
        capture(f"rank{n}", host=host) for n, host in enumerate(("node10", "node2", None, "node2"))
    ]
    assert [lane.host for lane in table(*captures).lanes] == ["host-2", "host-1", None, "host-1"]
    assert table(*captures).hosts == {"node2": "host-1", "node10": "host-2"}
    shown = table(*captures, redact=False)
    assert [lane.host for lane in shown.lanes] == ["node10", "node2", None, "node2"]


def test_captures_come_from_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "rank0-abc"
    folder.mkdir()
    (folder / "capture.json").write_text('{"file": "rank0.sqlite", "lanes": []}', encoding="utf-8")
    parquet.write_table(pa.table({"id": [0], "uuid": ["u"]}), folder / "gpu.parquet")
    assert load_captures(tmp_path) == [
        {
            "file": "rank0.sqlite",
            "lanes": [],
            "trace": "rank0-abc",
            "gpus": [{"id": 0, "uuid": "u"}],
            "cuda_devices": [],
        }
    ]
    assert gpu_rows(tmp_path, "none") == {"gpus": [], "cuda_devices": []}


def test_nothing_at_all() -> None:
    found = table()
    assert (found.lanes, found.missing_ranks, found.ranks_expected, found.several_jobs) == (
        (),
        None,
        None,
        None,
    )
    assert table(capture("x", [])).lanes == ()


def test_a_thousand_lanes_take_no_time() -> None:
    rows = [{"pid": 100, "rank": 0, "ranks": 1024, "device": 0, "comm": "c"}]
    captures = [
        capture(f"n{n // 8}/w{n % 8}.sqlite", start=NOW, nccl=[{**rows[0], "rank": n}])
        for n in range(1024)
    ]
    mapping = tuple((f"n{n // 8}/w{n % 8}.sqlite", n) for n in range(1024))
    found = rank_table(captures, replace(Settings(), rank_map=mapping))
    assert [lane.rank for lane in found.lanes] == list(range(1024))
    assert (found.ranks_expected, found.missing_ranks) == (1024, [])
