"""Exit codes: one per class of error, and those of runs mirrored."""

import pytest

from sidecar.cli import exits
from sidecar.core import errors
from sidecar.core.states import AgentExit, Run, RunState
from tests.unit.cli.building import complete, over


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidParams("no"), 2),
        (errors.NotFound("no"), 4),
        (errors.AmbiguousId("no", candidates=()), 4),
        (errors.OtherSession("no"), 5),
        (errors.RunLive("no"), 5),
        (errors.RunOver("no"), 5),
        (errors.AlreadyResolved("no"), 5),
        (errors.AgentUnavailable("no"), 5),
        (errors.LimitReached("no"), 5),
        (errors.StorageError("no", errno_name="ENOSPC"), 1),
        (errors.SpawnRefused("no"), 1),
        (errors.DamagedRun("no", path="x", damage="corrupt"), 1),
        (errors.Bug("no"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_class_of_error_has_its_code(error: errors.SidecarError, code: int) -> None:
    assert exits.of_error(error) == code


def subclasses(kind: type[errors.SidecarError]) -> set[type[errors.SidecarError]]:
    return {kind}.union(*(subclasses(below) for below in kind.__subclasses__()))


def test_whatever_the_caller_did_wrong_is_told_from_whatever_failed() -> None:
    for kind in subclasses(errors.CallerError) - {errors.CallerError, errors.AmbiguousId}:
        assert exits.of_error(kind("no")) != exits.FAILED


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (complete(), 0),
        (over(RunState.FAILED, "exit-status", exited=AgentExit(code=7)), 7),
        (over(RunState.FAILED, "exit-status", exited=AgentExit(code=255)), 255),
        (over(RunState.FAILED, "signal", exited=AgentExit(signal=11)), 139),
        (over(RunState.FAILED, "deadline", exited=AgentExit(signal=15)), 1),
        (over(RunState.FAILED, "deadline", exited=AgentExit(code=7)), 1),
        (over(RunState.FAILED, "spawn-failed"), 1),
        (over(RunState.STOPPED, "stopped-by-user", exited=AgentExit(signal=15)), 3),
        (over(RunState.STOPPED, "stopped-by-user", exited=AgentExit(code=0)), 3),
        (over(RunState.REJECTED, "rejected"), 1),
    ],
    ids=lambda value: value.outcome.reason if isinstance(value, Run) and value.outcome else value,
)
def test_a_run_is_mirrored(run: Run, code: int) -> None:
    assert exits.of_run(run) == code


def test_several_runs_are_mirrored_by_the_first_that_is_not_complete() -> None:
    failed = over(RunState.FAILED, "exit-status", exited=AgentExit(code=7))
    stopped = over(RunState.STOPPED, "stopped-by-user")
    assert exits.of_runs((complete(), stopped, failed)) == 3
    assert exits.of_runs((complete(), complete())) == 0
    assert exits.of_runs(()) == 0


def test_the_table_that_is_shown_names_every_code() -> None:
    shown = {code for code, _ in exits.TABLE}
    named = {
        exits.DONE, exits.FAILED, exits.USAGE, exits.STOPPED, exits.NO_SUCH_RUN, exits.REFUSED,
        exits.TIMED_OUT, exits.DETACHED, exits.READER_GONE,
    }  # fmt: skip
    assert shown == {str(code) for code in named} | {"N", "128+S"}
    assert exits.__doc__ is not None
    assert all(f"    {code} " in exits.__doc__ for code in shown)
