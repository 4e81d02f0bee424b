"""Taking care: adopts what nobody leads, tidies what nobody needs, and lets everything else be."""

import time
from pathlib import Path

import pytest

from sidecar.control import caretaker as module
from sidecar.control import read
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Context
from sidecar.core import policy
from sidecar.core.errors import SpawnRefused, StorageError
from sidecar.core.states import StopCause
from sidecar.store import markers, staging
from sidecar.store.inbox import Inbox
from sidecar.store.layout import open_state_dir
from sidecar.store.lease import Lease
from tests.support.callers import NOW, UNKNOWN, Runner, StandIn, context, launched

DELAY, RETRY = policy.ADOPT_DELAY_MS, policy.ADOPT_RETRY_MS
GIVEN = "01890a5d-ac96-774b-bcce-b302099a8057"


def live(ctx: Context, **changes: object) -> tuple[str, Runner]:
    """A run whose agent works."""
    made, runner = launched(ctx, **changes)
    runner.start()
    return made.snapshot.run.run_id, runner


def lost(ctx: Context) -> str:
    """A run that nobody leads any more."""
    run_id, runner = live(ctx)
    runner.vanish()
    return run_id


def test_a_lost_run_is_adopted_after_a_moment(state_dir: Path) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    run_id = lost(ctx)
    caretaker = Caretaker(ctx)
    # Its warden is faster, if it lives.
    assert caretaker.tend(1000).adopting == ()
    assert caretaker.tend(1000 + DELAY - 1).adopting == ()
    assert caretaker.tend(1000 + DELAY).adopting == (run_id,)
    assert spawner.adopted == [run_id]


def test_one_that_was_never_started_is_adopted_too(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, runner = launched(ctx)
    runner.vanish()
    caretaker = Caretaker(ctx)
    caretaker.tend(0)
    assert caretaker.tend(DELAY).adopting == (made.snapshot.run.run_id,)


def test_it_is_tried_again_but_not_all_the_time(state_dir: Path) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    run_id = lost(ctx)
    caretaker = Caretaker(ctx)
    for now in range(0, DELAY + RETRY, 1000):
        caretaker.tend(now)
    assert spawner.adopted == [run_id]
    caretaker.tend(DELAY + RETRY)
    assert spawner.adopted == [run_id, run_id]


def test_a_runner_that_was_seen_to_die_needs_no_waiting(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = lost(ctx)
    caretaker = Caretaker(ctx)
    caretaker.expect(run_id)
    assert caretaker.tend(0).adopting == (run_id,)
    caretaker.expect(run_id)
    assert caretaker.tend(1).adopting == ()


def test_a_run_that_is_led_is_left_alone(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, runner = live(ctx)
    caretaker = Caretaker(ctx)
    caretaker.expect(run_id)
    for now in (0, DELAY, 10 * DELAY):
        assert caretaker.tend(now).adopting == ()
    # Its leader changed in between: the moment counts from the last time it was seen free.
    runner.vanish()
    assert caretaker.tend(10 * DELAY + 1).adopting == ()
    lease = Lease.take(ctx.layout.run_dir(run_id))
    assert lease is not None
    caretaker.tend(11 * DELAY)
    lease.release()
    assert caretaker.tend(20 * DELAY).adopting == ()
    assert caretaker.tend(21 * DELAY).adopting == (run_id,)


def test_unknown_is_never_dead(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = lost(ctx)
    (Path(ctx.layout.run_dir(run_id)) / "lease").unlink()
    caretaker = Caretaker(ctx)
    caretaker.expect(run_id)
    for now in (0, DELAY, 10 * DELAY):
        assert caretaker.tend(now).adopting == ()


def test_markers_go_by_proof(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, runner = live(ctx)
    runner.end()
    markers.add(ctx.layout, run_id)  # its runner was killed just before it could
    kept, _ = live(ctx)
    assert Caretaker(ctx).tend(0).released == (run_id,)
    assert markers.active_ids(ctx.layout) == [kept]


def test_a_marker_without_a_proof_goes_by_age(state_dir: Path) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    run_id, runner = live(ctx)
    runner.end(proof=UNKNOWN)
    caretaker = Caretaker(ctx)
    assert caretaker.tend(0).released == ()
    spawner.clock.now = NOW + policy.MARKER_AGE_MS // 2
    assert caretaker.tend(1).released == ()
    spawner.clock.now = NOW + policy.MARKER_AGE_MS + 1000
    assert caretaker.tend(2).released == (run_id,)
    assert markers.active_ids(ctx.layout) == []


def test_what_dead_launchers_left_is_swept(state_dir: Path) -> None:
    layout = open_state_dir(str(state_dir))
    _, lease = staging.stage(layout, GIVEN)
    markers.add(layout, GIVEN)
    caretaker = Caretaker(context(state_dir))
    assert caretaker.tend(0).swept == ()  # its launcher lives
    assert markers.active_ids(layout) == [GIVEN]
    lease.release()
    assert caretaker.tend(1).swept == (GIVEN,)
    assert list((state_dir / "staging").iterdir()) == []
    caretaker.tend(2)
    assert markers.active_ids(layout) == []


def test_one_directory_never_keeps_it_from_the_others(state_dir: Path) -> None:
    ctx = context(state_dir)
    damaged, other = lost(ctx), lost(ctx)
    (Path(ctx.layout.run_dir(damaged)) / "status.json").write_bytes(b"{")
    caretaker = Caretaker(ctx)
    caretaker.tend(0)
    tended = caretaker.tend(DELAY)
    assert tended.adopting == (other,)
    assert [(problem.path, problem.damage) for problem in tended.problems] == [
        (f"{ctx.layout.run_dir(damaged)}/status.json", "corrupt")
    ]


def test_a_refusal_to_start_is_told_and_tried_again_later(state_dir: Path) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    run_id = lost(ctx)
    caretaker = Caretaker(ctx)
    caretaker.expect(run_id)
    spawner.refuses = SpawnRefused("no processes left")
    tended = caretaker.tend(0)
    assert tended.adopting == ()
    assert [problem.error for problem in tended.problems] == ["no processes left"]
    spawner.refuses = None
    assert caretaker.tend(RETRY - 1).adopting == ()
    assert caretaker.tend(RETRY).adopting == (run_id,)


def test_a_run_that_no_adopter_can_lead_is_tried_less_and_less_often(state_dir: Path) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    run_id = lost(ctx)
    caretaker = Caretaker(ctx)
    tried = [now for now in range(0, 100 * RETRY, DELAY) if caretaker.tend(now).adopting]
    assert tried == [DELAY + times * RETRY for times in (0, 1, 3, 7, 15, 31, 63)]
    assert set(spawner.adopted) == {run_id}


def test_many_that_lost_their_leader_at_once_are_adopted_by_and_by(state_dir: Path) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    runs = [lost(ctx) for _ in range(2 * policy.ADOPT_AT_ONCE + 1)]
    caretaker = Caretaker(ctx)
    caretaker.tend(0)
    started = [len(caretaker.tend(DELAY + number).adopting) for number in range(4)]
    assert started == [policy.ADOPT_AT_ONCE, policy.ADOPT_AT_ONCE, 1, 0]
    assert sorted(spawner.adopted) == sorted(runs)


def test_but_never_given_up(state_dir: Path) -> None:
    caretaker = Caretaker(context(state_dir, spawner=StandIn()))
    lost(caretaker._ctx)
    caretaker.tend(0)
    for number in range(1, 100):
        assert caretaker.tend(number * policy.ADOPT_RETRY_MAX_MS).adopting != ()


def test_a_budget_that_is_too_small_starves_nobody(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    runs = [lost(ctx) for _ in range(3)]
    caretaker = Caretaker(ctx)
    for run_id in runs:
        caretaker.expect(run_id)
    looks = iter(range(10**6))
    # Two looks at the clock, then the time is up: one run a call.
    monkeypatch.setattr(module, "TEND_BUDGET_MS", 1500)
    monkeypatch.setattr(time, "monotonic", lambda: next(looks))
    for now in range(3):
        assert len(caretaker.tend(now).adopting) == 1
    assert spawner.adopted == runs


def test_a_nested_run_ends_with_its_parent(state_dir: Path) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    parent, runner = live(ctx)
    other = context(state_dir, spawner=spawner, session="other")
    child, _ = live(other, parent_run_id=parent)
    caretaker = Caretaker(ctx)
    assert caretaker.tend(0).stopped == ()
    runner.end()
    assert caretaker.tend(1).stopped == (child,)
    assert caretaker.tend(2).stopped == ()
    (posted,) = Inbox(ctx.layout.run_dir(child)).pending()
    assert posted.command.cause is StopCause.PARENT


def test_a_damaged_parent_is_no_reason_to_neglect_its_child(state_dir: Path) -> None:
    ctx = context(state_dir)
    parent, _ = live(ctx)
    made, runner = launched(ctx, parent_run_id=parent)
    runner.vanish()
    (Path(ctx.layout.run_dir(parent)) / "status.json").write_bytes(b"{")
    caretaker = Caretaker(ctx)
    caretaker.expect(made.snapshot.run.run_id)
    assert caretaker.tend(0).adopting == (made.snapshot.run.run_id,)


def test_its_adopters_are_collected(state_dir: Path) -> None:
    spawner = StandIn()
    ctx = context(state_dir, spawner=spawner)
    caretaker = Caretaker(ctx)
    caretaker.expect(lost(ctx))
    caretaker.tend(0)
    assert spawner.asked_about == []
    caretaker.tend(1)
    spawner.ended.add(2_000_001)
    caretaker.tend(2)
    caretaker.tend(3)
    assert spawner.asked_about == [2_000_001] * 2


def test_a_marker_whose_run_is_just_being_shown_is_left_alone(state_dir: Path) -> None:
    layout = open_state_dir(str(state_dir))
    run_dir, lease = staging.stage(layout, GIVEN)
    markers.add(layout, GIVEN)
    tended = Caretaker(context(state_dir)).tend(0)
    assert (tended.problems, tended.released, tended.swept) == ((), (), ())
    run_dir.close()
    lease.release()


def test_a_list_that_is_refused_is_a_problem_and_no_crash(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise StorageError("no descriptors", errno_name="EMFILE")

    ctx = context(state_dir)
    live(ctx)
    monkeypatch.setattr(markers, "active_ids", refuse)
    problems = Caretaker(ctx).tend(0).problems
    assert {problem.error for problem in problems} == {"no descriptors"}


def test_where_there_can_be_no_state_directory_there_is_nothing_to_do() -> None:
    tended = Caretaker(context("/dev/null/state")).tend(0)
    assert (tended.problems, tended.adopting) == ((), ())


def test_what_it_does_is_seen_by_readers(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id = lost(ctx)
    before = read.get(ctx, run_id)
    caretaker = Caretaker(ctx)
    caretaker.tend(0)
    caretaker.tend(DELAY)
    # It starts adopters, and writes nothing itself.
    assert read.get(ctx, run_id) == before
