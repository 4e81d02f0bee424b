"""Words for developers on stderr, from everybody in this process, that never make anybody wait.

An editor that reads its servers' stderr slowly, or not at all, must not stall them: a line is
written only if it fits at once, and those that did not are counted and told of later. A line is
never longer than a pipe takes whole, so that lines of several processes do not mix.

This module must never be handed a prompt or an environment value.
"""

import logging
import os
import select
from typing import Final

from sidecar.server.stdio import STDERR

LINE_MAX: Final = select.PIPE_BUF

log: Final = logging.getLogger("sidecar.server")


class Diary(logging.Handler):
    """Writes log records to a descriptor, each as one line, or drops them."""

    def __init__(self, fd: int = STDERR) -> None:
        super().__init__()
        self._fd = fd
        self._dropped = 0
        self.setFormatter(logging.Formatter("sidecar: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, if it can be done without waiting."""
        line = self.format(record).rstrip("\n").replace("\n", "\n    ")
        if self._dropped:
            line = f"({self._dropped} lines were dropped here)\n{line}"
        data = line.encode("utf-8", "backslashreplace")[: LINE_MAX - 1] + b"\n"
        self._dropped = 0 if self._write(data) else self._dropped + 1

    def _write(self, data: bytes) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        events = poll.poll(0)
        if not events or not events[0][1] & select.POLLOUT:
            return False
        try:
            os.write(self._fd, data)
        except OSError:
            return False  # nobody is there to be told
        return True


def open_diary() -> None:
    """From now on all logging of this process goes to stderr through a ``Diary``.

    Libraries tell only what went wrong: pygls logs whole messages at the lower levels.
    """
    root = logging.getLogger()
    root.handlers[:] = [Diary()]
    root.setLevel(logging.WARNING)
    log.setLevel(logging.INFO)
    # pygls tells of what it also answers, with whole messages and tracebacks.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
