"""The event log of a run: events.jsonl, one record a line, appended by the lease holder only.

A record counts once its newline is there.  What a crash or a full disk leaves of one is never
glued to the next: the writer ends the fragment first, readers pass over whatever is no record of
ours, and count it.  Numbers only grow, so that a reader can find its place without reading all.

This module must never hold a whole log in memory, and reading must never change it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from sidecar.core.errors import DamagedRun
from sidecar.core.events import Recorded
from sidecar.store import atomic, codec

RECORD_MAX_BYTES = 16 * 1024 * 1024
"""Longer than any record of ours (the first one names every step); more is not ours, and skipped
without being kept."""

_TORN = b" (torn)\n"
"""Ends a fragment, and spoils it: a whole record that only lacks its newline was never counted,
and its number has been given to another one."""

_CHUNK = 64 * 1024
_GLANCE = 4 * 1024
_WINDOW = 16 * 1024
"""From here on another glance, to find a place by halving, is cheaper than decoding on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsPage:
    """A part of a log, in order.

    ``last_seq`` is what to ask from next: everything up to it is told, here or before.
    ``skipped`` counts the lines met on the way that are no records.
    """

    events: tuple[Recorded, ...]
    last_seq: int
    skipped: int


class EventLog:
    """The log as its one writer has it.  Only for whoever holds the run's lease."""

    __slots__ = ("_fd", "_path", "_tail_unsure", "last_seq")

    def __init__(self, path: str) -> None:
        """Opens the log, or makes it; ends a fragment that a crash left at its end.

        Raises ``StorageError``, also if something else has its name.
        """
        self._path = path
        self._fd = atomic.open_for_writing(path, appending=True)
        try:
            self.last_seq = _last_seq(self._fd, path)
            self._tail_unsure = True
            self._end_fragment()
        except OSError as exc:
            os.close(self._fd)
            raise atomic.storage_error("open", path, exc) from exc
        except BaseException:
            os.close(self._fd)
            raise

    def append(self, recorded: Recorded) -> None:
        """Appends one record, whole or not at all; one that is there already is left out.

        Raises ``StorageError``; the same record may then be tried again at any time.
        """
        if recorded.seq <= self.last_seq:
            return
        try:
            if self._tail_unsure:
                self._end_fragment()
        except OSError as exc:
            raise atomic.storage_error("append to", self._path, exc) from exc
        self._tail_unsure = True
        atomic.append(self._fd, codec.encode_recorded(recorded), path=self._path)
        self._tail_unsure = False
        self.last_seq = recorded.seq

    def close(self) -> None:
        """Closes the descriptor.  Idempotent."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def _end_fragment(self) -> None:
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            atomic.append(self._fd, _TORN, path=self._path)
        self._tail_unsure = False


def read_events(path: str, after_seq: int, limit: int) -> EventsPage:
    """At most ``limit`` records after ``after_seq``; none if there is no log.

    An unfinished last line is left for later.  Raises ``DamagedRun`` if the log is no file of
    ours, ``StorageError`` if it cannot be read at the moment.
    """
    try:
        fd, found = atomic.open_regular(*os.path.split(path))
    except FileNotFoundError:
        return EventsPage(events=(), last_seq=after_seq, skipped=0)
    try:
        start = _place_of(fd, path, found.st_size, after_seq)
        return _read_page(fd, path, start, after_seq, limit)
    except OSError as exc:
        raise atomic.storage_error("read", path, exc) from exc
    finally:
        os.close(fd)


def _read_page(fd: int, path: str, start: int, after_seq: int, limit: int) -> EventsPage:
    events: list[Recorded] = []
    seq = skipped = 0
    for recorded in _records(fd, path, start):
        if len(events) >= limit:
            break
        if recorded is None or recorded.seq <= seq:
            skipped += 1
            continue
        seq = recorded.seq
        if seq > after_seq:
            events.append(recorded)
    return EventsPage(
        events=tuple(events),
        last_seq=events[-1].seq if events else after_seq,
        skipped=skipped,
    )


def _place_of(fd: int, path: str, size: int, after_seq: int) -> int:
    """An offset before the first record after ``after_seq``, and not far before it."""
    low, high = 0, size
    while after_seq > 0 and high - low > _WINDOW:
        middle = (low + high) // 2
        recorded = _first_record(fd, path, middle, high)
        if recorded is None or recorded.seq > after_seq:
            high = middle
        else:
            low = middle
    return low


def _last_seq(fd: int, path: str) -> int:
    """The number of the last record: of the newest that can be read, never 0 for a torn tail."""
    size = os.fstat(fd).st_size
    window = _WINDOW
    while True:
        start = max(0, size - window)
        found = max((item.seq for item in _records(fd, path, start) if item), default=0)
        if found or not start:
            return found
        window *= 4


def _first_record(fd: int, path: str, start: int, end: int) -> Recorded | None:
    lines = _lines(fd, start, end, _GLANCE)
    found = (_record(line, path) for line in lines)
    return next((item for item in found if item is not None), None)


def _records(fd: int, path: str, start: int) -> Iterator[Recorded | None]:
    """The records of the whole lines that begin at ``start`` or later; ``None`` for damage."""
    return (_record(line, path) for line in _lines(fd, start, None, _CHUNK))


def _record(line: bytes | None, path: str) -> Recorded | None:
    if line is None:
        return None
    try:
        return codec.decode_recorded(line, path)
    except DamagedRun:
        return None


def _lines(fd: int, start: int, end: int | None, chunk_bytes: int) -> Iterator[bytes | None]:
    """Whole lines without their ends; ``None`` for one that is too long to be kept.

    Unless ``start`` is 0 or follows a newline, it is within a line, which is left out.
    """
    offset = max(0, start - 1)
    carry = b""
    dropping = start > 0  # until the newline before ``start``, or the end of the line around it
    too_long = False
    while end is None or offset < end:
        chunk = os.pread(fd, chunk_bytes, offset)
        if not chunk:
            return
        offset += len(chunk)
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            if dropping:
                dropping = False
            elif too_long:
                yield None
            else:
                yield carry + line
            carry, too_long = b"", False
        if not dropping and not too_long:
            carry += rest
            if len(carry) > RECORD_MAX_BYTES:
                carry, too_long = b"", True
