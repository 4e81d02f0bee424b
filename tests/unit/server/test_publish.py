"""What a client is told of runs: the newest, once, never backwards, never before the answer."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sidecar.control.context import Snapshot
from sidecar.core.dismissal import NEVER, Dismissal
from sidecar.core.plan import Mode
from sidecar.core.states import Outcome, Run, RunState
from sidecar.server.publish import Occasion, Publisher

OURS = "ours"


def run(run_id: str = "a", *, seq: int = 1, session_id: str = OURS, **more: Any) -> Snapshot:
    fields: dict[str, Any] = {"state": RunState.RUNNING, **more}
    return Snapshot(
        run=Run(
            run_id=run_id,
            seq=seq,
            mode=Mode.SINGLE,
            session_id=session_id,
            cwd="/",
            label=None,
            parent_run_id=None,
            timeout_ms=None,
            created_at=0,
            updated_at=0,
            **fields,
        ),
        dismissal=NEVER,
    )


def ended(run_id: str = "a", *, seq: int, reason: str = "completed") -> Snapshot:
    outcome = Outcome(state=RunState.COMPLETE, reason=reason)
    return run(run_id, seq=seq, state=RunState.COMPLETE, outcome=outcome)


def told(publisher: Publisher, now_ms: int) -> list[tuple[str, int]]:
    return [(news.snapshot.run.run_id, news.snapshot.revision) for news in publisher.take(now_ms)]


def new_publisher(interval_ms: int = 100) -> Publisher:
    return Publisher(session_id=OURS, interval_ms=interval_ms)


def test_the_first_state_is_told_at_once_and_the_newest_after_the_interval() -> None:
    publisher = new_publisher()
    publisher.see(run(seq=1))
    assert told(publisher, 1000) == [("a", 1)]
    publisher.see(run(seq=2))
    publisher.see(run(seq=3))
    assert publisher.next_due() == 1100
    assert told(publisher, 1099) == []
    assert told(publisher, 1100) == [("a", 3)]
    assert told(publisher, 5000) == []
    assert publisher.next_due() is None


def test_the_same_and_older_states_are_no_news() -> None:
    publisher = new_publisher(interval_ms=0)
    publisher.see(run(seq=5))
    assert told(publisher, 0) == [("a", 5)]
    publisher.see(run(seq=5))
    publisher.see(run(seq=4))
    assert told(publisher, 0) == []
    publisher.see(run(seq=7))
    publisher.see(run(seq=6))
    assert told(publisher, 0) == [("a", 7)]


def test_one_run_does_not_wait_for_another() -> None:
    publisher = new_publisher()
    publisher.see(run("a", seq=1))
    assert told(publisher, 0) == [("a", 1)]
    publisher.see(run("a", seq=2))
    publisher.see(run("b", seq=1))
    assert told(publisher, 10) == [("b", 1)]
    assert told(publisher, 100) == [("a", 2)]


def test_a_client_that_falls_behind_costs_one_state_per_run() -> None:
    publisher = new_publisher(interval_ms=0)
    for seq in range(1, 1000):
        publisher.see(run("a", seq=seq))
        publisher.see(run("b", seq=seq))
    assert publisher.waiting == 2
    taken = publisher.take(0)
    assert next(taken).snapshot.revision == 999
    assert publisher.waiting == 1  # whoever stops iterating loses nothing
    publisher.see(run("b", seq=1000))
    assert told(publisher, 0) == [("b", 1000)]


def test_only_the_own_session_and_what_is_followed() -> None:
    publisher = new_publisher(interval_ms=0)
    other = run("x", seq=1, session_id="theirs")
    publisher.see(other)
    assert told(publisher, 0) == []
    publisher.follow("x")
    publisher.see(other)
    assert told(publisher, 0) == [("x", 1)]
    publisher.unfollow("x")
    publisher.see(run("x", seq=2, session_id="theirs"))
    assert told(publisher, 0) == []


def test_a_dismissal_is_a_change() -> None:
    publisher = new_publisher(interval_ms=0)
    over = ended(seq=5)
    publisher.see(over)
    assert told(publisher, 0) == [("a", 5)]
    hidden = Dismissal(dismissed=True, changes=1, at=1, at_seq=5)
    publisher.see(replace(over, dismissal=hidden))
    assert told(publisher, 0) == [("a", 6)]


def test_an_end_does_not_wait_for_the_interval() -> None:
    publisher = new_publisher(interval_ms=600_000)
    publisher.see(run(seq=1))
    assert told(publisher, 0) == [("a", 1)]
    publisher.see(run(seq=2))
    assert told(publisher, 1) == []
    publisher.see(ended(seq=3))
    assert publisher.next_due() == 0
    assert told(publisher, 2) == [("a", 3)]


def test_an_end_that_was_hidden_and_shown_again_is_no_news() -> None:
    publisher = new_publisher(interval_ms=100)
    over = ended(seq=5)
    publisher.see(over)
    assert told(publisher, 0) == [("a", 5)]
    hidden = Dismissal(dismissed=True, changes=1, at=1, at_seq=5)
    shown = Dismissal(dismissed=False, changes=2, at=2, at_seq=5)
    publisher.see(replace(over, dismissal=hidden))
    publisher.see(replace(over, dismissal=shown))
    assert told(publisher, 1000) == []
    publisher.see(replace(over, dismissal=replace(hidden, changes=3, at=3)))
    assert told(publisher, 1000) == [("a", 8)]


def test_a_run_is_told_only_after_the_answer_to_its_launch() -> None:
    publisher = new_publisher(interval_ms=0)
    publisher.see(run("old", seq=1))
    first = publisher.launch_begins()
    second = publisher.launch_begins()
    publisher.see(run("a", seq=2))
    publisher.see(run("old", seq=2))
    publisher.see(run("b", seq=2))
    assert told(publisher, 0) == [("old", 2)]
    assert publisher.next_due() is None
    publisher.launch_ends(second, run("b", seq=1))
    assert told(publisher, 0) == [("b", 2)]
    later = publisher.launch_begins()
    publisher.launch_ends(first, None)
    assert told(publisher, 0) == [("a", 2)]  # a launch that came later holds nothing back
    publisher.launch_ends(later, None)


def test_a_run_that_was_there_when_the_client_began_may_be_the_one_launched() -> None:
    publisher = new_publisher(interval_ms=0)
    launch = publisher.launch_begins()
    publisher.recover(run("a", seq=1))
    assert told(publisher, 0) == []
    publisher.launch_ends(launch, run("a", seq=1))
    assert told(publisher, 0) == []
    publisher.see(run("a", seq=2))
    assert told(publisher, 0) == [("a", 2)]


def test_what_the_answer_to_a_launch_told_is_not_told_again() -> None:
    publisher = new_publisher(interval_ms=0)
    launch = publisher.launch_begins()
    publisher.see(run("a", seq=1))
    publisher.launch_ends(launch, run("a", seq=1))
    assert told(publisher, 0) == []
    publisher.see(ended("a", seq=2))
    assert told(publisher, 0) == [("a", 2)]


def test_an_end_that_came_before_the_answer_is_told_all_the_same() -> None:
    publisher = new_publisher(interval_ms=0)
    launch = publisher.launch_begins()
    publisher.see(ended("a", seq=9))
    publisher.launch_ends(launch, ended("a", seq=9))
    assert told(publisher, 0) == [("a", 9)]


def test_what_was_there_before_is_told_or_assumed() -> None:
    publisher = new_publisher(interval_ms=0)
    publisher.recover(run("a", seq=4, adoptions=1))
    publisher.assume(run("b", seq=4))
    assert [news.occasion for news in publisher.take(0)] == [Occasion.CHANGE]
    publisher.see(run("b", seq=4))
    assert told(publisher, 0) == []
    publisher.see(run("b", seq=5))
    assert told(publisher, 0) == [("b", 5)]


def test_a_repair_is_told_once() -> None:
    publisher = new_publisher(interval_ms=0)
    publisher.see(run("a", seq=1))
    publisher.see(run("b", seq=1))
    assert [news.occasion for news in publisher.take(0)] == [Occasion.CHANGE] * 2
    publisher.see(run("a", seq=2, adoptions=1))
    publisher.see(ended("b", seq=2, reason="runner-lost"))
    assert [news.occasion for news in publisher.take(0)] == [Occasion.REPAIR] * 2
    publisher.see(run("a", seq=3, adoptions=1))
    assert [news.occasion for news in publisher.take(0)] == [Occasion.CHANGE]


def test_a_run_that_was_removed_is_forgotten() -> None:
    publisher = new_publisher(interval_ms=0)
    publisher.see(run(seq=1))
    publisher.forget("a")
    assert told(publisher, 0) == []


@given(
    seen=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(1, 30), st.integers(0, 60), st.booleans()),
        max_size=60,
    )
)
def test_whatever_comes_in_nothing_is_doubled_early_or_backwards(
    seen: list[tuple[str, int, int, bool]],
) -> None:
    publisher = new_publisher(interval_ms=50)
    now = 0
    last: dict[str, tuple[int, int]] = {}
    newest: dict[str, int] = {}

    def look() -> None:
        for run_id, revision in told(publisher, now):
            before_revision, before_at = last.get(run_id, (0, -1000))
            assert revision > before_revision
            assert now - before_at >= 50
            last[run_id] = revision, now

    for run_id, seq, passed, looks in seen:
        now += passed
        publisher.see(run(run_id, seq=seq))
        newest[run_id] = max(newest.get(run_id, 0), seq)
        if looks:
            look()
    now += 50
    look()
    assert {run_id: revision for run_id, (revision, _) in last.items()} == newest
