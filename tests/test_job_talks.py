"""Sends and receives to several peers in one kernel: who waits for whom, or why nobody can say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsysflow.job.lanes import OP, Ops
from nsysflow.job.matching import by_communicator
from nsysflow.job.talks import talks_of
from tests.support.export import Export, us
from tests.support.job_run import NCCL, Job, Planted, job_of
from tests.support.schemas import check

# One op: its lane, the peers that it names, its step.
Said = tuple[int, tuple[int, ...], int]
LATE = (0, us(30), us(90), us(10))


def ops_of(said: Sequence[Said], ranks: int = -1) -> Ops:
    """Ops of one communicator, in the order given on each lane."""
    sets = tuple(dict.fromkeys(peers for _, peers, _ in said))
    count = len(said)
    column = {name: np.full(count, -1, np.int64) for name in ("comm_rank", "root", "bytes", "peer")}
    column |= {
        "lane": np.array([lane for lane, _, _ in said]),
        "step": np.array([step for _, _, step in said]),
        "start_ns": np.arange(count) * 1_000,
        "end_ns": np.arange(count) * 1_000 + 500,
        "order_ns": np.arange(count) * 1_000,
        "op": np.full(count, OP["send_recv"]),
        "comm": np.zeros(count, np.int64),
        "ranks": np.full(count, ranks),
        "peers": np.array([sets.index(peers) for _, peers, _ in said]),
    }
    return Ops(column, np.ones(count, np.bool_), ("0x1",), sets)


def pairs_of(ops: Ops) -> set[tuple[int, int]]:
    found = talks_of(ops, ops["step"], np.zeros(len(ops), np.bool_))
    return {(int(a), int(b)) for a, b in zip(found.one, found.other, strict=True)}


def expected(said: Sequence[Said]) -> set[tuple[int, int]]:
    """The k-th op of a rank that names a peer with the k-th of that peer that names the rank."""
    found = set()
    for at, (lane, peers, step) in enumerate(said):
        for peer in peers:
            place = sum(1 for other, p, s in said[:at] if (other, s) == (lane, step) and peer in p)
            theirs = [
                k
                for k, (other, p, s) in enumerate(said)
                if (other, s) == (peer, step) and lane in p
            ]
            if peer != lane and place < len(theirs):
                found.add((at, theirs[place]))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_talks_against_counting_by_hand(seed: int) -> None:
    random = np.random.default_rng(seed)
    ranks = int(random.integers(2, 6))
    said: list[Said] = [(lane, (lane,), 0) for lane in range(ranks)]
    for _ in range(int(random.integers(5, 40))):
        count = int(random.integers(1, ranks))
        peers = random.choice(ranks, count, replace=False).tolist()
        said.append((int(random.integers(ranks)), tuple(sorted(peers)), int(random.integers(2))))
    assert pairs_of(ops_of(said)) == expected(said)


def test_a_ring_is_one_instance_and_a_chain_by_twos_is_several() -> None:
    ring: list[Said] = [(k, tuple(sorted(((k - 1) % 4, (k + 1) % 4))), 0) for k in range(4)]
    found = by_communicator(ops_of(ring), np.zeros(4, np.int64))
    assert found.instance.tolist() == [0, 0, 0, 0]
    assert [group.lanes for group in found.groups] == [(0, 1, 2, 3)]
    chain: list[Said] = [(0, (1,), 0), (1, (0,), 0), (1, (2,), 0), (2, (1,), 0)]
    found = by_communicator(ops_of(chain, ranks=3), np.zeros(4, np.int64))
    assert found.instance.tolist() == [0, 0, 1, 1]
    assert [(group.lanes, group.size) for group in found.groups] == [((0, 1), 2), ((1, 2), 2)]


def test_ranks_of_a_communicator_that_are_not_all_here_have_no_seats() -> None:
    said: list[Said] = [(0, (1,), 0), (1, (0,), 0)]
    assert pairs_of(ops_of(said, ranks=2)) == {(0, 1), (1, 0)}
    # Of four ranks two are here: the lanes may be any of them.
    assert pairs_of(ops_of(said, ranks=4)) == set()


def ring(peers: bool = True) -> Any:
    """A ring of four ranks, each of whose kernels sends to the next and receives from the last."""

    def more(export: Export, rank: int, _step: int, begin: int) -> None:
        pid, at = 100 + rank, begin + us(36)

        def call(name: str, length: int, **fields: int) -> None:
            nonlocal at
            text = {"jsonText": json.dumps(fields)} if fields else {}
            export.nvtx(name, at, at + length, pid=pid, domain=NCCL, registered=True, **text)
            at += length + 100

        call("ncclGroupStart", 200)
        for name, peer in (("ncclSend", (rank + 1) % 4), ("ncclRecv", (rank - 1) % 4)):
            told = {"NCCL communicator ID": 5, "Message size [bytes]": 1 << 20}
            call(name, 200, **(told | ({"Peer rank": peer} if peers else {})))
        launch = (at + 500, at + 900)
        call("ncclGroupEnd", 2_000)
        kernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
        start, end = begin + us(100) + LATE[rank], begin + us(250)
        export.kernel(kernel, start, end, pid=pid, stream=21, launch=launch)

    return more


def made(folder: Path, **more: Any) -> Job:
    run = Planted(4, 6, lambda _rank, step: us(600 + step), payload=True, **more)
    return job_of(run.write(folder / "run"), folder)


def row_of(job: Job, rank: int) -> dict[str, Any]:
    items = job.lanes[f"{rank:04d}"]["collectives"]["items"]
    (found,) = [item for item in items if item["op"] == "send_recv"]
    return dict(found)


def test_a_rank_of_a_ring_waits_for_its_neighbours_alone(tmp_path: Path) -> None:
    job = made(tmp_path, more=ring())
    check(job.result, "result-1")
    kept = len(job.result["walk"]["steps"])
    for rank in range(4):
        # Rank 0 is no neighbour of rank 2, which comes last.
        last = max(LATE[(rank + k) % 4] for k in (-1, 0, 1))
        found = row_of(job, rank)
        assert found["count"] == kept
        assert found["wait_ns"] == kept * (last - LATE[rank])
        assert found["transfer_ns"] == kept * (us(150) - last)
    (group,) = [g for g in job.result["collectives"]["groups"] if int(g["communicator"], 16) == 5]
    assert group["members"] == ["0000", "0001", "0002", "0003"]
    assert group["unsplit"] is None


def test_without_peers_it_stays_unsplit_and_says_why(tmp_path: Path) -> None:
    job = made(tmp_path, more=ring(peers=False))
    for rank in range(4):
        assert (row_of(job, rank)["wait_ns"], row_of(job, rank)["transfer_ns"]) == (None, None)
    (group,) = [g for g in job.result["collectives"]["groups"] if int(g["communicator"], 16) == 5]
    assert group["unsplit"].endswith("not split: who sends to whom was not recorded")
    assert group["wait_ns"] is None
