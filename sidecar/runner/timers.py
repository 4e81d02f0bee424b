"""The runner's deadlines.

Owns when a run's or a step's time is up, in monotonic milliseconds: a clock that is set, or jumps
after a suspend, moves no deadline.  This module must never decide what follows.
"""

from sidecar.core.effects import SetDeadline
from sidecar.core.events import DeadlinePassed


class Deadlines:
    """At most one deadline for the run (key ``None``) and one for each step."""

    def __init__(self) -> None:
        self._at: dict[int | None, tuple[int, int]] = {}

    def set(self, order: SetDeadline, now: int) -> None:
        """Arms or re-arms the deadline of ``order``."""
        self._at[order.step] = (now + order.delay_ms, order.timeout_ms)

    def clear(self) -> None:
        """Forgets all."""
        self._at.clear()

    @property
    def next_at(self) -> int | None:
        """When the first one is due."""
        return min((at for at, _ in self._at.values()), default=None)

    def passed(self, now: int) -> list[DeadlinePassed]:
        """The deadlines that are due, each told once."""
        due = [step for step, (at, _) in self._at.items() if at <= now]
        return [DeadlinePassed(step=step, timeout_ms=self._at.pop(step)[1]) for step in due]
