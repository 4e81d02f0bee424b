"""Following a run: its output as it comes, until it is over or nobody reads on.

The logs are the truth, doorbells only say when to look.  A terminal gets plain text; a pipe gets
the bytes that the agent wrote.

This module must never write to a run, and never end one.
"""

import contextlib
import select
from collections.abc import Mapping

from sidecar.cli import clock
from sidecar.cli.plain_stream import PlainStream
from sidecar.cli.terminal import ReaderGone, Stream
from sidecar.control import read
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Context, Snapshot
from sidecar.control.watch import Watch
from sidecar.core import policy
from sidecar.core.errors import StorageError
from sidecar.core.states import Step

LOG_STREAMS = (read.Stream.STDOUT, read.Stream.STDERR)


class Outlet:
    """Where one log goes; ``raw`` passes control characters even to a terminal."""

    def __init__(self, stream: Stream, *, raw: bool = False) -> None:
        self._stream = stream
        self._plain = PlainStream() if stream.is_terminal and not raw else None
        self._at_line_start = True

    def write(self, data: bytes) -> None:
        """Passes ``data`` on.  Raises ``ReaderGone``."""
        if not data:
            return
        if self._plain is None:
            self._stream.write_bytes(data)
            self._at_line_start = data.endswith(b"\n")
        else:
            self._write_text(self._plain.feed(data))

    def fileno(self) -> int:
        """The descriptor that the log goes to."""
        return self._stream.fileno()

    def finish(self) -> None:
        """Passes on what was held back, and ends the line for whatever a person sees next."""
        if self._plain is not None:
            self._write_text(self._plain.finish())
        if self._stream.is_terminal and not self._at_line_start:
            self._stream.write("\n")

    def _write_text(self, words: str) -> None:
        if words:
            self._stream.write(words)
            self._at_line_start = words.endswith("\n")


class Follower:
    """Carries the logs of one run to their outlets, from given offsets on."""

    def __init__(
        self,
        context: Context,
        run_id: str,
        outlets: Mapping[read.Stream, Outlet],
        *,
        step: int | None = None,
        offsets: Mapping[read.Stream, int] | None = None,
    ) -> None:
        """``step`` is the only one to follow, if given; ``offsets`` belong to the first step."""
        self._context = context
        self._run_id = run_id
        self._outlets = outlets
        self._step = step
        self._first_offsets = dict(offsets or {})
        self._next: dict[tuple[int, int, read.Stream], int] = {}

    def catch_up(self) -> Snapshot:
        """Carries what is there now; the run as it was before that.  Raises as ``read.get``."""
        # The status first: once it says that the run is over, the logs are complete.
        snapshot = read.snapshot_of(self._context, self._run_id)
        for step in snapshot.run.steps:
            if self._step is None or step.index == self._step:
                self._carry(step)
        return snapshot

    def follow(self, caretaker: Caretaker) -> Snapshot:
        """Blocks until the run is over and all of its output is out; the run as it ended."""
        with contextlib.closing(Watch(self._context)) as watch:
            next_scan = clock.ticks_ms() + policy.SCAN_MS
            while True:
                snapshot = self._looked()
                if snapshot is not None and snapshot.run.is_over:
                    break
                self._sleep(watch, next_scan - clock.ticks_ms())
                watch.drain()
                now = clock.ticks_ms()
                if now >= next_scan:
                    next_scan = now + policy.SCAN_MS
                    caretaker.tend(now)
        for outlet in self._outlets.values():
            outlet.finish()
        return snapshot

    def _looked(self) -> Snapshot | None:
        try:
            return self.catch_up()
        except StorageError:
            return None  # refused for the moment; the scan comes again

    def _carry(self, step: Step) -> None:
        if step.attempt is None:
            return
        for stream, outlet in self._outlets.items():
            key = (step.index, step.attempt.number, stream)
            offset = self._next.setdefault(key, self._first_offsets.pop(stream, 0))
            while True:
                page = read.output(
                    self._context,
                    self._run_id,
                    step.index,
                    stream,
                    offset,
                    policy.OUTPUT_LIMIT_MAX,
                )
                outlet.write(page.data)
                offset = self._next[key] = page.next_offset
                if not page.data:
                    break

    def _sleep(self, watch: Watch, ms: int) -> None:
        sleep(watch, ms, {outlet.fileno() for outlet in self._outlets.values()})


def sleep(watch: Watch, ms: int, readers: set[int]) -> None:
    """Until something is rung, at most ``ms``; raises ``ReaderGone`` if one of ``readers`` (the
    descriptors that we write to) is read by nobody any more."""
    poll = select.poll()
    bell = watch.fileno()
    if bell is not None:
        poll.register(bell, select.POLLIN)
    for reader in readers:
        poll.register(reader, 0)  # an error condition is told without being asked for
    if any(fd in readers for fd, _ in poll.poll(max(1, ms))):
        raise ReaderGone
