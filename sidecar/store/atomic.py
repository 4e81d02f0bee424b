"""Files that are written whole or not at all, and read without being led astray.

Every directory is opened without following a link, and everything in it is addressed relative to
that descriptor: a run directory, document or log that was replaced by a link leads nowhere.  All
that is made is private (0600, 0700) whatever the umask.

What the system refuses becomes ``StorageError``; what lies there but is not what it should be
becomes ``DamagedRun``.  This module must never write into an existing document, and must never
know what the bytes mean.
"""

import contextlib
import errno
import itertools
import os
import stat

from sidecar.core.errors import DamagedRun, StorageError

DIR_MODE = 0o700
FILE_MODE = 0o600

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""``O_NONBLOCK``: opening a FIFO must not wait for somebody to write into it."""

_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOG_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TEMP_TRIES = 100
_READ_CHUNK = 1024 * 1024

# The file itself is out of reach, and waiting will not change that.
_UNREADABLE = {errno.EACCES, errno.EPERM, errno.EIO}
# Not what it should be: a link (ELOOP; ENOTDIR for a directory), a socket (ENXIO).
_MISPLACED = {errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EISDIR}
# Some file systems cannot sync a directory; there is nothing better to be had there.
_NO_DIR_SYNC = {errno.EINVAL, errno.ENOTSUP}

_HINTS = {
    "ENOSPC": "make room on that file system",
    "EDQUOT": "make room within your quota",
    "EMFILE": "raise the limit of open files (ulimit -n)",
    "ENFILE": "the whole machine is out of open files",
    "EROFS": "that file system is mounted read-only; choose another state directory",
    "EACCES": "the rights of that path, or of a directory above it, forbid it",
}

_counter = itertools.count()


def storage_error(doing: str, path: str, exc: OSError) -> StorageError:
    """``exc`` as an error of ours: ``doing`` completes "cannot ..."."""
    name = errno.errorcode.get(exc.errno or errno.EIO, "EIO")
    return StorageError(f"cannot {doing} ({name}): {path}", errno_name=name, hint=_HINTS.get(name))


def open_dir(path: str, *below: str) -> int:
    """A descriptor of the directory ``path``/``below``..., none of which may be a link.

    Raises ``OSError``: ``ENOTDIR`` also for a link.
    """
    fd = os.open(path, _DIR_FLAGS)
    for name in below:
        try:
            inner = open_dir_at(name, fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def open_dir_at(name: str, dir_fd: int) -> int:
    """A descriptor of the directory ``name`` in an open one.  Raises ``OSError``, as above."""
    return os.open(name, _DIR_FLAGS, dir_fd=dir_fd)


def mkdir_private(directory: str, *names: str) -> None:
    """Makes the directories ``directory``/``names``..., 0700; existing ones stay, links do not lead
    on, and ``directory`` itself must be there.  Raises ``StorageError``."""
    try:
        fd = open_dir(directory)
        try:
            for name in names:
                inner = _made_dir(name, fd)
                os.close(fd)
                fd = inner
        finally:
            os.close(fd)
    except OSError as exc:
        raise storage_error("make a directory", "/".join((directory, *names)), exc) from exc


def sync_dir(path: str) -> None:
    """Makes the names in ``path`` durable.  Raises ``StorageError``."""
    try:
        fd = open_dir(path)
        try:
            _sync_names(fd)
        finally:
            os.close(fd)
    except OSError as exc:
        raise storage_error("make durable", path, exc) from exc


def sync_tree(path: str, names: tuple[str, ...]) -> None:
    """Makes the files ``names`` of a directory durable, then the directory.

    One journal commit in all on most file systems, where one by one it would be one for each.
    Raises ``StorageError``.
    """
    try:
        dir_fd = open_dir(path)
        try:
            for name in names:
                fd = os.open(name, READ_FLAGS, dir_fd=dir_fd)
                try:
                    os.fdatasync(fd)
                finally:
                    os.close(fd)
            _sync_names(dir_fd)
        finally:
            os.close(dir_fd)
    except OSError as exc:
        raise storage_error("make durable", path, exc) from exc


def replace_file(path: str, data: bytes, *, durable: bool, later_than_ns: int = 0) -> int:
    """Puts ``data`` in the place of ``path``: a reader sees the old bytes or the new ones.

    ``durable``: through a power cut too.  The modification time is made later than
    ``later_than_ns`` and returned, so that a writer can keep each of its versions apart for those
    who only look at (inode, size, time): both inode and clock tick are soon used again.

    Raises ``StorageError``; then the old file stands and nothing else is left.
    """
    directory, name = os.path.split(path)
    try:
        dir_fd = open_dir(directory)
        try:
            return replace_at(dir_fd, name, data, durable=durable, later_than_ns=later_than_ns)
        finally:
            os.close(dir_fd)
    except OSError as exc:
        raise storage_error("write", path, exc) from exc


def replace_at(
    dir_fd: int, name: str, data: bytes, *, durable: bool, later_than_ns: int = 0
) -> int:
    """``replace_file`` relative to an open directory.  Raises ``OSError``."""
    fd, temp = _open_temp(dir_fd, name)
    try:
        try:
            make_private(fd)
            write_all(fd, data)
            time_ns = os.fstat(fd).st_mtime_ns
            if time_ns <= later_than_ns:
                time_ns = later_than_ns + 1000
                os.utime(fd, ns=(time_ns, time_ns))
            if durable:
                os.fdatasync(fd)
        finally:
            os.close(fd)
        os.rename(temp, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        with contextlib.suppress(OSError):  # the first refusal is the one to tell
            os.unlink(temp, dir_fd=dir_fd)
        raise
    if durable:
        _sync_names(dir_fd)
    return time_ns


def append(fd: int, data: bytes, *, path: str = "a log") -> None:
    """Appends all of ``data`` to a file opened with ``O_APPEND``, or nothing of it.

    Only for a file with one writer: what was written of a refused record is cut off again.
    Raises ``StorageError``; if even the cutting was refused, a fragment stays and the caller has
    to see to it before it appends again.
    """
    size = 0
    try:
        size = os.fstat(fd).st_size
        write_all(fd, data)
    except OSError as exc:
        with contextlib.suppress(OSError):  # told by the error below; the next append looks
            os.ftruncate(fd, size)
        raise storage_error("append to", path, exc) from exc


def open_for_writing(path: str, *, appending: bool) -> int:
    """A descriptor of the regular file ``path``, made if it is missing, for reading and writing.

    ``appending``: every write goes to the end; such a file cannot be spliced into.  Raises
    ``StorageError``, also if something else has that name: what is due stays due.
    """
    directory, name = os.path.split(path)
    fd = -1
    try:
        dir_fd = open_dir(directory)
        try:
            flags = _LOG_FLAGS | (os.O_APPEND if appending else 0)
            fd = os.open(name, flags, FILE_MODE, dir_fd=dir_fd)
        finally:
            os.close(dir_fd)
        require_regular(fd)
        make_private(fd)
        kept, fd = fd, -1
    except OSError as exc:
        raise storage_error("open", path, exc) from exc
    finally:
        if fd >= 0:
            os.close(fd)
    return kept


def read_file(path: str, *, max_bytes: int) -> bytes:
    """All of the regular file ``path``.

    Raises ``FileNotFoundError`` if it (or its directory) is not there; ``DamagedRun`` if it is a
    link, a FIFO, a directory or too large (``foreign``, ``corrupt``) or may not be read
    (``unreadable``); ``StorageError`` for whatever may pass: no descriptors, no memory.
    """
    fd, found = open_regular(*os.path.split(path))
    try:
        return _read_all(fd, path, found.st_size, max_bytes)
    except OSError as exc:
        raise read_error(path, exc) from exc
    finally:
        os.close(fd)


def open_regular(directory: str, *names: str) -> tuple[int, os.stat_result]:
    """The regular file ``directory``/``names``..., open for reading, and its status.

    None of them may be a link.  Raises like ``read_file``.
    """
    path = "/".join((directory, *names))
    try:
        dir_fd = open_dir(directory, *names[:-1])
        try:
            fd = os.open(names[-1], READ_FLAGS, dir_fd=dir_fd)
        finally:
            os.close(dir_fd)
        try:
            require_regular(fd)
            return fd, os.fstat(fd)
        except OSError:
            os.close(fd)
            raise
    except OSError as exc:
        raise read_error(path, exc) from exc


def read_error(path: str, exc: OSError) -> FileNotFoundError | DamagedRun | StorageError:
    """What a refused look at ``path`` means."""
    if isinstance(exc, FileNotFoundError):
        return exc
    name = errno.errorcode.get(exc.errno or errno.EIO, "EIO")
    if exc.errno in _MISPLACED:
        return DamagedRun(f"not a file of ours ({name}): {path}", path=path, damage="foreign")
    if exc.errno in _UNREADABLE:
        return DamagedRun(f"cannot be read ({name}): {path}", path=path, damage="unreadable")
    return storage_error("read", path, exc)


def require_regular(fd: int) -> None:
    """Raises ``OSError`` (``ENXIO``, which ``read_error`` takes for foreign) for anything else."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))


def write_all(fd: int, data: bytes) -> None:
    """Writes all of ``data``: write(2) may take less.  Interrupted calls are retried by Python."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def make_private(fd: int) -> None:
    """0600, whatever the umask was when the file was made."""
    if stat.S_IMODE(os.fstat(fd).st_mode) != FILE_MODE:
        os.fchmod(fd, FILE_MODE)


def _made_dir(name: str, dir_fd: int) -> int:
    try:
        os.mkdir(name, DIR_MODE, dir_fd=dir_fd)
    except FileExistsError:
        pass
    else:
        os.chmod(name, DIR_MODE, dir_fd=dir_fd)
    return open_dir_at(name, dir_fd)


def _open_temp(dir_fd: int, name: str) -> tuple[int, str]:
    """A new file beside ``name``.  What already has a name of ours is a dead writer's or a trap."""
    for _ in range(_TEMP_TRIES):
        temp = f".{name}.{os.getpid()}.{next(_counter)}.tmp"
        try:
            fd = os.open(temp, _NEW_FLAGS, FILE_MODE, dir_fd=dir_fd)
        except FileExistsError:
            continue
        return fd, temp
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _sync_names(dir_fd: int) -> None:
    try:
        os.fsync(dir_fd)
    except OSError as exc:
        if exc.errno not in _NO_DIR_SYNC:
            raise


def _read_all(fd: int, path: str, size: int, max_bytes: int) -> bytes:
    # One byte more than there should be: a short read is the end of a regular file.
    want = size + 1
    if size <= max_bytes:
        data = os.read(fd, want)
        while want <= len(data) <= max_bytes:
            want += _READ_CHUNK
            data += os.read(fd, _READ_CHUNK)
        if len(data) <= max_bytes:
            return data
    raise DamagedRun(f"larger than {max_bytes} bytes: {path}", path=path, damage="corrupt")
