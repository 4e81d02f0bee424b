"""Who asks, of which state directory, and with what means: the value every operation is given.

A ``Context`` stands in for everything a process has around it: environment, clock, randomness and
the power to start runners.  Two callers with equal contexts get equal answers; a server's worker
threads may share one.

This module must never look at the machine, and nothing in it changes once it is built.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sidecar.core import dismissal as dismissals
from sidecar.core.dismissal import Dismissal
from sidecar.core.states import Run
from sidecar.procs import spawn
from sidecar.store.layout import Layout


class Spawner(Protocol):
    """The power to start processes of our own: ``procs.spawn``, or a test's stand-in."""

    def spawn_runner(self, run_dir: str, lease_fd: int, env: Mapping[str, str], /) -> int:
        """Start the runner of a run whose lease is held as ``lease_fd``; its pid."""
        ...

    def spawn_adopter(self, run_dir: str, env: Mapping[str, str], /) -> int:
        """Start a runner on a run that nobody leads; its pid."""
        ...

    def reap(self, pid: int, /) -> int | None:
        """Collect a child if it is over, without waiting; ``None`` while it is not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: the session it belongs to, and what it calls itself (an editor's name)."""

    session_id: str
    client: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything an operation needs besides its parameters.

    ``base_env`` is what agents inherit from (see ``control.environment``), ``runner_env`` the whole
    environment of our own processes, ``parent_run_id`` the run whose agent started this process (as
    the environment says, unchecked).  ``now_ms`` is the wall clock in ms since the epoch.
    """

    layout: Layout
    caller: Caller
    base_env: tuple[tuple[str, str], ...]
    runner_env: Mapping[str, str]
    parent_run_id: str | None
    now_ms: Callable[[], int]
    random_bytes: Callable[[int], bytes]
    spawner: Spawner = spawn

    def __repr__(self) -> str:
        return f"Context(layout={self.layout!r}, caller={self.caller!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A run as it was when it was read, with what is known of its being hidden."""

    run: Run
    dismissal: Dismissal

    @property
    def revision(self) -> int:
        """Grows with every visible change of the run."""
        return dismissals.revision(self.run, self.dismissal)

    @property
    def dismissed_at(self) -> int | None:
        """When the run was hidden (ms since the epoch), if it is hidden now."""
        return dismissals.hidden_since(self.run, self.dismissal)
