"""When the server ends, and with which code; and who is collected while it lives.

    the client says ``exit``                 0 after ``shutdown``, else 1
    its stream ends, or it is gone           0 after ``shutdown``, else 1
    SIGHUP, SIGINT, SIGTERM                  0 after ``shutdown``, else 129, 130, 143

None of these touches a run. A client whose process cannot be watched, because it said no process
or one that is not to be seen from here (another container), is watched by its stream alone, and
that is said on stderr.

This module must never signal anybody.
"""

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from typing import Final

from sidecar.procs import identity, spawn
from sidecar.server.diary import log

SIGNAL_BASE: Final = 128
ENDING: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
POLL_S: Final = 0.5
"""How often a client is looked at where the kernel cannot tell; its death shows within 1 s."""


class Lifetime:
    """The first reason to end wins; ``over`` then says the code."""

    def __init__(self, loop: asyncio.AbstractEventLoop, exit_code: Callable[[], int]) -> None:
        self._loop = loop
        self._exit_code = exit_code
        self._pidfd: int | None = None
        self._poll: asyncio.TimerHandle | None = None
        self.over: asyncio.Future[int] = loop.create_future()

    def end(self, code: int | None = None, why: str = "") -> None:
        """Begin to end; ``code`` is the connection's own if it is not given."""
        if self.over.done():
            return
        if why:
            log.info("ending: %s", why)
        self.over.set_result(self._exit_code() if code is None else code)

    def watch_signals(self) -> None:
        """Let the usual signals end the server, but for those it was started to ignore (nohup)."""
        for number in ENDING:
            if number is signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
                self._loop.add_signal_handler(number, self._signalled, number)
        # Whoever started us may have blocked them; a mask is inherited.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*ENDING, signal.SIGCHLD})

    def watch_client(self, pid: int | None) -> None:
        """End when the client's process does, if there is one to be watched."""
        if pid is None:
            log.info("the client says no processId: only the end of its stream ends the server")
            return
        try:
            self._pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError) as exc:
            self._watch_by_polling(pid, exc)
            return
        self._loop.add_reader(self._pidfd, self._client_gone)

    def close(self) -> None:
        """Watch nothing any more."""
        for number in ENDING:
            self._loop.remove_signal_handler(number)
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._poll is not None:
            self._poll.cancel()

    def _signalled(self, number: signal.Signals) -> None:
        code = 0 if self._exit_code() == 0 else SIGNAL_BASE + number
        self.end(code, f"signal {number.name}")

    def _client_gone(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
        self.end(None, "the client's process is gone")

    def _watch_by_polling(self, pid: int, refusal: Exception) -> None:
        ticks = identity.start_ticks(pid) if pid > 0 else None
        no_such = isinstance(refusal, ProcessLookupError) or (
            isinstance(refusal, OSError) and refusal.errno == errno.EINVAL
        )
        if no_such or ticks is None:
            log.info(
                "no process %d is to be seen from here: only the end of its stream ends the server",
                pid,
            )
            return
        self._look_at(pid, ticks)

    def _look_at(self, pid: int, ticks: int) -> None:
        if identity.state_of(pid, ticks, identity.boot_id()) == identity.DEAD:
            self._client_gone()
        else:
            self._poll = self._loop.call_later(POLL_S, self._look_at, pid, ticks)


class Nursery:
    """Collects the runners this server started, so that none stays behind as a zombie."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_ended: Callable[[str], None],
        reap: Callable[[int], int | None] = spawn.reap,
    ) -> None:
        self._loop = loop
        self._on_ended = on_ended
        self._reap = reap
        self._children: dict[int, str] = {}

    def watch(self) -> None:
        """Take SIGCHLD; this also undoes that it was ignored when we were started."""
        self._loop.add_signal_handler(signal.SIGCHLD, self.collect)

    def add(self, pid: int, run_id: str) -> None:
        """A runner of ours; it may be over already."""
        self._children[pid] = run_id
        self.collect()

    def collect(self) -> None:
        """Collect those that are over."""
        for pid, run_id in list(self._children.items()):
            if self._reap(pid) is not None:
                del self._children[pid]
                self._on_ended(run_id)

    def close(self) -> None:
        """Whoever is left goes to init."""
        self._loop.remove_signal_handler(signal.SIGCHLD)
