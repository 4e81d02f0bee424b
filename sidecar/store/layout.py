"""Where everything lies below the state directory, and whether that directory can be trusted.

``Layout`` only builds paths; ``open_state_dir`` makes and checks the tree.  Whoever only reads may
build a ``Layout`` of a directory that does not exist: every reader takes that for "no runs yet".

This module must never accept a path made from anything but a run id, a token's hash or a number,
and must never loosen the rights of what it finds.
"""

import errno
import os
import stat
from dataclasses import dataclass

from sidecar.core.errors import StorageError
from sidecar.store.atomic import DIR_MODE, storage_error

LEASE = "lease"
REQUEST = "request.json"
STATUS = "status.json"
EVENTS = "events.jsonl"
RESULT = "result.json"
RUNNER_LOG = "runner.log"
BELL = "bell"
INBOX = "inbox"
DONE = "inbox/done"
REFUSED = "inbox/refused"
DISMISSED = "dismissed.json"
DISMISSED_LOCK = "dismissed.lock"
STEPS = "steps"
STDOUT_LOG = "stdout.log"
STDERR_LOG = "stderr.log"
SPAWN = "spawn"
STDIN = "stdin"
WARDEN = "warden"

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one state directory; nothing is looked at."""

    state_dir: str

    @property
    def active(self) -> str:
        """One empty marker per run that is not proven over."""
        return f"{self.state_dir}/active"

    @property
    def doorbells(self) -> str:
        """The sockets of whoever wants to be woken."""
        return f"{self.state_dir}/doorbells"

    @property
    def staging(self) -> str:
        """Run directories that are being built, and those that are being deleted."""
        return f"{self.state_dir}/staging"

    @property
    def tokens(self) -> str:
        """One file per client token: the run that it launched."""
        return f"{self.state_dir}/tokens"

    @property
    def runs(self) -> str:
        """One directory per run."""
        return f"{self.state_dir}/runs"

    def run_dir(self, run_id: str) -> str:
        """The directory of a run that was launched; ``run_id`` has passed ``parse_run_id``."""
        return f"{self.runs}/{run_id}"

    def staging_dir(self, run_id: str) -> str:
        """The directory of a run whose launch is under way."""
        return f"{self.staging}/{run_id}"

    def marker(self, run_id: str) -> str:
        """The active marker of a run."""
        return f"{self.active}/{run_id}"


def attempt_dir(run_dir: str, step: int, attempt: int) -> str:
    """The directory of one attempt: ``step`` counts from 0, ``attempt`` from 1."""
    return f"{run_dir}/{STEPS}/{step:d}/{attempt:d}"


def open_state_dir(path: str) -> Layout:
    """The state directory at ``path``, made if it is missing (0700, whatever the umask).

    Raises ``StorageError`` with the reason before anything else happens: a relative mistake such
    as a file of that name, a full or read-only disk, or a directory that others could tamper with.
    """
    if not path or "\0" in path:
        raise StorageError(f"not a path for a state directory: {path!r}", errno_name="EINVAL")
    layout = Layout(os.path.abspath(path))
    try:
        _make_parents(os.path.dirname(layout.state_dir))
    except OSError as exc:
        raise storage_error("make the state directory", path, exc) from exc
    for directory in (
        layout.state_dir,
        layout.active,
        layout.doorbells,
        layout.staging,
        layout.tokens,
        layout.runs,
    ):
        _open_directory(directory)
    return layout


def _open_directory(path: str) -> None:
    try:
        try:
            os.mkdir(path, DIR_MODE)
        except FileExistsError:
            found = os.lstat(path)
        else:
            os.chmod(path, DIR_MODE)
            return
        mode = _checked_mode(path, found)
        if mode & 0o077:
            os.chmod(path, DIR_MODE)
        _require_access(path)
    except OSError as exc:
        raise storage_error("use the state directory", path, exc) from exc


def _require_access(path: str) -> None:
    # access(2) also knows of read-only mounts, even for root.
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        code = errno.EROFS if read_only else errno.EACCES
        raise OSError(code, os.strerror(code))


def _checked_mode(path: str, found: os.stat_result) -> int:
    if stat.S_ISLNK(found.st_mode):
        raise StorageError(
            f"the state directory is a symbolic link: {path}",
            errno_name="ELOOP",
            hint="give the path of the directory itself",
        )
    if not stat.S_ISDIR(found.st_mode):
        raise StorageError(
            f"the state directory is not a directory: {path}",
            errno_name="ENOTDIR",
            hint="move that file away or choose another state directory",
        )
    if found.st_uid != os.geteuid():
        raise StorageError(
            f"the state directory belongs to user {found.st_uid}: {path}",
            errno_name="EPERM",
            hint="choose a state directory of your own",
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & _WRITABLE_BY_OTHERS:
        raise StorageError(
            f"the state directory is writable by others (mode {mode:03o}): {path}",
            errno_name="EPERM",
            hint="look at what is in it, then make it private with chmod 700",
        )
    return mode


def _make_parents(path: str) -> None:
    """Like ``mkdir -p``; what it makes is private, as the base directory specification asks."""
    if os.path.isdir(path):
        return
    _make_parents(os.path.dirname(path))
    try:
        os.mkdir(path, DIR_MODE)
    except FileExistsError:
        return  # made by somebody else since, or no directory: the next mkdir tells
    os.chmod(path, DIR_MODE)
