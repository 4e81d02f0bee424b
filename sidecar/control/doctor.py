"""Looking the whole thing over: can runs live here, and is anything wrong with those there are?

Every finding is told with what may help.  The machine's part is ``control.host``.

This module must never change anything: it makes no state directory, repairs no run, wakes nobody.
"""

import fcntl
import os
import stat
from collections.abc import Iterator

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.control.host import Finding, Level, host_findings
from sidecar.core import policy
from sidecar.core.errors import DamagedRun, NotFound, StorageError
from sidecar.core.ids import RUN_ID_LENGTH
from sidecar.store import markers
from sidecar.store.layout import BELL
from sidecar.store.lease import Holding, probe

FREE_LOW_BYTES = 64 * 1024 * 1024
"""Less than a few agents' logs of one day; endings wait for room, so it is told early."""

SOCKET_PATH_MAX = 107
"""unix(7): sun_path holds 108 bytes with its end."""

NETWORK_FILE_SYSTEMS = (
    "9p",
    "afs",
    "ceph",
    "cifs",
    "fuse",
    "gfs2",
    "lustre",
    "ncpfs",
    "nfs",
    "smb",
)


def diagnose(ctx: Context) -> tuple[Finding, ...]:
    """Everything there is to say, the state directory first.  Never raises for what it finds."""
    return (*_state_dir(ctx), *_active_runs(ctx), *_all_runs(ctx), *host_findings())


def _state_dir(ctx: Context) -> Iterator[Finding]:
    path = ctx.layout.state_dir
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        yield _not_made_yet(path)
        return
    except OSError as exc:
        yield Finding(
            level=Level.ERROR,
            code="state-dir",
            message=f"the state directory cannot be used ({exc.strerror}): {path}",
            hint="choose another one with SIDECAR_STATE_DIR or --state-dir",
        )
        return
    yield _rights(path, found)
    if stat.S_ISDIR(found.st_mode):
        yield _locks(path)
        yield _file_system(path)
        yield from _room(path)
        yield _sockets(path)


def _not_made_yet(path: str) -> Finding:
    """Whether it could be made is told by the nearest directory above it that there is."""
    above = os.path.dirname(path)
    while above != os.path.dirname(above) and not os.path.lexists(above):
        above = os.path.dirname(above)
    if os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK):
        return Finding(
            level=Level.NOTE,
            code="state-dir",
            message=f"not made yet, the first launch makes it: {path}",
        )
    return Finding(
        level=Level.ERROR,
        code="state-dir",
        message=f"the state directory cannot be made below {above}: {path}",
        hint="choose another one with SIDECAR_STATE_DIR or --state-dir",
    )


def _rights(path: str, found: os.stat_result) -> Finding:
    mode = stat.S_IMODE(found.st_mode)
    trouble = None
    if not stat.S_ISDIR(found.st_mode):
        trouble = "is not a directory (or a link to one)"
    elif found.st_uid != os.geteuid():
        trouble = f"belongs to user {found.st_uid}"
    elif mode & (stat.S_IWGRP | stat.S_IWOTH):
        trouble = f"is writable by others (mode {mode:03o})"
    elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        trouble = "cannot be written to"
    if trouble is not None:
        return Finding(
            level=Level.ERROR,
            code="state-dir",
            message=f"the state directory {trouble}: {path}",
            hint="it has to be a directory of your own, with mode 700",
        )
    if mode & 0o077:
        return Finding(
            level=Level.WARNING,
            code="state-dir",
            message=f"the state directory is open to others (mode {mode:03o}): {path}",
            hint="chmod 700; the next launch does it, too",
        )
    return Finding(level=Level.OK, code="state-dir", message=f"private and writable: {path}")


def _locks(path: str) -> Finding:
    """By locking the directory itself, shared and for a moment: nothing has to be made for it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        finally:
            os.close(fd)
    except BlockingIOError:
        pass  # locked by somebody, so there are locks
    except OSError as exc:
        return Finding(
            level=Level.ERROR,
            code="locks",
            message=f"no working flock(2) here ({exc.strerror}): {path}",
            hint="without locks nobody can tell whether a run lives; use a local disk",
        )
    return Finding(level=Level.OK, code="locks", message="flock(2) works")


def _file_system(path: str) -> Finding:
    kind = _kind_of_file_system(path)
    if kind is not None and kind.startswith(NETWORK_FILE_SYSTEMS):
        return Finding(
            level=Level.WARNING,
            code="file-system",
            message=f"the state directory is on {kind}",
            hint="machines that share it see each other's runs, but not their processes",
        )
    return Finding(level=Level.OK, code="file-system", message=kind or "unknown kind")


def _kind_of_file_system(path: str) -> str | None:
    """From proc_pid_mountinfo(5): the type of the last mount with this device number."""
    try:
        device = os.stat(path).st_dev
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            lines = mounts.read().splitlines()
    except OSError:
        return None
    number = f"{os.major(device)}:{os.minor(device)}"
    kinds = [
        line.partition(" - ")[2].split(" ", 1)[0] for line in lines if line.split(" ")[2] == number
    ]
    return kinds[-1] if kinds else None


def _room(path: str) -> Iterator[Finding]:
    try:
        found = os.statvfs(path)
    except OSError:
        return
    free = found.f_bavail * found.f_frsize
    if found.f_flag & os.ST_RDONLY:
        yield Finding(
            level=Level.ERROR, code="room", message=f"that file system is read-only: {path}"
        )
    elif free < FREE_LOW_BYTES or (found.f_files and not found.f_favail):
        yield Finding(
            level=Level.WARNING,
            code="room",
            message=f"{free // 2**20} MiB and {found.f_favail} files are left for: {path}",
            hint="agents are stopped by a full disk until there is room again",
        )
    else:
        yield Finding(level=Level.OK, code="room", message=f"{free // 2**20} MiB free")


def _sockets(path: str) -> Finding:
    longest = len(os.fsencode(path)) + len("/runs/") + RUN_ID_LENGTH + len(f"/{BELL}")
    if longest <= SOCKET_PATH_MAX:
        return Finding(level=Level.OK, code="sockets", message=f"addresses of {longest} bytes")
    if os.path.isdir("/proc/self/fd"):
        return Finding(
            level=Level.OK,
            code="sockets",
            message=f"addresses of {longest} bytes, which go through /proc/self/fd",
        )
    return Finding(
        level=Level.WARNING,
        code="sockets",
        message=f"paths are too long for sockets: {longest} of {SOCKET_PATH_MAX} bytes",
        hint=f"changes are seen up to {policy.SCAN_MS} ms late; a shorter path helps",
    )


def _active_runs(ctx: Context) -> Iterator[Finding]:
    try:
        active = markers.active_ids(ctx.layout)
    except StorageError as exc:
        yield Finding(level=Level.ERROR, code="active-runs", message=exc.message, hint=exc.hint)
        return
    yield Finding(level=Level.OK, code="active-runs", message=f"{len(active)} active")
    for run_id in active:
        try:
            run = read.snapshot_of(ctx, run_id).run
        except NotFound:
            yield Finding(
                level=Level.NOTE,
                code="marker-left",
                message=f"marked as active without a run, or being launched: {run_id}",
                hint="servers remove such markers by themselves",
            )
            continue
        except (DamagedRun, StorageError):
            continue  # told with all others
        if run.is_over:
            yield Finding(
                level=Level.NOTE,
                code="marker-left",
                message=f"over, but not proven gone: {run_id}",
                hint=f"the marker goes {policy.MARKER_AGE_MS // 3_600_000} hours after its end",
            )
            continue
        match probe(ctx.layout.run_dir(run_id)):
            case Holding.FREE:
                yield Finding(
                    level=Level.WARNING,
                    code="run-lost",
                    message=f"{run.state}, but nobody leads it: {run_id}",
                    hint="a server, or 'sidecar wait', starts an adopter for it",
                )
            case Holding.UNKNOWN:
                yield Finding(
                    level=Level.WARNING,
                    code="run-unknown",
                    message=f"{run.state}; whether anybody leads it cannot be told: {run_id}",
                    hint="it is never taken for dead; dismiss it to hide it",
                )
            case Holding.HELD:
                pass


def _all_runs(ctx: Context) -> Iterator[Finding]:
    """The newest runs, as many as one page of a list looks at."""
    try:
        page = read.list_runs(
            ctx, scope=read.Scope.ALL, limit=policy.LIST_LIMIT_MAX, include_dismissed=True
        )
    except StorageError as exc:
        yield Finding(level=Level.ERROR, code="runs", message=exc.message, hint=exc.hint)
        return
    more = " of the newest" if page.next_cursor is not None else ""
    yield Finding(
        level=Level.OK, code="runs", message=f"{len(page.snapshots)}{more} runs can be read"
    )
    for problem in page.problems:
        yield Finding(
            level=Level.WARNING,
            code="damaged",
            message=problem.error,
            hint="it is left as it is; move it out of the state directory to be rid of it",
        )
