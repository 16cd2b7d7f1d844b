"""What is known of a lane once its windows stand; every section is judged against it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from nsysflow.analyse.intervals import Spans
from nsysflow.analyse.ops import Ops
from nsysflow.analyse.owned import own_ops
from nsysflow.analyse.stepping import NS
from nsysflow.analyse.steps import HostStep, put_ranges
from nsysflow.analyse.windows import Steps, Window
from nsysflow.analyse.workspace import Row, Workspace
from nsysflow.errors import UsageError
from nsysflow.model import BUCKETS


@dataclass
class Facts:
    """One lane's windows and level-1 rows.

    ``primary`` is (context, stream) of the primary compute stream; ``span`` the row of lane_span;
    ``lanes`` first and last lane of the process, which are numbered together;
    ``shift`` the slice size of every time bucket; ``ops`` its device work; ``levels`` the level-1
    row of each segment.
    """

    process: int
    primary: tuple[int | None, int | None]
    span: Row
    steps: Steps
    shift: int
    lanes: tuple[int, int]
    ops: Ops
    levels: dict[int, Row] = field(default_factory=dict)
    host_rows: Row = field(default_factory=dict)

    SEGMENT: ClassVar[dict[str, str]] = {
        "segment": "int32",
        "step": "int32",
        "kept": "bool",
        "start_ns": "int64",
        "end_ns": "int64",
    }

    def segments(self) -> list[Row]:
        """Return the windows, and what lies before and after them, as one gapless time line."""
        windows = self.steps.windows
        first, last = windows[0].start_ns, windows[-1].end_ns
        rows = [
            {
                "step": None,
                "kept": False,
                "start_ns": min(first, self.span["start_ns"]),
                "end_ns": first,
            },
            *(
                {"step": w.index, "kept": w.kept, "start_ns": w.start_ns, "end_ns": w.end_ns}
                for w in windows
            ),
            {
                "step": None,
                "kept": False,
                "start_ns": last,
                "end_ns": max(last, self.span["end_ns"]),
            },
        ]
        return [{"segment": position, **row} for position, row in enumerate(rows)]

    @cached_property
    def kept(self) -> Spans:
        """The kept windows, each with the number of its step."""
        windows = self.steps.kept
        return Spans(
            np.array([window.start_ns for window in windows], np.int64),
            np.array([window.end_ns for window in windows], np.int64),
            np.array([window.index for window in windows], np.int64),
        )

    @property
    def reach(self) -> tuple[int, int]:
        """First and last instant of the time line."""
        rows = self.segments()
        return rows[0]["start_ns"], rows[-1]["end_ns"]

    def segment(self, window: Window) -> Row:
        """Return the level-1 row of a window."""
        return self.levels[self._position[window.index]]

    @cached_property
    def _position(self) -> dict[int, int]:
        # Segment 0 lies before the first window.
        return {window.index: place for place, window in enumerate(self.steps.windows, start=1)}

    @property
    def kept_rows(self) -> list[Row]:
        """Level-1 rows of the kept windows."""
        return [self.segment(window) for window in self.steps.kept]

    def total(self, column: str) -> int:
        """Sum a level-1 column over the kept windows."""
        return sum(row[column] for row in self.kept_rows)

    @property
    def window_ns(self) -> int:
        """Length of the kept windows together."""
        return self.total("window_ns")

    @property
    def whole(self) -> bool:
        """Whether the one window is the whole capture, so that every row is owned."""
        return self.steps.source == "none" and not self.chosen

    @property
    def chosen(self) -> bool:
        """Whether the user's ``--from/--to`` are the window."""
        return self.steps.chosen

    def check(self) -> None:
        """Hold the identity: the six states of every window sum to its length.

        Raises:
            AssertionError: a fault of the measurement, never of the capture.
            UsageError: the chosen time holds no device work.
        """
        for row in self.levels.values():
            parts = [row[bucket] for bucket in BUCKETS]
            if sum(parts) != row["window_ns"] or min(parts) < 0 or row["opaque_ns"] < 0:
                raise AssertionError(f"the states of a window do not sum to its length: {row}")
        if self.window_ns <= self.total("idle"):
            first, last = self.span["start_ns"] / NS, self.span["end_ns"] / NS
            raise UsageError(
                "the lane is idle all the time between --from and --to",
                hint=f"device work runs from {first:.6f} to {last:.6f} s",
            )

    def own(self, work: Workspace) -> None:
        """Decide which ops and calls belong to the kept steps."""
        ranges = [HostStep(None, *w.host) for w in self.steps.kept]
        put_ranges(work, [ranges])
        work.table("host_range_bucket", shift=self.shift)
        own_ops(work, self.ops, self.steps, self.kept, whole=self.whole)
        work.view("owned_op")
        work.view("owned_api", shift=self.shift, whole=self.whole, process=self.process)
        work.view("owned_os_call", shift=self.shift, whole=self.whole, process=self.process)
