"""What a runner does with a tree whose warden has died: it inherits it, and ends it.

A runner is a subreaper too, so the orphans of its wardens become its own children. They are ended
by the one ladder, ``tree.TreeEnding``; the living wardens beside them are left alone.

It must never wait or read a clock: the runner's loop advances it.
"""

from sidecar.procs import prctl, scopes, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection


def become_subreaper() -> bool:
    """Let the orphans of this process's wardens come to it; whether that holds now."""
    return prctl.set_subreaper()


class EndInherited:
    """Ends everything below the calling runner but its living wardens and their trees.

    ``wardens`` are the pids of those not yet reaped; it is looked at each time, so keep it up to
    date. ``exits`` are ``(pid, "code"|"signal", n)`` of what was reaped, the agent among them.
    ``result``, ``advance`` and ``shorten`` are those of ``tree.TreeEnding``.
    """

    def __init__(self, now_ms: int, grace_ms: int, wardens: "Collection[int]" = ()) -> None:
        """Begin; if this process is no subreaper, it is over at once, as unknown."""
        self.exits: list[tuple[int, str, int]] = []
        self._below = scopes.Below(wardens)
        self._ending = tree.TreeEnding(now_ms, grace_ms, self._below)
        if not become_subreaper():
            why = "the warden died, and what it kept could not be inherited here"
            self._ending.result = ("unknown", "warden-lost", why)

    @property
    def result(self) -> tuple[str, str, int] | tuple[str, str, str] | None:
        """``None``, ``("observed", mechanism, killed)`` or ``("unknown", reason, diagnostic)``."""
        return self._ending.result

    def shorten(self, now_ms: int, grace_ms: int) -> None:
        """Bring KILL forward to ``now_ms + grace_ms``."""
        self._ending.shorten(now_ms, grace_ms)

    def advance(self, now_ms: int) -> int | None:
        """Do what is due; return when there is more to do, ``None`` once there is a result."""
        wake_at = self._ending.advance(now_ms)
        for pid, status in self._below.exits:
            self.exits.append((pid, *tree.exit_of(status)))
        self._below.exits.clear()
        return wake_at
