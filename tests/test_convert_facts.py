"""The small tables and facts of a capture; nothing private among them."""

# ruff: noqa: S105  test data; wide tables of expected rows

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from nsysflow import model
from nsysflow.convert.evidence import NAMES
from nsysflow.rank.evidence import _VARIABLES
from tests.support.export import (
    global_pid,
    global_tid,
    ms,
)
from tests.support.stores import (
    one_kernel,
    store_of,
)

NONE = None


def test_overhead_diagnostics_threads_and_memory(tmp_path: Path) -> None:
    export = one_kernel()
    export.overhead("flush", 5, 9, 3)
    export.row(
        "CUPTI_ACTIVITY_KIND_OVERHEAD",
        start=1,
        end=4,
        globalTid=global_tid(100),
        nameId=export.string("lazy loading"),
        overheadType=7,
    )
    for text, severity in (("lost", 3), ("lost", 3), ("note", 1), ("spoken", 4), ("care", 2)):
        export.diagnostic(text, severity)
    export.thread("pt_main", tid=100)
    export.process("python3")
    export.row(
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        start=8,
        globalPid=global_pid(100),
        deviceId=0,
        bytes=64,
        memKind=2,
        memoryOperationType=1,
        address=1 << 47,
    )
    store = store_of(export, tmp_path)
    assert store.texts("overhead", "text, type, start_ns", "start_ns") == [
        ("lazy loading", 7, 1),
        ("flush", 3, 5),
    ]
    assert store.capture["warnings"] == [
        {"severity": 3, "text": "lost", "count": 2},
        {"severity": 2, "text": "care", "count": 1},
        {"severity": 1, "text": "note", "count": 1},
        {"severity": 4, "text": "spoken", "count": 1},
    ]
    assert len(store.rows("diagnostic")) == 5
    assert store.rows("thread", "tid, name") == [(100, "pt_main")]
    assert store.rows("process", "pid, name") == [(100, "python3")]
    assert store.rows("memory_event", "device, at_ns, bytes, operation, kind, address") == [
        (0, 8, 64, 1, 2, 1 << 47)
    ]


def test_only_known_variables_leave_the_environment(tmp_path: Path) -> None:
    export = one_kernel()
    secret = "hf_SECRETSECRET"
    export.env(
        RANK="3",
        HF_TOKEN=secret,
        CUDA_VISIBLE_DEVICES="0,1",
        MASTER_ADDR="10.0.0.7",
        LOCAL_RANK=secret,
    )
    export.system("DeviceEnvironment", f"RANK=9;WORLD_SIZE=16;HF_TOKEN={secret};SLURM_PROCID=4")
    export.string(f"SLURM_LOCALID=2\0PATH=/home/{secret}\0SLURM_NODEID=1\0")
    export.string(f"SLURM_LOCALID=2\0PMI_RANK=8\0SLURM_NODEID=7\0TOKEN={secret}")
    stdout = export.string(f"printed {secret}")
    export.row("ProcessStreams", filenameId=export.string("stdout"), contentId=stdout)
    export.string("name\0rest of a buffer")
    export.mpi_rank(6, pid=100)
    export.meta("EXPORT_PARAM_INPUT_PATH_ABS", r"C:\runs\rank7.nsys-rep")
    store = store_of(export, tmp_path)
    assert store.capture["rank_evidence"] == {
        "mpi": [{"pid": 100, "rank": 6}],
        "nccl": [],
        "env": {
            "CUDA_VISIBLE_DEVICES": "0,1",
            "PMI_RANK": "8",
            "RANK": "3",
            "SLURM_LOCALID": "2",
            "SLURM_PROCID": "4",
            "WORLD_SIZE": "16",
        },
        "world_size": 16,
        "input_name": "rank7.nsys-rep",
    }
    texts = [row[1] for row in store.rows("string")]
    assert "name" in texts
    assert "stdout" in texts
    assert not [text for text in texts if "\0" in text or "SLURM" in text]
    for path in store.folder.iterdir():
        with duckdb.connect() as connection:
            reader = "read_parquet" if path.suffix == ".parquet" else "read_text"
            rows = connection.execute(f"FROM {reader}('{path}')").fetchall()
        assert secret not in repr(rows)
        assert "10.0.0.7" not in repr(rows)


def test_the_facts_of_a_capture(tmp_path: Path) -> None:
    export = one_kernel()
    export.session(1_700_000_000_000_000_000, 55)
    export.duration(ms(7))
    export.system("Hostname", "node-7")
    export.capture("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node")
    export.api("late", ms(3), ms(4))
    store = store_of(export, tmp_path)
    capture = store.capture
    assert json.loads((store.folder / "capture.json").read_text()) == capture
    facts = {
        "format": model.STORE_FORMAT,
        "file": "x.sqlite",
        "host": "node-7",
        "utc_start_ns": 1_700_000_000_000_000_000,
        "session_clock_ns": 55,
        "start_ns": 0,
        "end_ns": ms(4),
        "duration_ns": ms(7),
        "graph_mode": "node",
        "schema_version": "3.25.0",
    }
    assert {name: capture[name] for name in facts} == facts
    assert capture["nsys_version"].startswith("2026.2.1")


@pytest.mark.parametrize("mark", [";", "\0", "\n"])
def test_the_environment_of_the_machine_in_every_form(tmp_path: Path, mark: str) -> None:
    """A value may hold the weaker separators."""
    export = one_kernel()
    value = "a;RANK=7" if mark != ";" else "a"
    pairs = ("PATH=/bin", f"PS1={value}", "SLURM_PROCID=1", "MV2_COMM_WORLD_SIZE='8'", "RANK=1")
    export.system("DeviceEnvironment", mark.join(pairs) + mark)
    env = store_of(export, tmp_path).capture["rank_evidence"]["env"]
    assert env == {"SLURM_PROCID": "1", "MV2_COMM_WORLD_SIZE": "8", "RANK": "1"}


def test_a_session_that_began_in_1970_has_no_known_beginning(tmp_path: Path) -> None:
    export = one_kernel()
    export.session(0, 55)
    capture = store_of(export, tmp_path).capture
    assert (capture["utc_start_ns"], capture["session_clock_ns"]) == (None, 55)


@pytest.mark.parametrize(
    ("normalize", "shift", "utc"), [("false", "0", 1000), ("false", "300", 700), ("true", "0", 0)]
)
def test_what_utc_was_at_zero(tmp_path: Path, normalize: str, shift: str, utc: int) -> None:
    export = one_kernel()
    export.session(1000)
    export.meta("EXPORT_PARAM_TIME_NORMALIZE", normalize)
    export.meta("EXPORT_PARAM_TIME_SHIFT", shift)
    assert store_of(export, tmp_path).capture["utc_start_ns"] == utc


def test_gpus_of_the_node(tmp_path: Path) -> None:
    export = one_kernel()
    export.gpu(0, "NVIDIA H100", "aaaa", "0000:1b:00.0", cuda=2, memoryBandwidth=5)
    export.gpu(1, "Intel(R) Iris", "", "", smCount=0, totalMemory=0)
    rows = store_of(export, tmp_path).rows(
        "gpu", "id, name, uuid, bus, cuda_device, nvidia, sm_count"
    )
    assert rows == [
        (0, "NVIDIA H100", "aaaa", "0000:1b:00.0", 2, True, 132),
        (1, "Intel(R) Iris", NONE, NONE, NONE, False, 0),
    ]


def test_every_variable_that_tells_a_rank_leaves_the_environment() -> None:
    told = {name for rank, sizes in _VARIABLES for name in (rank, *sizes)}
    assert told <= set(NAMES)
