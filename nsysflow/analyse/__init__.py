"""Lanes, then the job: ordered SQL over the store, judged into result documents."""

from nsysflow.analyse.job import Files, analyse_job
from nsysflow.analyse.lane import analyse_lane, lane_folder
from nsysflow.analyse.stored import Stored

__all__ = ["Files", "Stored", "analyse_job", "analyse_lane", "lane_folder"]
