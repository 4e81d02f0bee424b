"""The inbox of a run: what others ask of it, one file per command, in the order of their names.

A command is durable before its sender is answered, stays until it took effect, and is then moved
to ``done``: what was asked survives every crash.  Whatever else lies there (damaged, written by a
newer version, a link, somebody else's) is moved to ``refused`` once, and never acted on.

This module must never drop a command because it could not be read for the moment.
"""

import contextlib
import os
import re

from sidecar.core.commands import Command, Posted
from sidecar.core.errors import Bug, DamagedRun, NotFound, StorageError
from sidecar.store import atomic, codec
from sidecar.store.layout import DONE, INBOX, REFUSED

COMMAND_MAX_BYTES = 1024 * 1024
_COMMAND_ID = re.compile(r"[0-9][0-9a-f-]*-[a-z]+\.json")
_ORDER = re.compile(r"[0-9][0-9a-f-]*")
_FOLDERS = {"done", "refused"}


def post(run_dir: str, kind: str, command: Command, *, order: str) -> str:
    """Puts a command into a run's inbox, durably, and returns its id.

    ``order`` sorts commands by time and makes them unique: a zero-padded time, ``-``, random hex.
    Raises ``NotFound`` if the run is gone, also if it was removed meanwhile; ``StorageError``.
    """
    if kind != command.kind or not _ORDER.fullmatch(order):
        raise Bug(f"not a name for a command: {order!r} {kind!r}")
    command_id = f"{order}-{kind}.json"
    inbox = f"{run_dir}/{INBOX}"
    try:
        dir_fd = atomic.open_dir(run_dir, INBOX)
        try:
            atomic.replace_at(dir_fd, command_id, codec.encode_command(command), durable=True)
            # A run that is being removed was renamed: then nobody will read this.
            if not os.path.samestat(os.fstat(dir_fd), os.stat(inbox, follow_symlinks=False)):
                raise FileNotFoundError(inbox)
        finally:
            os.close(dir_fd)
    except FileNotFoundError as exc:
        run_id = os.path.basename(run_dir)
        raise NotFound(f"no such run: {run_id}", field="runId", run_id=run_id) from exc
    except OSError as exc:
        raise atomic.storage_error("post a command to", inbox, exc) from exc
    return command_id


class Inbox:
    """The inbox as the run's leader has it."""

    __slots__ = ("_ignored", "_run_dir", "refused")

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._ignored: set[str] = set()
        self.refused: list[str] = []
        """Why files were refused, one line each, for the runner's log, which takes them."""

    def pending(self) -> list[Posted]:
        """The commands that were not finished, in order.

        Never raises: what cannot be read for the moment, or the whole inbox, is left out and tried
        again the next time.
        """
        try:
            names = self._names()
        except StorageError:
            return []
        found = []
        for name in sorted(names):
            try:
                found.append(Posted(command_id=name, command=self._read(name)))
            except DamagedRun as exc:
                # What is only unreadable asks for something unknown: it must not be thrown away.
                if exc.damage != "unreadable":
                    self._refuse(name, exc)
            except (StorageError, FileNotFoundError):
                continue  # not to be read for the moment; or taken back by its sender
        return found

    def finish(self, command_id: str) -> None:
        """Moves a command that took effect to ``done``.  Idempotent.  Raises ``StorageError``."""
        if not _COMMAND_ID.fullmatch(command_id):
            raise Bug(f"not the id of a command: {command_id[:80]!r}")
        self._move(command_id, DONE)

    def _names(self) -> set[str]:
        """What lies there; not the folders, and not what is only being written."""
        path = f"{self._run_dir}/{INBOX}"
        try:
            dir_fd = atomic.open_dir(self._run_dir, INBOX)
            try:
                names = os.listdir(dir_fd)
            finally:
                os.close(dir_fd)
        except OSError as exc:
            raise atomic.storage_error("list", path, exc) from exc
        return {name for name in names if name[0] != "."} - _FOLDERS - self._ignored

    def _read(self, name: str) -> Command:
        path = f"{self._run_dir}/{INBOX}/{name}"
        if not _COMMAND_ID.fullmatch(name):
            raise DamagedRun(f"not the name of a command: {path}", path=path, damage="foreign")
        fd, found = atomic.open_regular(self._run_dir, INBOX, name)
        try:
            # A second name or another owner: whoever wrote this cannot write here.
            if found.st_nlink != 1 or found.st_uid != os.geteuid():
                raise DamagedRun(f"not a file of ours: {path}", path=path, damage="foreign")
            data = os.pread(fd, COMMAND_MAX_BYTES, 0)
        except OSError as exc:
            raise atomic.read_error(path, exc) from exc
        finally:
            os.close(fd)
        command = codec.decode_command(data, path)
        if not name.endswith(f"-{command.kind}.json"):
            raise DamagedRun(f"does not hold what it says: {path}", path=path, damage="corrupt")
        return command

    def _refuse(self, name: str, why: DamagedRun) -> None:
        self.refused.append(f"{why.damage}: {why.message}")
        try:
            atomic.mkdir_private(self._run_dir, *REFUSED.split("/"))
            self._move(name, REFUSED)
        except StorageError:
            self._ignored.add(name)  # it stays where it is, and is not looked at again

    def _move(self, name: str, folder: str) -> None:
        path = f"{self._run_dir}/{INBOX}/{name}"
        try:
            with contextlib.suppress(FileNotFoundError):  # moved already
                os.rename(path, f"{self._run_dir}/{folder}/{name}")
        except OSError as exc:
            raise atomic.storage_error("move", path, exc) from exc
