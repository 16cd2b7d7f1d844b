"""From the RUN of a command line to the inputs that will be read."""

from __future__ import annotations

from nsysflow.find.inputs import Failure, Found, Input, find_inputs
from nsysflow.find.names import trace_stem

__all__ = ["Failure", "Found", "Input", "find_inputs", "trace_stem"]
