"""What the log says of later than the status is taken in, and must fit."""

from pathlib import Path

import pytest

from sidecar.core import lifecycle
from sidecar.core.errors import DamagedRun
from sidecar.core.events import Event, Recorded, RunnerStarted, WardenLost
from sidecar.store import codec
from sidecar.store.layout import Layout
from sidecar.store.rundir import RunDir
from tests.support import samples
from tests.support.stored import lead, make_run


def grown(layout: Layout, *events: Event) -> RunDir:
    """A run whose log is longer than its status knows."""
    run_dir = make_run(layout)
    leader = lead(run_dir)
    for seq, event in enumerate(events, 2):
        leader.append(Recorded(seq=seq, at=samples.NOW + seq, event=event))
    leader.close()
    leader.lease.release()
    return run_dir


STORY: tuple[Event, ...] = (
    RunnerStarted(runner=samples.RUNNER, adopted=False),
    samples.EVENTS[3],
    samples.EVENTS[5],
    samples.EVENTS[6],
)


def test_what_the_log_says_of_later_is_folded_in(layout: Layout) -> None:
    run_dir = grown(layout, *STORY)
    run = samples.queued()
    for seq, event in enumerate(STORY, 2):
        run = lifecycle.step(run, event, samples.NOW + seq)[0]
    assert run_dir.read_current() == run
    assert run_dir.read_status() == samples.queued()  # reading repairs nothing


def test_a_status_that_is_ahead_of_its_log_stands(layout: Layout) -> None:
    # After a power cut the log may have lost its tail, which nobody made durable.
    run_dir = make_run(layout, run=samples.ended())
    assert run_dir.read_current() == samples.ended()


def test_a_torn_tail_is_not_folded_in(layout: Layout) -> None:
    run_dir = grown(layout, *STORY)
    path = Path(run_dir.path) / "events.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    assert run_dir.read_current().seq == 4


@pytest.mark.parametrize(
    "odd",
    [
        Recorded(seq=3, at=1, event=samples.EVENTS[2]),
        Recorded(seq=2, at=1, event=samples.EVENTS[0]),
        Recorded(seq=2, at=1, event=WardenLost(step=5, attempt=1)),
        Recorded(seq=2, at=1, event=samples.EVENTS[10]),
    ],
    ids=["gap", "launched-twice", "no-such-step", "impossible"],
)
def test_a_log_that_does_not_continue_the_status_is_damage(layout: Layout, odd: Recorded) -> None:
    run_dir = make_run(layout)
    with (Path(run_dir.path) / "events.jsonl").open("ab") as file:
        file.write(codec.encode_recorded(odd))
    with pytest.raises(DamagedRun) as caught:
        run_dir.read_current()
    assert caught.value.path.endswith("events.jsonl")
    assert run_dir.read_status() == samples.queued()
