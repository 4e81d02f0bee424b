"""Ctrl-C: never in the middle of a launch, and while waiting it means "leave it alone".

A run has a session of its own and never sees the terminal's signals; what is interrupted here is
only our looking at it.  This module must never end anything.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Holds Ctrl-C back until it is welcome."""

    def __init__(self) -> None:
        """Takes over SIGINT; from here on it is held back."""
        self._is_welcome = False
        self._has_come = False
        # Where it is ignored (nohup, a background job of a script), it stays ignored.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._came)

    @contextmanager
    def welcome(self) -> Iterator[None]:
        """Within, Ctrl-C raises ``KeyboardInterrupt``, also one that came before; afterwards
        further ones do nothing."""
        self._is_welcome = True
        try:
            if self._has_come:
                raise KeyboardInterrupt
            yield
        finally:
            self._is_welcome = False

    def _came(self, _number: int, _frame: FrameType | None) -> None:
        self._has_come = True
        if self._is_welcome:
            self._is_welcome = False
            raise KeyboardInterrupt
