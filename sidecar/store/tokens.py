"""Client tokens: the memory by which a repeated launch request finds the run of the first one.

One file per token, named by its hash, locked while a launch with that token is under way; so two
launchers with one token come one after the other, in whatever processes they are, and the second
one reads what the first one bound.  A dead launcher's lock falls with it.

This module must never judge whether the bound run exists: a launcher may have died between binding
and showing it, and then the token may be bound anew.
"""

import os

from sidecar.core.errors import Bug, LimitReached, SidecarError
from sidecar.core.ids import RUN_ID_LENGTH, is_run_id
from sidecar.store import atomic, locks
from sidecar.store.layout import Layout

TOKEN_WAIT_MS = 10_000
"""A launch takes milliseconds; whoever holds a token this long is stopped, or on a hung disk."""

_NAME_LENGTH = 64


class TokenLock:
    """Holds one token, as a context manager; ``name`` comes from ``core.ids.token_name``.

    Entering raises ``LimitReached`` if another launch holds the token for ``wait_ms``, and
    ``StorageError`` or ``DamagedRun`` if its file cannot be used.
    """

    __slots__ = ("_dir", "_fd", "_path", "_wait_ms", "run_id")

    def __init__(self, layout: Layout, name: str, *, wait_ms: int = TOKEN_WAIT_MS) -> None:
        if len(name) != _NAME_LENGTH or not name.isalnum():
            raise Bug(f"not the name of a token: {name[:80]!r}")
        self._dir = layout.tokens
        self._path = f"{layout.tokens}/{name}"
        self._wait_ms = wait_ms
        self._fd = -1
        self.run_id: str | None = None
        """The run that the token was bound to, read once the lock is held."""

    def __enter__(self) -> "TokenLock":
        try:
            self._fd = self._locked()
            # A torn binding is none: its run was not even staged.
            text = os.pread(self._fd, RUN_ID_LENGTH + 2, 0)
            bound = text[:-1].decode("ascii", "replace")
            self.run_id = bound if text.endswith(b"\n") and is_run_id(bound) else None
        except OSError as exc:
            self.__exit__()
            raise atomic.storage_error("use the client token", self._path, exc) from exc
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def bind(self, run_id: str) -> None:
        """Binds the token to a run, durably, before the run is staged.  Raises ``StorageError``."""
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{run_id}\n".encode("ascii"), 0)
            os.fdatasync(self._fd)
            atomic.sync_dir(self._dir)
        except OSError as exc:
            raise atomic.storage_error("bind the client token", self._path, exc) from exc
        self.run_id = run_id

    def _locked(self) -> int:
        """A descriptor that holds the lock on what ``path`` names: ``sweep`` may have removed the
        file between the opening and the locking."""
        while (fd := locks.open_locked(self._path, self._wait_ms)) is not None:
            if locks.is_still_at(fd, self._path):
                return fd
            os.close(fd)
        raise LimitReached(
            "another launch with this client token is under way",
            field="clientToken",
            hint="try again in a moment",
        )


def sweep(layout: Layout) -> int:
    """Removes the tokens of runs that are gone, and returns how many.

    A token that is locked, or unbound, is in use.  Raises ``StorageError`` if tokens cannot be
    listed; what cannot be removed stays.
    """
    try:
        names = os.listdir(layout.tokens)
    except FileNotFoundError:
        return 0
    except OSError as exc:
        raise atomic.storage_error("list", layout.tokens, exc) from exc
    swept = 0
    for name in names:
        try:
            with TokenLock(layout, name, wait_ms=0) as token:
                if token.run_id and not _exists(layout, token.run_id):
                    os.unlink(f"{layout.tokens}/{name}")
                    swept += 1
        except (OSError, SidecarError):
            continue  # in use, not ours, or not to be removed now
    return swept


def _exists(layout: Layout, run_id: str) -> bool:
    # In this order: a run is renamed from the first to the second.
    return os.path.lexists(layout.staging_dir(run_id)) or os.path.lexists(layout.run_dir(run_id))
