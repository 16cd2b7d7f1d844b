"""A lane's own document and the lane's share of the job, as one document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsysflow.analyse import causes
from nsysflow.analyse.document import judge
from nsysflow.analyse.stored import Stored

if TYPE_CHECKING:
    from nsysflow.job.shares import LaneShare
    from nsysflow.settings import Settings


CHANGED = (
    "causes", "attribution", "categories", "collectives", "efficiency", "mfu", "findings",
)  # fmt: skip


def compose(
    document: Stored,
    share: LaneShare,
    settings: Settings,
    world: int | None,
    captured: int | None,
) -> None:
    """Tell waiting from transfer in a lane's document, and judge it anew; changed in place.

    Raises:
        AssertionError: the parts do not sum to the lane's exposed communication.
    """
    found = document["causes"]
    # What categories count as data loading beside the idle cause are exposed copies.
    input_ns = document["categories"]["data_loading"]["ns"] - found["idle"]["data_loading"]
    found["exposed_comm"] = share.parts
    document["attribution"] = causes.attribution(document["buckets"], found)
    document["categories"] = causes.categories(document["buckets"], found, input_ns)
    for item in document["collectives"].get("items") or ():
        key = (item["op"], item["op_source"], item["communicator"])
        item.update(share.items.get(key, {}))
    causes.check(document)
    judge(document, settings, world, captured, alone=False)
    document.replace(*CHANGED)
