"""Lanes, then the job: ordered SQL over the store, judged into result documents."""

from nsysflow.analyse.job import analyse_job
from nsysflow.analyse.lane import analyse_lane

__all__ = ["analyse_job", "analyse_lane"]
