"""From nsysflow.toml and the command line to Settings; every key is checked."""

from __future__ import annotations

from nsysflow.config.load import FILE_NAME, load_settings

__all__ = ["FILE_NAME", "load_settings"]
