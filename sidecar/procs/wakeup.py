"""Signals of a runner as bytes in a pipe, so that its one loop can wait for them with the rest.

TERM asks the runner to end its run; CHLD says that a warden, or something a dead warden left, has
ended.  This module must never act on a signal, and must never be used by a warden, which has its
own.
"""

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

_READ_SIZE = 512


class Wakeup:
    """The pipe; one per process, for the rest of its life."""

    def __init__(self) -> None:
        """Take over TERM and CHLD.  HUP and INT stay ignored, as the boot path left them."""
        self.fd, write_fd = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        _signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
        # A handler must exist for the wake-up to be written; what it would do is done by the loop.
        _signal.signal(_signal.SIGTERM, _pass)
        _signal.signal(_signal.SIGCHLD, _pass)
        # The boot path held TERM back until now.
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGTERM,))

    def take(self) -> bool:
        """Empties the pipe; whether one of the signals in it was TERM."""
        is_terminated = False
        while True:
            try:
                numbers = posix.read(self.fd, _READ_SIZE)
            except BlockingIOError:
                return is_terminated
            is_terminated = is_terminated or _signal.SIGTERM in numbers


def _pass(number: int, frame: object) -> None:
    """Nothing: see ``Wakeup``."""


def reap(pid: int) -> bool:
    """Collect a child that has ended; whether it is gone (also if it was no child of ours)."""
    try:
        return posix.waitpid(pid, posix.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
