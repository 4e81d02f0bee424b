"""Doorbells: datagrams that say "look", so that nobody has to look all the time.

A bell is a socket in a private directory; ringing it is one datagram, which may be lost, late or
doubled without harm, since what there is to know stands in files.

This module must never make anybody wait, must never raise for a bell that cannot be rung, and must
never trust what a datagram says beyond being a reason to look.
"""

import _socket
import contextlib
import errno
import os
import re
import stat
from dataclasses import dataclass

from sidecar.core.ids import is_run_id
from sidecar.store import atomic
from sidecar.store.layout import BELL, Layout

STATUS = "status"
OUTPUT = "output"
STORAGE = "storage:"
"""Followed by the name of the errno that a run's writes are refused with, or by ``ok``."""

_KIND = re.compile(r"status|output|storage:(?:[A-Z0-9]{2,20}|ok)")
_RING_MAX_BYTES = 128
_RINGS_MAX = 1024
_PATH_MAX_BYTES = 100
"""unix(7): a socket's address holds 108 bytes; longer paths go through /proc/self/fd."""

_DEAD = errno.ECONNREFUSED
_KNOCK = b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """What a datagram said: what changed, of which run, and up to which revision."""

    kind: str
    run_id: str
    revision: int


class Bell:
    """A bell of one's own, among all the bells of a state directory."""

    __slots__ = ("_path", "_socket")

    def __init__(self, layout: Layout) -> None:
        """Raises ``StorageError``; then there is the slow scan."""
        name = f"{os.getpid()}-{os.urandom(4).hex()}.sock"
        self._path = f"{layout.doorbells}/{name}"
        self._socket = _bound(layout.doorbells, name)

    def fileno(self) -> int:
        """The descriptor to poll for reading."""
        return self._socket.fileno()

    def receive(self) -> list[Ring]:
        """What was rung since the last call; never waits.  What is no ring of ours is left out."""
        rings = []
        for datagram in _datagrams(self._socket):
            ring = _parsed(datagram)
            if ring is not None:
                rings.append(ring)
        return rings

    def close(self) -> None:
        """Takes the bell down.  Idempotent."""
        _take_down(self._socket, self._path)


class RunBell:
    """The bell of a run: it means "look into your inbox".  Only for the lease holder."""

    __slots__ = ("_path", "_socket")

    def __init__(self, run_dir: str) -> None:
        """Replaces the bell of a dead predecessor.  Raises ``StorageError``; then there is the
        slow scan."""
        self._path = f"{run_dir}/{BELL}"
        self._socket = _bound(run_dir, BELL)

    def fileno(self) -> int:
        """The descriptor to poll for reading."""
        return self._socket.fileno()

    def receive(self) -> bool:
        """Whether anybody knocked since the last call; never waits."""
        return bool(_datagrams(self._socket))

    def close(self) -> None:
        """Takes the bell down.  Idempotent."""
        _take_down(self._socket, self._path)


class Bells:
    """All bells of a state directory, to be rung."""

    __slots__ = ("_layout", "_socket")

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._socket: _socket.socket | None = None

    def ring(self, kind: str, run_id: str, revision: int) -> int:
        """Rings all bells and returns how many took it; takes down the dead ones.

        The directory is listed each time: that costs as much as one datagram, while a time stamp
        would miss a bell that was hung up within the same tick of the clock.
        """
        datagram = f"{kind} {run_id} {revision}\n".encode("ascii", "replace")
        try:
            dir_fd = atomic.open_dir(self._layout.doorbells)
        except OSError:
            return 0  # nobody is listening here, or nobody can be reached
        try:
            names = [name for name in os.listdir(dir_fd) if name.endswith(".sock")]
            return sum(self._send(datagram, self._layout.doorbells, dir_fd, name) for name in names)
        except OSError:
            return 0  # a listing that fails half-way: the slow scan is there for that
        finally:
            os.close(dir_fd)

    def ring_run(self, run_dir: str) -> bool:
        """Knocks at a run's bell.  False if there is nobody, or nobody who can be reached."""
        try:
            dir_fd = atomic.open_dir(run_dir)
        except OSError:
            return False
        try:
            return self._send(_KNOCK, run_dir, dir_fd, BELL)
        finally:
            os.close(dir_fd)

    def close(self) -> None:
        """Closes the sending socket.  Idempotent."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, datagram: bytes, directory: str, dir_fd: int, name: str) -> bool:
        try:
            if not stat.S_ISSOCK(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode):
                return False
            if self._socket is None:
                self._socket = _new_socket()
            self._socket.sendto(datagram, _address(directory, dir_fd, name))
        except BlockingIOError:
            return True  # its queue is full: it has more than one reason to look already
        except OSError as exc:
            if exc.errno == _DEAD:
                with contextlib.suppress(OSError):  # somebody else took it down
                    os.unlink(name, dir_fd=dir_fd)
            return False
        return True


def _new_socket() -> _socket.socket:
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM | _socket.SOCK_NONBLOCK)


def _bound(directory: str, name: str) -> _socket.socket:
    """A socket that takes the name ``name`` once it is ready: bind(2) shows the file first, and
    whoever rings in between finds a dead bell, which is taken down."""
    temp = f".{name}.{os.getpid()}.tmp"
    try:
        dir_fd = atomic.open_dir(directory)
        try:
            bell = _new_socket()
            try:
                # unix(7): the file gets the mode that the socket has, less the umask.
                os.fchmod(bell.fileno(), atomic.FILE_MODE)
                with contextlib.suppress(FileNotFoundError):  # a dead process's of this number
                    os.unlink(temp, dir_fd=dir_fd)
                bell.bind(_address(directory, dir_fd, temp))
                os.rename(temp, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
            except BaseException:
                bell.close()
                with contextlib.suppress(OSError):  # the first refusal is the one to tell
                    os.unlink(temp, dir_fd=dir_fd)
                raise
        finally:
            os.close(dir_fd)
    except OSError as exc:
        raise atomic.storage_error("hang up a bell in", directory, exc) from exc
    return bell


def _address(directory: str, dir_fd: int, name: str) -> bytes:
    path = os.fsencode(f"{directory}/{name}")
    if len(path) <= _PATH_MAX_BYTES:
        return path
    return os.fsencode(f"/proc/self/fd/{dir_fd}/{name}")


def _datagrams(bell: _socket.socket) -> list[bytes]:
    """What has come; a bound number of them, since others may go on sending."""
    found: list[bytes] = []
    with contextlib.suppress(OSError):  # nothing (more) to be had
        while len(found) < _RINGS_MAX:
            found.append(bell.recv(_RING_MAX_BYTES))
    return found


def _parsed(datagram: bytes) -> Ring | None:
    try:
        kind, run_id, revision = datagram.decode("ascii").removesuffix("\n").split(" ")
    except ValueError:
        return None
    # A datagram that was cut off at ``_RING_MAX_BYTES`` has lost its newline.
    if not datagram.endswith(b"\n") or not _KIND.fullmatch(kind) or not is_run_id(run_id):
        return None
    if not revision.isdecimal() or len(revision) > len(str(2**63)):
        return None
    return Ring(kind=kind, run_id=run_id, revision=int(revision))


def _take_down(bell: _socket.socket, path: str) -> None:
    if bell.fileno() >= 0:
        with contextlib.suppress(OSError):  # whoever found it dead took it down before
            os.unlink(path)
        bell.close()
