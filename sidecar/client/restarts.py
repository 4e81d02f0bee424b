"""How often a lost server is replaced: as often as something may go wrong, not as often as it does.

This module must never look at the clock.
"""

from collections import deque
from typing import Final

RESTARTS_MAX: Final = 5
WITHIN_S: Final = 60.0
"""Servers that are lost more often than this do not die by accident, and a script that waits for
the next one would wait for ever."""


class Restarts:
    """Counts the replacements of the last minute."""

    def __init__(self) -> None:
        self._at: deque[float] = deque(maxlen=RESTARTS_MAX)

    def allow(self, now_s: float) -> bool:
        """Whether a server may be started in the place of a lost one, now; if so it is counted."""
        if len(self._at) == RESTARTS_MAX and now_s - self._at[0] < WITHIN_S:
            return False
        self._at.append(now_s)
        return True
