"""A process that dies before any one of its calls leaves what the next one can go on from."""

from pathlib import Path

import pytest

from sidecar.core.events import OutputSeen, Recorded
from sidecar.store import dismissals, index, lease, markers, retire, staging, tokens
from sidecar.store.events import read_events
from sidecar.store.inbox import Inbox, post
from sidecar.store.layout import Layout, open_state_dir
from sidecar.store.lease import Holding
from sidecar.store.rundir import RunDir
from sidecar.store.tokens import TokenLock
from tests.support import samples
from tests.support.crashing import crash_before
from tests.support.stored import lead, make_run, stage_run

RUN_ID = samples.RUN_ID
ENOUGH = 1000


@pytest.fixture
def layouts(state_dir: Path) -> list[Layout]:
    """Give a fresh state directory for each k, as many as any test needs."""
    return [open_state_dir(str(state_dir / str(k))) for k in range(80)]


def nothing_is_left(layout: Layout) -> bool:
    return not any(
        list(Path(part).iterdir()) for part in (layout.staging, layout.runs, layout.active)
    )


def test_a_launcher_leaves_nothing_or_a_whole_run(layouts: list[Layout]) -> None:
    outcomes = []
    for k, layout in enumerate(layouts, 1):

        def launch(layout: Layout = layout) -> None:
            with TokenLock(layout, "a" * 64) as token:
                token.bind(RUN_ID)
                stage_run(layout)[0].make_attempt(0, 1)
                staging.commit(layout, RUN_ID)

        crashed = crash_before(k, launch)
        staging.sweep(layout)
        with TokenLock(layout, "a" * 64, wait_ms=0) as token:
            assert token.run_id in {None, RUN_ID}
        if nothing_is_left(layout):
            outcomes.append("nothing")
            assert make_run(layout).read_status() == samples.queued()  # it can be tried again
            continue
        outcomes.append("run" if crashed else "done")
        run_dir = RunDir(layout.run_dir(RUN_ID))
        assert markers.active_ids(layout) == [RUN_ID]
        assert run_dir.read_current() == samples.queued()
        assert run_dir.read_request() == samples.launch()
        assert lease.probe(run_dir.path) is Holding.FREE
        assert list(Path(layout.staging).iterdir()) == []
        if not crashed:
            break
    # There is one moment at which it begins to exist.
    assert outcomes == sorted(outcomes, key=["nothing", "run", "done"].index)
    assert outcomes.count("nothing") > 20
    assert outcomes[-1] == "done"
    assert "run" in outcomes


def test_a_leader_leaves_a_status_and_a_log_that_continue_it(layouts: list[Layout]) -> None:
    done = False
    for k, layout in enumerate(layouts, 1):
        run_dir = make_run(layout)

        def work(run_dir: RunDir = run_dir) -> None:
            leader = lead(run_dir)
            for seq, event in enumerate(samples.EVENTS[2:4], 2):
                leader.append(Recorded(seq=seq, at=seq, event=event))
                leader.write_status(leader.read_current(), durable=seq == 3)
            leader.write_result(samples.result())

        done = not crash_before(k, work)
        found = run_dir.read_current()
        status = run_dir.read_status()
        assert status.seq <= found.seq <= 3
        if run_dir.read_result() is not None:
            assert status.seq == 3
        # The next leader goes on where this one ended.
        leader = lead(run_dir)
        event = OutputSeen(step=0, attempt=1, stdout_bytes=1, stderr_bytes=0)
        leader.append(Recorded(seq=found.seq + 1, at=9, event=event))
        leader.close()
        leader.lease.release()
        page = read_events(f"{run_dir.path}/events.jsonl", 0, 100)
        assert [item.seq for item in page.events] == list(range(1, found.seq + 2))
        assert not list(Path(run_dir.path).glob(".*.tmp"))
        if done:
            break
    assert done


def test_a_sender_leaves_a_whole_command_or_none(layouts: list[Layout]) -> None:
    seen = []
    for k, layout in enumerate(layouts, 1):
        run_dir = make_run(layout)

        def send(run_dir: RunDir = run_dir) -> None:
            post(run_dir.path, "stop", samples.command(), order="1-1")

        crashed = crash_before(k, send)
        inbox = Inbox(run_dir.path)
        found = inbox.pending()
        assert [posted.command for posted in found] in ([], [samples.command()])
        assert inbox.refused == []
        seen.append(len(found))
        if not crashed:
            break
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_whoever_hides_a_run_leaves_it_hidden_or_not(layouts: list[Layout]) -> None:
    crashed = True
    for k, layout in enumerate(layouts, 1):
        run_dir = make_run(layout)

        def hide(run_dir: RunDir = run_dir) -> None:
            dismissals.write(run_dir.path, samples.dismissal())

        crashed = crash_before(k, hide)
        before = run_dir.read_dismissal().changes
        assert before in {0, 1}
        stored = dismissals.write(run_dir.path, samples.dismissal())
        assert (stored.dismissed, stored.changes) == (True, 1)
        if not crashed:
            break
    assert not crashed


def test_a_remover_leaves_the_run_or_what_a_sweep_ends(layouts: list[Layout]) -> None:
    gone = []
    for k, layout in enumerate(layouts, 1):
        run_dir = make_run(layout)
        leader = lead(run_dir)
        leader.make_attempt(0, 1)
        leader.lease.release()

        def remove(layout: Layout = layout) -> None:
            retire.remove(layout, RUN_ID)

        crashed = crash_before(k, remove)
        gone.append(index.history_page(layout, 10).ids == ())
        if gone[-1]:
            staging.sweep(layout)
            assert nothing_is_left(layout)
        else:
            assert run_dir.read_status() == samples.queued()
            assert markers.active_ids(layout) == [RUN_ID]
        if not crashed:
            break
    assert gone == sorted(gone)
    assert gone[-1]
    assert tokens.sweep(layouts[0]) == 0
