"""Model FLOPs utilisation, from what the user says about the model and what was measured."""

from __future__ import annotations

from nsysflow.mfu.section import job_section, lane_section

__all__ = ["job_section", "lane_section"]
