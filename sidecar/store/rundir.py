"""One run directory: read by anybody, written only with its lease in hand.

``LeasedRunDir`` cannot be built without a ``Lease``, so that a second writer of status, events or
result is a type error.  A document is as good as what was written, or damaged: nothing here ever
guesses, repairs while reading, or takes a damaged run for one that does not exist.

This module must never judge whether a run lives (``store.lease``), and must never decide what a
state means (``core.lifecycle``).
"""

import contextlib
import os
from dataclasses import dataclass
from typing import Literal, NoReturn

from sidecar.core import lifecycle
from sidecar.core.dismissal import NEVER, Dismissal
from sidecar.core.errors import Bug, DamagedRun, NotFound
from sidecar.core.events import Recorded
from sidecar.core.plan import Launch
from sidecar.core.result import RunResult
from sidecar.core.states import Run
from sidecar.store import atomic, codec, layout
from sidecar.store.events import EventLog, read_events
from sidecar.store.lease import Lease

DOCUMENT_MAX_BYTES = 512 * 1024 * 1024
"""A sanity bound: several of the largest prompts, each character escaped."""

Stream = Literal["stdout", "stderr"]
Stamp = tuple[tuple[int, int, int], ...]

LOGS: dict[Stream, str] = {"stdout": layout.STDOUT_LOG, "stderr": layout.STDERR_LOG}

_FOLD_PAGE = 1000
_NO_FILE = (0, 0, 0)
_OWN_DOCUMENTS = (layout.REQUEST, layout.STATUS, layout.RESULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputBytes:
    """A piece of a log: ``data`` lies at ``offset``, what follows at ``next_offset``.

    ``size`` is that of the whole log at the time.
    """

    data: bytes
    offset: int
    next_offset: int
    size: int


class RunDir:
    """A run directory as a reader has it.  Errors are ``DamagedRun``, ``StorageError`` and, if the
    whole directory is gone, ``NotFound``."""

    __slots__ = ("path", "run_id")

    def __init__(self, path: str) -> None:
        self.path = path
        self.run_id = os.path.basename(path)

    def read_status(self) -> Run:
        """status.json, which must be this run's."""
        path = self._path(layout.STATUS)
        try:
            data = atomic.read_file(path, max_bytes=DOCUMENT_MAX_BYTES)
        except FileNotFoundError:
            self._refuse_missing(path)
        return codec.decode_status(data, path, run_id=self.run_id)

    def read_current(self) -> Run:
        """The status with what the log says of later: what adopt goes on from.

        Raises ``DamagedRun`` too if the log does not continue the status.
        """
        run = self.read_status()
        path = self._path(layout.EVENTS)
        seq = run.seq
        while page := read_events(path, seq, _FOLD_PAGE).events:
            for recorded in page:
                if recorded.seq != seq + 1:
                    raise DamagedRun(
                        f"record {seq + 1} is missing: {path}", path=path, damage="corrupt"
                    )
                run = _folded(run, recorded, path)
                seq = recorded.seq
        return run

    def read_request(self) -> Launch:
        """request.json, which must be this run's."""
        path = self._path(layout.REQUEST)
        try:
            data = atomic.read_file(path, max_bytes=DOCUMENT_MAX_BYTES)
        except FileNotFoundError:
            self._refuse_missing(path)
        return codec.decode_request(data, path, run_id=self.run_id)

    def read_result(self) -> RunResult | None:
        """result.json, which must be this run's; ``None`` if there is none yet."""
        path = self._path(layout.RESULT)
        try:
            data = atomic.read_file(path, max_bytes=DOCUMENT_MAX_BYTES)
        except FileNotFoundError:
            return None
        return codec.decode_result(data, path, run_id=self.run_id)

    def read_dismissal(self) -> Dismissal:
        """Whether the run was hidden.  A damaged file hides nothing: it is shown, not lost."""
        path = self._path(layout.DISMISSED)
        try:
            data = atomic.read_file(path, max_bytes=DOCUMENT_MAX_BYTES)
            return codec.decode_dismissal(data, path)
        except (FileNotFoundError, DamagedRun):
            return NEVER

    def stamp(self) -> Stamp:
        """(inode, size, mtime in ns) of status and dismissal: differs after each change.

        Raises ``OSError`` for anything but a missing file.
        """
        return tuple(_stamp_of(self._path(name)) for name in (layout.STATUS, layout.DISMISSED))

    def output(
        self, step: int, attempt: int, stream: Stream, offset: int, limit: int
    ) -> OutputBytes:
        """At most ``limit`` bytes of a log from ``offset``, or from so far before its end if that
        is negative.  Beyond its ends an offset means the end; a missing log is empty."""
        names = (layout.STEPS, f"{step:d}", f"{attempt:d}", LOGS[stream])
        return _read_log(offset, limit, self.path, *names)

    def runner_log_tail(self, limit: int) -> bytes:
        """At most the last ``limit`` bytes of runner.log; empty if there is none."""
        return _read_log(-limit, limit, self.path, layout.RUNNER_LOG).data

    def _path(self, name: str) -> str:
        return f"{self.path}/{name}"

    def _refuse_missing(self, path: str) -> NoReturn:
        """A document is missing: with its directory, or from it."""
        if not os.path.lexists(self.path):
            raise NotFound(f"no such run: {self.run_id}", field="runId", run_id=self.run_id)
        raise DamagedRun(f"missing: {path}", path=path, damage="corrupt")


class LeasedRunDir(RunDir):
    """A run directory as the one who leads the run has it.

    Each write raises ``StorageError`` if the system refuses it, and may be tried again then.
    A ``staged`` one is not visible yet: nothing in it is durable before ``staging.commit`` makes
    all of it so at once.
    """

    __slots__ = ("_lease", "_log", "_staged", "_status_time_ns")

    def __init__(self, path: str, lease: Lease, *, staged: bool = False) -> None:
        super().__init__(path)
        self._lease = lease
        self._log: EventLog | None = None
        self._staged = staged
        self._status_time_ns = -1
        if not staged:
            self._clear_temps()

    @property
    def lease(self) -> Lease:
        """What gives the right to write here."""
        return self._lease

    def write_request(self, launch: Launch) -> None:
        """Writes request.json, durably."""
        self._write(layout.REQUEST, codec.encode_request(launch), durable=True)

    def write_status(self, run: Run, *, durable: bool) -> None:
        """Replaces status.json; readers tell each version from every other by its stamp."""
        path = self._path(layout.STATUS)
        if self._status_time_ns < 0:
            try:
                self._status_time_ns = _stamp_of(path)[2]
            except OSError as exc:
                raise atomic.storage_error("look at", path, exc) from exc
        self._status_time_ns = self._write(layout.STATUS, codec.encode_status(run), durable=durable)

    def append(self, recorded: Recorded) -> None:
        """Appends to events.jsonl; a record that is there already is left out."""
        self._lease.require_held()
        if self._log is None:
            self._log = EventLog(self._path(layout.EVENTS))
        self._log.append(recorded)

    def write_result(self, result: RunResult) -> None:
        """Writes result.json, durably."""
        self._write(layout.RESULT, codec.encode_result(result), durable=True)

    def make_attempt(self, step: int, attempt: int) -> str:
        """The directory of an attempt, made if it is missing."""
        self._lease.require_held()
        atomic.mkdir_private(self.path, layout.STEPS, f"{step:d}", f"{attempt:d}")
        return layout.attempt_dir(self.path, step, attempt)

    def close(self) -> None:
        """Closes the log.  The lease is its owner's to release."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _write(self, name: str, data: bytes, *, durable: bool) -> int:
        self._lease.require_held()
        later_than_ns = max(0, self._status_time_ns) if name == layout.STATUS else 0
        return atomic.replace_file(
            self._path(name),
            data,
            durable=durable and not self._staged,
            later_than_ns=later_than_ns,
        )

    def _clear_temps(self) -> None:
        """Removes what a dead predecessor left half-written; whoever has the lease is alone."""
        with contextlib.suppress(OSError):  # tidying; a write will tell if something is wrong
            dir_fd = atomic.open_dir(self.path)
            try:
                for name in os.listdir(dir_fd):
                    if name.endswith(".tmp") and name[1:].startswith(_OWN_DOCUMENTS):
                        os.unlink(name, dir_fd=dir_fd)
            finally:
                os.close(dir_fd)


def _folded(run: Run, recorded: Recorded, path: str) -> Run:
    try:
        return lifecycle.fold(run, recorded)
    except (Bug, IndexError) as exc:  # IndexError: a step that the plan does not have
        raise DamagedRun(
            f"record {recorded.seq} does not continue the status: {path}",
            path=path,
            damage="corrupt",
        ) from exc


def _read_log(offset: int, limit: int, directory: str, *names: str) -> OutputBytes:
    try:
        fd, found = atomic.open_regular(directory, *names)
    except FileNotFoundError:
        return OutputBytes(data=b"", offset=0, next_offset=0, size=0)
    size = found.st_size
    start = max(0, size + offset) if offset < 0 else min(offset, size)
    try:
        data = os.pread(fd, max(0, min(limit, size - start)), start)
    except OSError as exc:
        raise atomic.read_error("/".join((directory, *names)), exc) from exc
    finally:
        os.close(fd)
    return OutputBytes(data=data, offset=start, next_offset=start + len(data), size=size)


def _stamp_of(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return _NO_FILE
    return (found.st_ino, found.st_size, found.st_mtime_ns)
