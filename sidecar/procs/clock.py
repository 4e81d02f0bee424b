"""The two clocks of a warden: one that only goes forward, and one for people.

Whoever is advanced is given ``now``; only the loops of this package's own processes look here.
This module must never measure anything itself.
"""

import time


def now_ms() -> int:
    """Milliseconds that only go forward, for timers."""
    return time.monotonic_ns() // 1_000_000


def wall_ms() -> int:
    """Milliseconds since the epoch, for what people read (`*_at`)."""
    return time.time_ns() // 1_000_000  # noqa: TID251 - a warden is a process shell of its own
