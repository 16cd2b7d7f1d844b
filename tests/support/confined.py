"""Run nsysflow under permissions as a user meets them, whoever runs the tests."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from tests.support.command import Ended

_PR_CAPBSET_DROP = 24
# What lets root read and write everything: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH.
_ALMIGHTY = (1, 2)


def confined(*arguments: object) -> Ended:
    """Run one command line for which the permissions of files hold, even if root runs it."""
    if not sys.platform.startswith("linux"):
        pytest.skip("capabilities are dropped as Linux does it")
    libc = ctypes.CDLL(None, use_errno=True)

    def drop() -> None:
        if os.geteuid() == 0:
            for capability in _ALMIGHTY:
                libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)

    command = [sys.executable, "-m", "nsysflow", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=drop)
    return Ended(done.returncode, done.stdout, done.stderr)
