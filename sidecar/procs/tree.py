"""Ending a process tree: TERM to every member, grace, KILL until nothing is left, or say why not.

This is the one ladder there is: stop, deadline, leftovers after a normal exit and inheritance after
a crash all end here. Proof that nothing is left is ECHILD, the kernel's word that a subreaper has
no child any more, zombie or alive; a listing is only how members are found.

No other module signals a process of an agent. This one must never wait or read a clock: it is
advanced by a loop that owns both. It imports only what the boot path may.
"""

import errno
import posix

from sidecar.core import policy
from sidecar.procs import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from typing import Literal

    from sidecar.procs.scopes import Scope
else:
    import _signal

# How often a tree is looked at again while its grace lasts: members forked meanwhile are asked too.
# From quick, so that a willing tree costs no time, to lazy, so that a slow one costs no work.
_ASK_FIRST_MS = 10
_ASK_LAST_MS = 160

# Ends wake us by SIGCHLD; this is for whoever dies below somebody else's eyes.
_KILL_POLL_MS = 10

# One advance may look so often for members that were forked while it stopped the others, and at so
# many in all, which is a fraction of a second. After the first looks in vain it takes whole groups:
# one system call is faster than any storm of forks.
_FREEZE_ROUNDS = 200
_FREEZE_LOOKS = 4000
_STORM_ROUND = 3

_NAMED_SURVIVORS = 20

SENT = "sent"
GONE = "gone"
NOT_PERMITTED = "not-permitted"


def send_to(pid: int, ticks: int | None, number: int) -> str:
    """Send one signal to the process recorded as (pid, start ticks), and to no other.

    The pidfd pins the process, and the ticks compared behind it say that it is the recorded one.
    Returns ``sent``, ``gone`` (ended, or the pid belongs to another by now) or ``not-permitted``.
    """
    try:
        pidfd = posix.pidfd_open(pid)
    except ProcessLookupError:
        return GONE
    except (OSError, AttributeError):
        pidfd = -1  # no pidfd here, or no descriptor left; the comparison below still holds
    try:
        if identity.start_ticks(pid) != ticks:
            return GONE
        if pidfd == -1:
            posix.kill(pid, number)
        else:
            _signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return GONE
    except PermissionError:
        return NOT_PERMITTED
    finally:
        if pidfd != -1:
            posix.close(pidfd)
    return SENT


def send_to_child(pid: int, number: int) -> str:
    """Send one signal to a child of this process that has not been reaped.

    It keeps its pid until we reap it, so there is nobody to confuse it with; and what forks and
    exits again and again is caught by one call sooner than by five.
    """
    return _answer(posix.kill, pid, number)


def send_to_group(pgrp: int, number: int) -> str:
    """Send one signal to a whole process group, which the caller knows to be pinned and its own."""
    return _answer(posix.killpg, pgrp, number)


def exit_of(status: int) -> 'tuple[Literal["code", "signal"], int]':
    """Turn a wait status into ``("code", n)`` or ``("signal", n)``."""
    code = posix.waitstatus_to_exitcode(status)
    return ("code", code) if code >= 0 else ("signal", -code)


def _answer(send: "Callable[[int, int], None]", to: int, number: int) -> str:
    try:
        send(to, number)
    except ProcessLookupError:
        return GONE
    except PermissionError:
        return NOT_PERMITTED
    return SENT


class TreeEnding:
    """One walk down the ladder.

    ``advance`` does what is due and never blocks; call it again after each SIGCHLD and at the time
    it names. All times are milliseconds of one clock, any clock. ``result`` is ``None`` until it is
    ``("observed", mechanism, killed)`` or ``("unknown", reason, diagnostic)``, and then stays.
    """

    def __init__(self, now_ms: int, grace_ms: int, scope: "Scope") -> None:
        """Begin with TERM, or with KILL if there is no grace."""
        self.result: tuple[str, str, int] | tuple[str, str, str] | None = None
        self._scope = scope
        self._kill_at = now_ms + grace_ms
        self._give_up_at: int | None = None
        self._pause_ms = _ASK_FIRST_MS
        self._asked: set[tuple[int, int]] = set()
        self._stopped: set[tuple[int, int]] = set()
        self._killed: set[tuple[int, int]] = set()
        self._refused: set[tuple[int, int]] = set()

    @property
    def is_over(self) -> bool:
        """Whether there is a result."""
        return self.result is not None

    @property
    def killed(self) -> int:
        """How many members have needed KILL so far."""
        return len(self._killed)

    def shorten(self, now_ms: int, grace_ms: int) -> None:
        """Bring KILL forward to ``now_ms + grace_ms``; it is never put off."""
        self._kill_at = min(self._kill_at, now_ms + grace_ms)

    def advance(self, now_ms: int) -> int | None:
        """Do what is due at ``now_ms``; return when there is more to do, ``None`` if never."""
        if self.result is None and self._scope.reap():
            self.result = ("observed", self._scope.mechanism, self.killed)
        if self.result is not None:
            return None
        if now_ms < self._kill_at:
            return self._ask(now_ms)
        return self._kill(now_ms)

    def _ask(self, now_ms: int) -> int:
        for member in self._scope.members():
            if self._is_new(member, self._asked):
                self._signal(member, _signal.SIGTERM)
                # A stopped process acts on TERM only once it goes on.
                self._signal(member, _signal.SIGCONT)
        wake_at = min(now_ms + self._pause_ms, self._kill_at)
        self._pause_ms = min(self._pause_ms * 2, _ASK_LAST_MS)
        return wake_at

    def _kill(self, now_ms: int) -> int | None:
        if self._give_up_at is None:
            self._give_up_at = now_ms + policy.KILL_VERIFY_MS
        for member in self._freeze():
            if self._signal(member, _signal.SIGKILL) == SENT:
                self._killed.add((member.pid, member.ticks))
        if self._scope.reap():
            self.result = ("observed", self._scope.mechanism, self.killed)
            return None
        if now_ms >= self._give_up_at:
            self._give_up()
            return None
        return min(now_ms + _KILL_POLL_MS, self._give_up_at)

    def _freeze(self) -> list[identity.Stat]:
        """Stop every member until a look finds no new one, and return them all.

        Who is stopped starts nothing new: no child, and no replacement for a child that was killed.
        """
        found: list[identity.Stat] = []
        n_looks = 0
        for round_no in range(_FREEZE_ROUNDS):
            if n_looks > _FREEZE_LOOKS:
                break
            found = self._scope.members()
            n_looks += len(found)
            fresh = [member for member in found if self._is_new(member, self._stopped)]
            if not fresh:
                break
            for member in fresh:
                stopped = self._signal(member, _signal.SIGSTOP) == SENT
                if stopped and round_no >= _STORM_ROUND:
                    self._killed.add((member.pid, member.ticks))
                    self._scope.kill_group_of(member)
            self._scope.reap()
        return found

    def _is_new(self, member: identity.Stat, seen: set[tuple[int, int]]) -> bool:
        key = (member.pid, member.ticks)
        if key in seen:
            return False
        seen.add(key)
        return True

    def _signal(self, member: identity.Stat, number: int) -> str:
        answer = self._scope.signal(member, number)
        if answer == NOT_PERMITTED:
            self._refused.add((member.pid, member.ticks))
        return answer

    def _give_up(self) -> None:
        left = self._scope.members()
        refused = [stat for stat in left if (stat.pid, stat.ticks) in self._refused]
        named = " ".join(str(stat.pid) for stat in (refused or left)[:_NAMED_SURVIVORS])
        more = len(refused or left) - _NAMED_SURVIVORS
        named += f" and {more} more" if more > 0 else ""
        if refused:
            why = f"{posix.strerror(errno.EPERM)}, still alive: {named}"
            self.result = ("unknown", NOT_PERMITTED, why)
        else:
            why = f"still there {policy.KILL_VERIFY_MS} ms after the first KILL: {named or '?'}"
            self.result = ("unknown", "verification-failed", why)
