"""What a communicator is for: the user's layout, names in the trace, what runs on it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest

from nsysflow.job.layout import Layout, layout_of
from nsysflow.render.job_comm import communicators
from nsysflow.resources import data
from nsysflow.settings import Settings
from tests.support.export import Export, us
from tests.support.job_run import NCCL, Planted, job_of
from tests.support.schemas import check

Groups = dict[str, set[tuple[int, ...]]]


def groups_of(tp: int, cp: int, dp: int, pp: int, ep: int) -> Groups:
    """All process groups, from the ranks' places written out one by one."""
    place: dict[int, tuple[int, int, int, int]] = {}
    for at, (p, d, c, t) in enumerate(product(range(pp), range(dp), range(cp), range(tp))):
        place[at] = (t, c, d, p)
    by: dict[str, dict[tuple[Any, ...], list[int]]] = {k: {} for k in ("tp", "cp", "pp", "ep")}
    data: dict[tuple[Any, ...], list[int]] = {}
    for rank, (t, c, d, p) in place.items():
        seat = d * cp + c
        by["tp"].setdefault((c, d, p), []).append(rank)
        by["cp"].setdefault((t, d, p), []).append(rank)
        by["pp"].setdefault((t, c, d), []).append(rank)
        by["ep"].setdefault((t, p, seat // ep), []).append(rank)
        for key in (("one", t, c, p), ("both", t, p), ("same experts", t, p, seat % ep)):
            if key[0] != "same experts" or ep > 1:
                data.setdefault(key, []).append(rank)
    found = {kind: {tuple(g) for g in each.values() if len(g) > 1} for kind, each in by.items()}
    found["dp"] = {tuple(g) for g in data.values() if len(g) > 1}
    if ep == 1:
        found["ep"] = set()
    return found


@pytest.mark.parametrize(
    "sizes",
    [(2, 1, 2, 1, 1), (2, 2, 2, 2, 1), (1, 1, 8, 1, 4), (2, 1, 4, 2, 2), (1, 2, 4, 1, 4),
     (1, 4, 2, 2, 1), (4, 1, 1, 4, 1), (2, 2, 2, 1, 2)],
)  # fmt: skip
def test_a_layout_knows_every_group_and_no_other(sizes: tuple[int, ...]) -> None:
    tp, cp, dp, pp, ep = sizes
    layout = Layout(tp, cp, dp, pp, ep)
    planted = groups_of(*sizes)
    everything = {group for groups in planted.values() for group in groups}
    for group in everything:
        may = {kind for kind, groups in planted.items() if group in groups}
        found = set(layout.kinds(group, len(group)))
        # The same ranks may share contexts, experts and data; no kind that is not planted.
        assert found, group
        assert found <= may, (group, may, found)
    world = tuple(range(tp * cp * dp * pp))
    if world not in everything:
        assert layout.kinds(world, len(world)) == ()
    assert [layout.stage(rank) for rank in world] == [rank * pp // len(world) for rank in world]


def test_ranks_of_a_group_that_is_not_all_here_tell_its_kind() -> None:
    layout = Layout(tp=4, cp=1, dp=4, pp=1)
    assert layout.kinds((4, 6), 4) == ("tp",)
    assert layout.kinds((1, 9), 4) == ("dp",)
    assert layout.kinds((1, 9), 2) == ()
    assert layout.kinds((0, 5), 4) == ()
    assert layout.kinds((0, 16), 2) == ()


def test_a_layout_that_does_not_fit_is_refused_with_the_reason() -> None:
    assert layout_of({"eval_every": 3}, 8) == (None, None)
    assert layout_of({"tp": 2}, 8) == (Layout(2, 1, 4, 1), None)
    for job, world, word in (
        ({"tp": 3}, 8, "tp = 3"),
        ({"tp": 2, "dp": 2}, 8, "8 ranks"),
        ({"dp": 8, "ep": 3}, 8, "ep does not divide"),
    ):
        found, reason = layout_of(job, world)
        assert found is None
        assert word in (reason or "")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "pp"),
        ("DATA_PARALLEL_GROUP_WITH_CP", "dp"),
        ("EXPERT_DATA_PARALLEL_GROUP", "dp"),
        ("EXPERT_MODEL_PARALLEL_GROUP", "ep"),
        ("EXPERT_TENSOR_PARALLEL_GROUP", "tp"),
        ("CONTEXT_PARALLEL_GROUP", "cp"),
        ("TENSOR_AND_CONTEXT_PARALLEL_GROUP", None),
        ("EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", None),
        ("mesh_tp", "tp"),
        ("mesh_dp_shard", "fsdp"),
        ("mesh_dp_replicate", "dp"),
        ("FSDP::all_gather (layers.3)", "fsdp"),
        ("megatron.core.tensor_parallel.mappings._reduce", "tp"),
        # This one encloses the whole of forward and backward, whatever runs there.
        ("megatron.core.pipeline_parallel.schedules.forward_backward_no_pipelining", None),
        ("default_pg", None),
        ("mesh_tpx", None),
    ],
)
def test_names_of_groups(name: str, kind: str | None) -> None:
    with duckdb.connect() as connection:
        connection.execute(data("sql", "macros", "groups.sql").read_text("utf-8"))
        assert connection.execute("SELECT group_kind($1)", [name]).fetchall() == [(kind,)]


def _call(
    export: Export, rank: int, name: str, comm: int, at: tuple[int, int], **more: Any
) -> None:
    """A collective of 20 us, asked for at ``at[0]``, whose kernel begins at ``at[1]``."""
    asked, begin = at
    fields = {"NCCL communicator ID": comm, "Message size [bytes]": 1 << 16} | more
    export.nvtx(
        f"nccl{name}", asked, asked + us(2), pid=100 + rank, domain=NCCL, registered=True,
        jsonText=json.dumps(fields),
    )  # fmt: skip
    kernel = f"ncclDevKernel_{name}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    launch = (asked + us(0.5), asked + us(1.5))
    export.kernel(kernel, begin, begin + us(20), pid=100 + rank, stream=21, launch=launch)


def several(export: Export, rank: int, _step: int, begin: int) -> None:
    """Beside the run's all-reduce: one communicator for each way to be known."""
    pid = 100 + rank
    _call(export, rank, "AllGather", 1, (begin + us(34), begin + us(100)))
    spot = begin + us(37)
    flash = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)"
    export.kernel(flash, begin + us(125), begin + us(150), pid=pid, launch=(spot, spot + us(1)))
    spot = begin + us(39)
    export.kernel("gemm", begin + us(150), begin + us(160), pid=pid, launch=(spot, spot + us(1)))
    export.nvtx("TENSOR_MODEL_PARALLEL_GROUP", begin + us(40), begin + us(43), pid=pid)
    _call(export, rank, "AllReduce", 2, (begin + us(40.5), begin + us(160)))
    _call(export, rank, "AlltoAll", 3, (begin + us(43.5), begin + us(190)))
    mesh = {"commName": "mesh_cp"}
    _call(export, rank, "ReduceScatter", 4, (begin + us(46), begin + us(220)), **mesh)


def known(document: dict[str, Any]) -> dict[int, tuple[str, str | None]]:
    groups = document["collectives"]["groups"]
    return {int(g["communicator"], 16): (g["kind"], g["kind_source"]) for g in groups}


def test_the_layout_goes_before_names_and_names_before_traffic(tmp_path: Path) -> None:
    run = Planted(2, 6, lambda _rank, step: us(600 + step), payload=True, more=several)
    folder = run.write(tmp_path / "run")
    plain = job_of(folder, tmp_path / "plain").result
    check(plain, "result-1")
    assert known(plain) == {
        0xABC: ("dp", "traffic"),
        1: ("cp", "traffic"),
        2: ("tp", "name"),
        3: ("ep", "traffic"),
        4: ("cp", "name"),
    }
    told = job_of(folder, tmp_path / "told", Settings(job={"dp": 2, "ep": 2})).result
    assert known(told) == {
        3: ("ep", "user"), **dict.fromkeys((0xABC, 1, 2, 4), ("dp", "user"))
    }  # fmt: skip
    assert told["collectives"]["layout"] is None
    misfit = job_of(folder, tmp_path / "misfit", Settings(job={"tp": 8})).result
    assert known(misfit) == known(plain)
    table = communicators(misfit["collectives"], 40, {})
    assert table is not None
    assert "tp = 8" in (table.note or "")
    assert "does not fit 2 ranks" in (table.note or "")
    kinds = {cell for row in table.rows for cell in map(str, row.cells)}
    assert any("tensor parallel (by its name)" in cell for cell in kinds)
