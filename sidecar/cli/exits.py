"""The exit codes of the command line: one table, for scripts.

    0      done; or the run that was waited for is complete
    1      failed: the run failed without an exit status, was rejected, or sidecar or the system
           could not do what was asked
    2      wrong usage: an argument is missing, unknown or out of range
    3      the run that was waited for was stopped
    4      no such run, or the id fits several
    5      refused: another session's run, still live, already over, a limit, no such agent
    124    the time to wait is up; the run goes on
    130    detached by Ctrl-C; the run goes on
    141    whoever read our output is gone
    N      the agent of the run that was waited for exited with N
    128+S  the agent of the run that was waited for was ended by signal S

``launch --wait``, ``launch --follow`` and ``wait`` mirror the run; several runs are mirrored by the
first of them, in the order given, that is not complete.

This module must never print or exit: it only names numbers.
"""

from sidecar.core.errors import (
    AgentUnavailable,
    AlreadyResolved,
    AmbiguousId,
    InvalidParams,
    LimitReached,
    NotFound,
    OtherSession,
    RunLive,
    RunOver,
    SidecarError,
)
from sidecar.core.states import AgentExit, Run, RunState

DONE = 0
FAILED = 1
USAGE = 2
STOPPED = 3
NO_SUCH_RUN = 4
REFUSED = 5
TIMED_OUT = 124
DETACHED = 130
READER_GONE = 141
SIGNAL_BASE = 128

# The same table as above, as ``--help`` and the manual show it.
TABLE = (
    ("0", "done; or the run that was waited for is complete"),
    ("1", "failed: the run without an exit status, or sidecar or the system"),
    ("2", "wrong usage"),
    ("3", "the run that was waited for was stopped"),
    ("4", "no such run, or the id fits several"),
    ("5", "refused: another session's, live or over already, a limit, no such agent"),
    ("124", "the time to wait is up; the run goes on"),
    ("130", "detached by Ctrl-C; the run goes on"),
    ("141", "whoever read our output is gone"),
    ("N", "the agent of the run that was waited for exited with N"),
    ("128+S", "the agent of the run that was waited for was ended by signal S"),
)

_REFUSALS = (
    OtherSession,
    RunLive,
    RunOver,
    AlreadyResolved,
    AgentUnavailable,
    LimitReached,
)


def of_error(error: SidecarError) -> int:
    """The exit code for an error by its class."""
    if isinstance(error, InvalidParams):
        return USAGE
    if isinstance(error, NotFound | AmbiguousId):
        return NO_SUCH_RUN
    return REFUSED if isinstance(error, _REFUSALS) else FAILED


def of_run(run: Run) -> int:
    """The exit code that mirrors a run which is over."""
    if run.state is RunState.COMPLETE:
        return DONE
    if run.state is RunState.STOPPED:
        return STOPPED
    # An exit is only mirrored where it decided: after a deadline it is our own signal.
    if run.outcome is not None and run.outcome.reason in {"exit-status", "signal"}:
        for step in run.steps:
            exited = step.attempt.exit if step.attempt is not None else None
            if exited is not None and exited != AgentExit(code=0):
                return _of_exit(exited)
    return FAILED


def of_runs(runs: tuple[Run, ...]) -> int:
    """The exit code that mirrors several: that of the first which is not complete."""
    return next((code for code in map(of_run, runs) if code != DONE), DONE)


def _of_exit(exited: AgentExit) -> int:
    if exited.signal is not None:
        return SIGNAL_BASE + exited.signal
    return FAILED if exited.code is None else exited.code
