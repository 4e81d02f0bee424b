"""The tables: which event may meet which state, and where an attempt goes.

Dense on purpose: every cell is a decision that somebody took.  ``APPLY`` (or a next state) is a
transition, ``IGNORE`` an event that may legally come late, ``ILLEGAL`` a bug of ours.

This module must never hold code: what a transition does stands in ``core.lifecycle``.
"""

from enum import StrEnum

from sidecar.core.events import (
    AgentExited,
    AgentSpawned,
    DeadlinePassed,
    Event,
    OutputDrained,
    OutputSeen,
    ResultStored,
    RunLaunched,
    RunnerLost,
    RunnerStarted,
    SpawnFailed,
    StopRequested,
    TreeEnded,
    WardenLost,
)
from sidecar.core.states import AttemptState, RunState


class Cell(StrEnum):
    """What becomes of an event that is no attempt transition."""

    APPLY = "apply"
    IGNORE = "ignore"
    ILLEGAL = "illegal"


_A, _I, _X = Cell.APPLY, Cell.IGNORE, Cell.ILLEGAL

_ATTEMPT_COLUMNS: tuple[type[Event], ...] = (
    AgentSpawned,
    SpawnFailed,
    OutputSeen,
    AgentExited,
    OutputDrained,
    TreeEnded,
    WardenLost,
    RunnerLost,
)
ATTEMPT_EVENTS = frozenset(_ATTEMPT_COLUMNS)

_RUN_COLUMNS: tuple[type[Event], ...] = (
    RunLaunched,
    RunnerStarted,
    StopRequested,
    DeadlinePassed,
    ResultStored,
    *_ATTEMPT_COLUMNS,
)


def _run_row(
    *, by_run: tuple[Cell, Cell, Cell, Cell, Cell], by_attempt: Cell
) -> dict[type[Event], Cell]:
    """A row: the first five columns one by one, the attempt's all alike."""
    cells = (*by_run, *(by_attempt for _ in _ATTEMPT_COLUMNS))
    return dict(zip(_RUN_COLUMNS, cells, strict=True))


#                                       launched, started, stop, deadline, stored
RUN_TABLE: dict[RunState, dict[type[Event], Cell]] = {
    # A deadline cannot be set before the start.  Stored: it was stopped before it was started.
    RunState.QUEUED: _run_row(by_run=(_X, _A, _A, _I, _A), by_attempt=_X),
    RunState.RUNNING: _run_row(by_run=(_X, _A, _A, _A, _A), by_attempt=_A),
    # A paused run has no live attempt: what still comes of the old one is late.
    RunState.PAUSED: _run_row(by_run=(_X, _A, _A, _A, _A), by_attempt=_I),
    # Terminal states absorb: nothing changes an outcome.
    RunState.COMPLETE: _run_row(by_run=(_X, _I, _I, _I, _I), by_attempt=_I),
    RunState.FAILED: _run_row(by_run=(_X, _I, _I, _I, _I), by_attempt=_I),
    RunState.STOPPED: _run_row(by_run=(_X, _I, _I, _I, _I), by_attempt=_I),
    RunState.REJECTED: _run_row(by_run=(_X, _I, _I, _I, _I), by_attempt=_I),
}

_S = AttemptState

ATTEMPT_TABLE: dict[AttemptState, dict[type[Event], AttemptState | Cell]] = {
    _S.STARTING: {
        AgentSpawned: _S.RUNNING,
        SpawnFailed: _S.SETTLED,
        # The agent may write before its warden's word is read; the totals come again.
        OutputSeen: _I,
        AgentExited: _X,  # the warden tells the start before the end
        OutputDrained: _X,
        TreeEnded: _X,
        WardenLost: _S.DRAINING,  # whether the agent ever ran is not known: treated as if it had
        RunnerLost: _S.STARTING,
    },
    _S.RUNNING: {
        AgentSpawned: _X,
        SpawnFailed: _X,
        OutputSeen: _S.RUNNING,
        AgentExited: _S.DRAINING,
        OutputDrained: _X,  # said only after ``WatchDrain``, which follows the exit
        # Only a proof that could not be had (not permitted, uninterruptible): the agent lives on,
        # and so does the run, whose proof then says why it cannot be ended.
        TreeEnded: _S.RUNNING,
        WardenLost: _S.DRAINING,
        RunnerLost: _S.RUNNING,
    },
    _S.DRAINING: {
        AgentSpawned: _X,
        SpawnFailed: _X,
        OutputSeen: _S.DRAINING,
        AgentExited: _S.DRAINING,  # after WardenLost: the runner collected it itself
        OutputDrained: _S.CLEARING,
        TreeEnded: _S.EMPTYING,
        WardenLost: _S.DRAINING,
        RunnerLost: _S.DRAINING,
    },
    _S.CLEARING: {
        AgentSpawned: _X,
        SpawnFailed: _X,
        OutputSeen: _I,
        AgentExited: _S.CLEARING,
        OutputDrained: _I,
        TreeEnded: _S.SETTLED,
        WardenLost: _S.CLEARING,
        RunnerLost: _S.CLEARING,
    },
    _S.EMPTYING: {
        AgentSpawned: _X,
        SpawnFailed: _X,
        OutputSeen: _S.EMPTYING,
        AgentExited: _S.EMPTYING,
        OutputDrained: _S.SETTLED,
        TreeEnded: _I,  # the first answer wins
        WardenLost: _I,  # its proof is in; it has nothing more to tell
        RunnerLost: _S.EMPTYING,
    },
    _S.SETTLED: {
        AgentSpawned: _X,
        SpawnFailed: _X,
        OutputSeen: _I,
        AgentExited: _I,
        OutputDrained: _I,
        TreeEnded: _I,
        WardenLost: _I,
        RunnerLost: _I,
    },
}
