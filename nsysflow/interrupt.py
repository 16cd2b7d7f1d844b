"""An interrupt stays one: engines that are struck by it raise errors of their own in its place."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

_struck: BaseException | None = None


def raise_on(make: Callable[[], BaseException], *numbers: signal.Signals) -> None:
    """Raise what ``make`` returns wherever one of the signals strikes."""

    def strike(_number: int, _frame: FrameType | None) -> None:
        global _struck  # noqa: PLW0603 - a signal strikes the process, not an object of it
        _struck = make()
        raise _struck

    for number in numbers:
        signal.signal(number, strike)


def again() -> None:
    """Raise what a signal raised before, if any did; call it wherever an error is caught and kept.

    DuckDB and Arrow turn an interrupt into an error that looks like a fault of what they work on.
    """
    if _struck is not None:
        raise _struck
