"""Put the truth of a run together: collectives, kept steps, MFU. The format: ``truth.py``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from nsysflow.demo.clock import JOB_START_NS
from nsysflow.demo.comms import communicators
from nsysflow.demo.errands import LATE_HOST_NS, LATE_LOADER_NS
from nsysflow.demo.plan import GPUS_PER_HOST
from nsysflow.demo.sizes import PEAK_FLOPS
from nsysflow.demo.truth import settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsysflow.demo.clock import Clock
    from nsysflow.demo.comms import Communicator
    from nsysflow.demo.export import RankFile
    from nsysflow.demo.machine import Instance
    from nsysflow.demo.plan import Plan
    from nsysflow.demo.sizes import Sizes

FORMAT = 1
MOST_ARRIVALS = 20_000  # of all instances listed one by one
ANONYMOUS = {"pp_next": "pp", "pp_previous": "pp"}


@dataclass
class Report:
    """Collects what the ranks share and writes it down at the end."""

    plan: Plan
    sizes: Sizes
    comms: dict[tuple[int, str], Communicator]
    instances: dict[tuple[str, int, int], dict[str, Any]] = field(default_factory=dict)
    arrivals: int = 0

    def collectives(
        self, instances: Sequence[Instance], place: int, clock: Clock
    ) -> dict[str, dict[str, int]]:
        """Return one rank's collectives of a step, by communicator kind and operation."""
        found: dict[str, dict[str, int]] = {}
        for one in instances:
            key = f"{ANONYMOUS.get(one.ask.kind, one.ask.kind)}:{one.ask.op}"
            names = ("count", "bytes", "work_ns", "wait_ns", "transfer_ns")
            entry = found.setdefault(key, dict.fromkeys(names, 0))
            start, last, end = (
                int(clock.local(times[place])) for times in (one.arrivals, one.last, one.ends)
            )
            parts = (1, one.ask.bytes, end - start, last - start, end - last)
            for name, part in zip(names, parts, strict=True):
                entry[name] += part
        return found

    def remember(self, instances: Sequence[Instance], first_rank: int, step: int) -> None:
        """List the collectives of a step one by one, as far as there is room."""
        counts: dict[str, int] = {}
        for one in instances:
            number = counts.get(one.ask.kind, 0)
            counts[one.ask.kind] = number + 1
            if self.arrivals > MOST_ARRIVALS:
                return
            for place in range(len(one.arrivals)):
                self._arrive(one, first_rank + place, place, step, number)

    def _arrive(self, one: Instance, rank: int, place: int, step: int, number: int) -> None:
        item = self.comms[rank, one.ask.kind]
        entry = self.instances.setdefault(
            (item.name, step, number),
            {
                "communicator": item.name,
                "op": one.ask.op,
                "step": step,
                "bytes": one.ask.bytes,
                "transfer_ns": one.ask.transfer_ns,
                "last_ns": int(one.last[place]),
                "end_ns": int(one.ends[place]),
                "arrivals_ns": [None] * len(item.members),
            },
        )
        entry["arrivals_ns"][item.members.index(rank)] = int(one.arrivals[place])
        self.arrivals += 1

    def truth(
        self,
        files: Sequence[RankFile],
        clocks: Sequence[Clock],
        steps: Sequence[list[dict[str, Any]]],
    ) -> dict[str, Any]:
        """Return the whole document."""
        for mine in steps:
            settle(mine)
        ranks = [
            self._rank(rank, file, clock, clocks[0], mine)
            for rank, (file, clock, mine) in enumerate(zip(files, clocks, steps, strict=True))
        ]
        measured = [rank for rank in ranks if rank["period_ns"]]
        return {
            "format": FORMAT,
            "plan": asdict(self.plan) | {"evidence": sorted(self.plan.evidence)},
            "layout": self._layout(),
            "model": self._model(),
            "communicators": [
                {"name": c.name, "kind": c.kind, "members": list(c.members), "hash": str(c.hash)}
                for c in communicators(self.plan).values()
            ],
            "straggler": self._straggler(),
            "late_by_step": [self.plan.slow_in(step) for step in range(self.plan.steps)],
            "ranks": ranks,
            "instances": list(self.instances.values()),
            "totals": {
                "period_ns": round(median(rank["period_ns"] for rank in measured)),
                "mfu": round(median(rank["mfu"] for rank in measured), 6),
                "kept": min(sum(step["kept"] for step in mine) for mine in steps),
            }
            if measured
            else None,
        }

    def _rank(
        self, rank: int, file: RankFile, clock: Clock, first: Clock, steps: list[dict[str, Any]]
    ) -> dict[str, Any]:
        kept = [step["end_ns"] - step["start_ns"] for step in steps if step["kept"]]
        period = round(sum(kept) / len(kept)) if kept else 0
        per_gpu = self.sizes.tokens_per_step / self.plan.ranks
        rate = per_gpu / (sum(kept) / len(kept) / 1e9) if kept else 0.0
        return {
            "rank": rank,
            "file": file.path.name,
            "host": f"node{rank // GPUS_PER_HOST + 1:03d}",
            "pid": file.pid,
            "device": file.device,
            "clock": {
                "session_true_ns": clock.session_ns,
                "drift_ppb": clock.drift_ppb,
                "utc_ns": clock.utc_ns,
                # As the first step begins: clocks that drift part before and after.
                "offset_ns": first.at(JOB_START_NS) - clock.at(JOB_START_NS),
            },
            "period_ns": period,
            "tokens_per_s_per_gpu": round(rate, 3),
            "mfu": round(rate * self.sizes.flops_per_token / PEAK_FLOPS, 6),
            "steps": steps,
        }

    def _layout(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "ranks": plan.ranks,
            "tp": plan.tensor_parallel,
            "pp": plan.pipeline_parallel,
            "replicas": plan.replicas,
            "data_parallel": plan.data_parallel,
            "layers": self.sizes.layers,
            "micro_batches": plan.shape[1],
        }

    def _model(self) -> dict[str, Any]:
        return {
            "params": self.sizes.parameters,
            "flops_per_token": self.sizes.flops_per_token,
            "attention": "causal",
            "tokens_per_step": self.sizes.tokens_per_step,
            "peak_flops": PEAK_FLOPS,
            "dtype": "bf16",
        }

    def _straggler(self) -> dict[str, Any] | None:
        if self.plan.slow_rank is None:
            return None
        extra = {"host": LATE_HOST_NS, "data": LATE_LOADER_NS}.get(self.plan.late)
        return {
            "rank": self.plan.slow_rank,
            "cause": self.plan.late,
            "extra_ns_per_step": extra,
        }
