"""Stopping: durable before it is answered, for one's own runs, and done twice without harm."""

from pathlib import Path

import pytest

from sidecar.control import read
from sidecar.control.stop import stop
from sidecar.core import policy
from sidecar.core.commands import StopCommand
from sidecar.core.errors import InvalidParams, NotFound, OtherSession
from sidecar.core.events import StopRequested
from sidecar.core.states import RunState, StopCause
from sidecar.store.doorbell import RunBell
from sidecar.store.inbox import Inbox
from tests.support.callers import Runner, StandIn, context, launched


def pending(run_dir: str) -> list[StopCommand]:
    """What waits for the runner."""
    return [posted.command for posted in Inbox(run_dir).pending()]


def obey(runner: Runner, run_dir: str) -> None:
    """Let the runner take what is in its inbox."""
    inbox = Inbox(run_dir)
    for posted in inbox.pending():
        command = posted.command
        runner.feed(
            StopRequested(
                cause=command.cause,
                client=command.client,
                reason=command.reason,
                grace_ms=command.grace_ms,
                command_id=posted.command_id,
            )
        )
        inbox.finish(posted.command_id)


def test_a_stop_is_in_the_inbox_before_it_is_answered(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    run_id = made.snapshot.run.run_id
    bell = RunBell(ctx.layout.run_dir(run_id))
    try:
        answer = stop(ctx, run_id, reason="enough", grace_ms=100)
        assert bell.receive()
    finally:
        bell.close()
    stopping = answer.run.stopping
    assert stopping is not None
    assert (stopping.cause, stopping.client, stopping.reason, stopping.grace_ms) == (
        StopCause.USER,
        "test",
        "enough",
        100,
    )
    # Only shown: what is on disk is the runner's to write, and has the number that was answered.
    on_disk = read.get(ctx, run_id)
    assert (on_disk.run.stopping, on_disk.revision) == (None, answer.revision)
    assert answer.run.state is RunState.RUNNING
    (command,) = pending(ctx.layout.run_dir(run_id))
    assert (command.cause, command.client, command.reason, command.grace_ms) == (
        StopCause.USER,
        "test",
        "enough",
        100,
    )


def test_a_run_that_nobody_leads_can_be_stopped(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.vanish()
    answer = stop(ctx, made.snapshot.run.run_id)
    assert answer.run.stopping is not None
    assert len(pending(ctx.layout.run_dir(made.snapshot.run.run_id))) == 1


def test_stopping_twice_is_fine_and_a_shorter_grace_hastens(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    run_dir = ctx.layout.run_dir(made.snapshot.run.run_id)
    stop(ctx, made.snapshot.run.run_id, grace_ms=1000)
    obey(runner, run_dir)
    again = stop(ctx, made.snapshot.run.run_id, grace_ms=2000)
    assert again == read.get(ctx, made.snapshot.run.run_id)
    assert pending(run_dir) == []  # nothing that could change anything
    faster = stop(ctx, made.snapshot.run.run_id, grace_ms=0)
    assert faster.run.stopping is not None
    assert faster.run.stopping.grace_ms == 0
    assert [command.grace_ms for command in pending(run_dir)] == [0]


def test_a_run_that_is_over_is_answered_as_it_is(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    runner.end()
    answer = stop(ctx, made.snapshot.run.run_id)
    assert answer.run.state is RunState.COMPLETE
    assert pending(ctx.layout.run_dir(made.snapshot.run.run_id)) == []


def test_the_default_grace(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, _ = launched(ctx)
    answer = stop(ctx, made.snapshot.run.run_id)
    assert answer.run.stopping is not None
    assert answer.run.stopping.grace_ms == policy.GRACE_MS


def test_a_run_of_another_session_only_if_it_is_meant(state_dir: Path) -> None:
    spawner = StandIn()
    made, _ = launched(context(state_dir, spawner=spawner, session="there"))
    ctx = context(state_dir, session="here")
    with pytest.raises(OtherSession):
        stop(ctx, made.snapshot.run.run_id)
    assert pending(ctx.layout.run_dir(made.snapshot.run.run_id)) == []
    assert stop(ctx, made.snapshot.run.run_id, any_session=True).run.stopping is not None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"grace_ms": -1}, "graceMs"),
        ({"grace_ms": 600_001}, "graceMs"),
        ({"reason": "x" * 1001}, "reason"),
    ],
)
def test_what_cannot_be_asked(state_dir: Path, changes: dict[str, object], field: str) -> None:
    ctx = context(state_dir)
    made, _ = launched(ctx)
    with pytest.raises(InvalidParams) as refused:
        stop(ctx, made.snapshot.run.run_id, **changes)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_a_run_that_there_is_not(state_dir: Path) -> None:
    with pytest.raises(NotFound):
        stop(context(state_dir), "0189abcd")
