"""Who is who: which process on which GPU is which rank, and how that is known."""

from __future__ import annotations

from nsysflow.rank.captures import gpu_rows, load_captures
from nsysflow.rank.lane import Lane, RankTable
from nsysflow.rank.table import rank_table
from nsysflow.rank.usermap import check_rank_map

__all__ = ["Lane", "RankTable", "check_rank_map", "gpu_rows", "load_captures", "rank_table"]
