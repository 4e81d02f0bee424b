"""Dismissing: hides, ends nothing, and never outlives a change of the run."""

from pathlib import Path

import pytest

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.control.dismiss import dismiss, undismiss
from sidecar.core.errors import NotFound, OtherSession, RunLive
from sidecar.core.states import RunState
from sidecar.store import dismissals
from sidecar.store.dismissals import write
from sidecar.store.doorbell import Bell
from tests.support.callers import Runner, StandIn, context, launched


def finished(ctx: Context) -> str:
    """A run that is over."""
    made, runner = launched(ctx)
    runner.start()
    runner.end()
    return made.snapshot.run.run_id


def test_a_run_is_hidden_and_shown_again(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = finished(ctx)
    before = read.get(ctx, run_id)
    hidden = dismiss(ctx, run_id)
    assert hidden.dismissed_at is not None
    assert hidden.run == before.run
    assert hidden == read.get(ctx, run_id)
    shown = undismiss(ctx, run_id)
    assert shown.dismissed_at is None
    # Both are changes that clients see.
    assert [before.revision, hidden.revision, shown.revision] == [
        before.revision,
        before.revision + 1,
        before.revision + 2,
    ]


def test_doing_it_twice_changes_nothing(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = finished(ctx)
    assert undismiss(ctx, run_id) == read.get(ctx, run_id)
    once = dismiss(ctx, run_id)
    assert dismiss(ctx, run_id) == once
    once = undismiss(ctx, run_id)
    assert undismiss(ctx, run_id) == once


def test_whoever_listens_is_told(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = finished(ctx)
    bell = Bell(ctx.layout)
    try:
        hidden = dismiss(ctx, run_id)
        shown = undismiss(ctx, run_id)
        rung = [(ring.kind, ring.run_id, ring.revision) for ring in bell.receive()]
    finally:
        bell.close()
    assert rung == [("status", run_id, hidden.revision), ("status", run_id, shown.revision)]


def test_a_live_run_is_refused_whether_it_is_led_or_not(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    for _ in range(2):
        with pytest.raises(RunLive):
            dismiss(ctx, made.snapshot.run.run_id)
        runner.vanish()  # an adopter will come; hiding it now would hide what it finds
    assert not (Path(ctx.layout.run_dir(made.snapshot.run.run_id)) / "dismissed.json").exists()


def test_where_nobody_can_tell_whether_it_lives_it_may_be_hidden(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    run_id = made.snapshot.run.run_id
    # As on a disk without locks: nothing can be learnt from the lease.
    (Path(ctx.layout.run_dir(run_id)) / "lease").unlink()
    assert dismiss(ctx, run_id).dismissed_at is not None
    # It lived after all: what it becomes is shown.
    runner.end()
    after = read.get(ctx, run_id)
    assert (after.run.state, after.dismissed_at) == (RunState.COMPLETE, None)
    assert after.revision > 0


def test_a_change_that_comes_in_between_wins(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.start()
    run_id = made.snapshot.run.run_id
    (Path(ctx.layout.run_dir(run_id)) / "lease").unlink()

    def late(*args: object) -> object:
        Runner.end(runner)
        return write(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(dismissals, "write", late)
    answer = dismiss(ctx, run_id)
    assert (answer.run.state, answer.dismissed_at) == (RunState.COMPLETE, None)


def test_only_the_runs_own_session_unless_it_is_meant(state_dir: Path) -> None:
    spawner = StandIn()
    run_id = finished(context(state_dir, spawner=spawner, session="there"))
    ctx = context(state_dir, session="here")
    with pytest.raises(OtherSession):
        dismiss(ctx, run_id)
    assert dismiss(ctx, run_id, any_session=True).dismissed_at is not None
    with pytest.raises(OtherSession):
        undismiss(ctx, run_id)
    assert undismiss(ctx, run_id, any_session=True).dismissed_at is None


def test_a_run_that_there_is_not(state_dir: Path) -> None:
    for what in (dismiss, undismiss):
        with pytest.raises(NotFound):
            what(context(state_dir), "0189abcd")
