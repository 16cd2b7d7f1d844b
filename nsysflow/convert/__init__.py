"""Raw tables of one input -> the canonical store of one trace."""

from __future__ import annotations

from nsysflow.convert.identity import store_key, trace_folder
from nsysflow.convert.trace import convert_trace

__all__ = ["convert_trace", "store_key", "trace_folder"]
