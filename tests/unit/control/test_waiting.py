"""Waiting: for any or all of the runs that were meant, woken by the bell or found by the scan."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.control import waiting
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Context, Snapshot
from sidecar.control.remove import remove
from sidecar.control.waiting import Until, Waited, is_satisfied, wait
from sidecar.core import policy
from sidecar.core.errors import InvalidParams, NotFound
from sidecar.core.states import RunState
from sidecar.store import doorbell
from sidecar.store.doorbell import Bells
from tests.support.callers import Runner, StandIn, context, launched


@pytest.mark.parametrize(
    ("over", "any_of", "all_of"),
    [
        ([], True, True),
        ([False], False, False),
        ([True], True, True),
        ([True, False], True, False),
        ([True, True], True, True),
    ],
)
def test_when_a_wait_has_its_end(over: list[bool], any_of: bool, all_of: bool) -> None:
    assert is_satisfied(over, Until.ANY) is any_of
    assert is_satisfied(over, Until.ALL) is all_of


def live(ctx: Context) -> tuple[str, Runner]:
    """A run whose agent works."""
    made, runner = launched(ctx)
    runner.start()
    return made.snapshot.run.run_id, runner


def ring(ctx: Context, run_id: str) -> None:
    """What a runner does after it has written."""
    bells = Bells(ctx.layout)
    bells.ring("status", run_id, 1)
    bells.close()


def in_background(waits: Callable[[], Waited]) -> Callable[[], Waited]:
    """Begin a wait in another thread; calling what is returned gives its answer."""
    answers: list[Waited] = []
    thread = threading.Thread(target=lambda: answers.append(waits()), daemon=True)
    thread.start()

    def answer() -> Waited:
        thread.join(20)
        assert answers, "the wait has no end"
        return answers[0]

    return answer


def states(waited: Waited) -> list[RunState]:
    """What became of the runs."""
    return [snapshot.run.state for snapshot in waited.snapshots]


def test_what_is_over_needs_no_waiting(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, runner = live(ctx)
    runner.end(code=1)
    waited = wait(ctx, [run_id], Until.ALL)
    assert (states(waited), waited.timed_out) == ([RunState.FAILED], False)


def test_a_wait_without_time_looks_once(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, _ = live(ctx)
    waited = wait(ctx, [run_id], timeout_ms=0)
    assert (states(waited), waited.timed_out) == ([RunState.RUNNING], True)


def test_a_ring_ends_the_wait(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So long that only a ring can end this test in time.
    monkeypatch.setattr(policy, "SCAN_MS", 3_600_000)
    ctx = context(state_dir)
    (first, runner), (second, _) = live(ctx), live(ctx)
    seen = threading.Event()

    def changed(snapshot: Snapshot) -> None:
        if snapshot.run.is_over:  # the end is written in several steps, and each may be seen
            seen.set()

    answer = in_background(lambda: wait(ctx, [first, second], Until.ANY, changed=changed))
    runner.end()
    while not seen.wait(0.01):
        ring(ctx, first)  # again, until the other side listens
    waited = answer()
    assert (states(waited), waited.timed_out) == ([RunState.COMPLETE, RunState.RUNNING], False)


def test_without_bells_the_scan_ends_the_wait(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "SCAN_MS", 20)
    monkeypatch.setattr(doorbell.Bells, "ring", lambda *_: 0)
    ctx = context(state_dir)
    run_id, runner = live(ctx)
    answer = in_background(lambda: wait(ctx, [run_id], Until.ALL))
    runner.end()
    assert states(answer()) == [RunState.COMPLETE]


def test_all_means_all(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "SCAN_MS", 20)
    ctx = context(state_dir)
    (first, one), (second, other) = live(ctx), live(ctx)
    one.end()
    assert wait(ctx, [first, second], Until.ALL, timeout_ms=50).timed_out
    answer = in_background(lambda: wait(ctx, [first, second], Until.ALL))
    other.end()
    assert states(answer()) == [RunState.COMPLETE] * 2


def test_without_names_it_is_the_live_ones_of_the_session(state_dir: Path) -> None:
    spawner = StandIn()
    here = context(state_dir, spawner=spawner, session="here")
    there = context(state_dir, spawner=spawner, session="there")
    (mine, _), (over, runner) = live(here), live(here)
    live(there)
    runner.end()
    waited = wait(here, [], timeout_ms=0)
    assert [snapshot.run.run_id for snapshot in waited.snapshots] == [mine]
    assert over not in [snapshot.run.run_id for snapshot in waited.snapshots]


def test_a_wait_for_nothing_has_an_end(state_dir: Path) -> None:
    for until in Until:
        assert wait(context(state_dir), [], until) == Waited(snapshots=(), gone=(), timed_out=False)


def test_a_run_that_is_named_twice_counts_once(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, runner = live(ctx)
    runner.end()
    assert len(wait(ctx, [run_id, run_id[:20]]).snapshots) == 1


def test_a_run_that_is_removed_meanwhile_is_over(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "SCAN_MS", 20)
    ctx = context(state_dir)
    (run_id, runner), (other, _) = live(ctx), live(ctx)
    meant = waiting.meant

    def removed_at_once(*args: object) -> tuple[Snapshot, ...]:
        found = meant(*args)  # type: ignore[arg-type]
        runner.end()
        remove(ctx, run_id)
        return found

    monkeypatch.setattr(waiting, "meant", removed_at_once)
    waited = wait(ctx, [run_id, other], Until.ANY)
    assert waited.gone == (run_id,)
    assert [snapshot.run.run_id for snapshot in waited.snapshots] == [other]


def test_a_caretaker_takes_care_while_nobody_else_does(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "SCAN_MS", 10)
    monkeypatch.setattr(policy, "ADOPT_DELAY_MS", 20)
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    run_id, runner = live(ctx)
    runner.vanish()
    wait(ctx, [run_id], timeout_ms=500, caretaker=Caretaker(ctx))
    assert spawner.adopted == [run_id]


def test_what_cannot_be_waited_for(state_dir: Path) -> None:
    ctx = context(state_dir)
    with pytest.raises(NotFound):
        wait(ctx, ["0189abcd"])
    with pytest.raises(InvalidParams):
        wait(ctx, [], "some")
    with pytest.raises(InvalidParams):
        wait(ctx, [], timeout_ms=-1)
    assert list(state_dir.iterdir()) == []  # asking made nothing
