"""The clock of the command line: here ``now`` is made, and handed in everywhere else.

This module must never decide anything by it.
"""

import time


def now_ms() -> int:
    """Milliseconds since the epoch, for what people read and what is recorded."""
    return time.time_ns() // 1_000_000


def ticks_ms() -> int:
    """Milliseconds that only go forward, for deadlines."""
    return time.monotonic_ns() // 1_000_000
