"""The user's layout of the job: how many ranks share tensors, contexts, experts, data, stages.

Ranks are numbered as Megatron and PyTorch's device meshes number them: tensor parallel fastest,
then context, data, and pipeline slowest. Experts are spread over consecutive ranks of data and
context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

AXES = ("tp", "cp", "dp", "pp")
SIZES = (*AXES, "ep")


@dataclass(frozen=True)
class Layout:
    """Sizes of the axes; their product is the number of ranks, ``ep`` divides ``cp`` x ``dp``."""

    tp: int
    cp: int
    dp: int
    pp: int
    ep: int = 1

    def stage(self, rank: int) -> int:
        """Return the pipeline stage of a rank."""
        return rank // (self.tp * self.cp * self.dp)

    def kinds(self, ranks: Sequence[int], size: int) -> tuple[str, ...]:
        """Return what a communicator of ``size`` ranks, some of which are ``ranks``, may be for.

        Several where the layout alone does not tell: experts may be spread over the same ranks as
        the data. None where the ranks lie on no axis, as those of the whole job do.
        """
        if max(ranks) >= self.tp * self.cp * self.dp * self.pp:
            return ()
        places = [self._place(rank) for rank in ranks]
        varies = {axis for k, axis in enumerate(AXES) if len({place[k] for place in places}) > 1}
        if len(varies) == 1 and varies <= {"tp", "pp"}:
            return (varies.pop(),)
        if not varies or not varies <= {"cp", "dp"}:
            return ()
        found = []
        if self.ep > 1 and size == self.ep and self._share_experts(ranks):
            found.append("ep")
        if size == (self.cp if varies == {"cp"} else self._data(varies, ranks)):
            found.append("cp" if varies == {"cp"} else "dp")
        return tuple(found)

    def _place(self, rank: int) -> tuple[int, int, int, int]:
        tp, rest = rank % self.tp, rank // self.tp
        cp, rest = rest % self.cp, rest // self.cp
        return tp, cp, rest % self.dp, rest // self.dp

    def _spread(self, rank: int) -> int:
        """Return the place of a rank among those that share data and contexts."""
        return rank // self.tp % (self.cp * self.dp)

    def _share_experts(self, ranks: Sequence[int]) -> bool:
        """Whether every rank holds other experts of one set."""
        return len({self._spread(rank) // self.ep for rank in ranks}) == 1

    def _data(self, varies: set[str], ranks: Sequence[int]) -> int:
        """Return the size of the data-parallel group of these ranks."""
        same_experts = len({self._spread(rank) % self.ep for rank in ranks}) == 1
        if self.ep > 1 and same_experts:
            return self.cp * self.dp // self.ep
        return self.dp if varies == {"dp"} else self.cp * self.dp


def layout_of(job: Mapping[str, Any], world: int) -> tuple[Layout | None, str | None]:
    """Return the layout that ``[job]`` gives, or why it cannot be that of ``world`` ranks."""
    sizes = {name: int(job[name]) for name in SIZES if name in job}
    if not sizes:
        return None, None
    told = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    tp, cp, pp, ep = (sizes.get(name, 1) for name in ("tp", "cp", "pp", "ep"))
    dp = sizes.get("dp", world // (tp * cp * pp))
    if tp * cp * dp * pp != world:
        return None, f"the layout of [job] ({told}) does not fit {world} ranks: not used"
    if cp * dp % ep:
        return None, f"the layout of [job] ({told}): ep does not divide dp x cp: not used"
    return Layout(tp, cp, dp, pp, ep), None
