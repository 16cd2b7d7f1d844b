"""True time and what each capture's clock makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nsysflow.demo.plan import GPUS_PER_HOST
from nsysflow.demo.record import ABSENT

if TYPE_CHECKING:
    from nsysflow.demo.plan import Plan
    from nsysflow.demo.record import Times

EPOCH_NS = 1_760_000_000_000_000_000
JOB_START_NS = 5_000_000_000  # true time of the first step; captures begin before it
LATEST_SESSION_NS = 3_000_000_000
HOST_ERROR_NS = 4_000_000  # how far apart the hosts' calendars are
BILLION = 1_000_000_000


@dataclass(frozen=True)
class Clock:
    """The clock of one capture: 0 at ``session_ns`` of true time, fast by ``drift_ppb``.

    ``host_error_ns`` is how far the host's calendar is ahead of the truth.
    """

    session_ns: int
    drift_ppb: int
    host_error_ns: int

    def local(self, true_ns: Times) -> Times:
        """Return times on this clock; order is kept, absent rows stay absent."""
        since = true_ns - self.session_ns
        shown = since + since * self.drift_ppb // BILLION
        return np.where(true_ns == ABSENT, ABSENT, shown)

    def at(self, true_ns: int) -> int:
        """Return what this clock shows at one true instant."""
        return int(self.local(np.array(true_ns)))

    @property
    def utc_ns(self) -> int:
        """What the host believed the date was when the session began."""
        return EPOCH_NS + self.session_ns + self.host_error_ns

    @property
    def boot_ns(self) -> int:
        """The host's monotonic clock at that moment."""
        return 40_000_000_000_000 + self.session_ns


def clocks(plan: Plan) -> list[Clock]:
    """Return the clock of every rank; ranks of one host share drift and calendar."""
    random = np.random.default_rng([plan.seed, 77])
    hosts = -(-plan.ranks // GPUS_PER_HOST)
    errors = random.integers(-HOST_ERROR_NS, HOST_ERROR_NS, hosts)
    drifts = random.integers(-plan.drift_ppb, plan.drift_ppb + 1, hosts)
    sessions = random.integers(0, LATEST_SESSION_NS, plan.ranks)
    return [
        Clock(
            int(sessions[rank]), int(drifts[rank // GPUS_PER_HOST]),
            int(errors[rank // GPUS_PER_HOST]),
        )
        for rank in range(plan.ranks)
    ]  # fmt: skip
