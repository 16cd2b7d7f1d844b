"""Which links a communicator's bytes take, where counters or network adapters were recorded.

Within a host the counters of the GPUs tell: those that rise while a collective runs. Counters of
inactive links may read anything, so they are compared with the time without communication. Between
hosts the adapters that nsys lists tell what links them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from nsysflow.job.clocks import Capture
from nsysflow.job.lanes import NONE, Ints
from nsysflow.job.study import Study
from nsysflow.job.table import read_table

# Samples during a communicator's collectives below which its link is not told.
LEAST_SAMPLED = 5
# By how much a counter must rise, in hundredths of a percent.
RISE = 100
_NAMES = {"nvlink": "NVLink", "pcie": "PCIe"}
NO_COUNTERS = "no NVLink or PCIe counters were recorded (--gpu-metrics-devices=all)"
NO_ADAPTERS = "the hosts' network adapters were not recorded (--nic-metrics=true)"


class Links:
    """The links of communicators."""

    def __init__(self, study: Study, captures: Sequence[Capture]) -> None:
        """Look at ``study``; ``captures`` say which adapters the nodes have."""
        self._study, self._captures = study, captures
        # Most captures sample nothing: then no further file is opened.
        self._sampled = bool(
            (study.ops["nvlink"] != NONE).any() or (study.ops["pcie"] != NONE).any()
        )
        self.metrics = cache(self._metrics)

    def of(self, lanes: Sequence[int], rows: Ints) -> dict[str, Any]:
        """Return the link of a communicator's ``rows``, None if it cannot be told, and why."""
        files = {self._study.trace(lane) for lane in lanes}
        hosts = {self._study.lanes[lane].host for lane in lanes}
        if len(files) > 1 and None in hosts:
            return {"link": None, "link_evidence": "which hosts its ranks run on is not known"}
        link, evidence = self._between(lanes) if len(hosts) > 1 else self._within(lanes, rows)
        return {"link": link, "link_evidence": evidence}

    def _between(self, lanes: Sequence[int]) -> tuple[str | None, str]:
        kinds = {self._captures[self._study.trace(lane)].nics for lane in lanes}
        if () in kinds:
            return None, NO_ADAPTERS
        found = sorted({kind for each in kinds for kind in each})
        told = " and ".join(found)
        if len(found) > 1:
            return None, f"the hosts have {told} adapters: which of them it uses was not recorded"
        return found[0], f"the hosts have {told} adapters only"

    def _within(self, lanes: Sequence[int], rows: Ints) -> tuple[str | None, str]:
        if not self._sampled:
            return None, NO_COUNTERS
        seen = []
        for name, title in _NAMES.items():
            values = self._study.ops[name][rows]
            values = values[values != NONE]
            rest = [m[name] for m in map(self.metrics, lanes) if name in m]
            if len(values) < LEAST_SAMPLED:
                continue
            during = int(np.mean(values))
            before = int(np.mean(rest)) if rest else 0
            shown = f"{title} counters {during / 100:.1f} % during it, {before / 100:.1f} % else"
            if during >= before + RISE:
                return name, shown
            seen.append(shown)
        if seen:
            return None, f"no counter rises: {'; '.join(seen)}"
        return None, f"fewer than {LEAST_SAMPLED} of its collectives were sampled"

    def _metrics(self, lane: int) -> dict[str, int]:
        table = read_table(self._study.lanes[lane].folder / "lane_metric.parquet").to_pylist()
        return {row["metric"]: row["mean"] for row in table}
