"""The history of a run: every kind of event in one plain line."""

import pytest

from sidecar.cli import history
from sidecar.cli.spans import bare
from sidecar.core.events import EVENT_TYPES, Event, Recorded, RunLaunched, StopRequested
from sidecar.core.plan import Mode
from sidecar.core.states import StopCause
from tests.support import samples


def shown(event: Event) -> str:
    return bare(history.line(Recorded(seq=7, at=samples.NOW + 42, event=event)))


@pytest.mark.parametrize("event", samples.EVENTS, ids=lambda event: event.kind)
def test_every_kind_is_one_plain_line_that_says_something(event: Event) -> None:
    line = shown(event)
    assert line.split()[0] == "7"
    assert line.split()[1].endswith(".042")
    assert line.split()[2] == event.kind
    assert len(line.split()) > 3
    assert not any(ord(c) < 32 for c in line)


def test_the_samples_are_of_every_kind() -> None:
    assert {type(event) for event in samples.EVENTS} == set(EVENT_TYPES)


def test_what_others_said_is_made_plain() -> None:
    stop = StopRequested(
        cause=StopCause.USER,
        client="n\x1b[2Jvim",
        reason="a\nb",
        grace_ms=3000,
        command_id=None,
    )
    assert shown(stop).endswith("user (nvim), grace 3s: a b")
    launched = RunLaunched(
        run_id=samples.RUN_ID,
        mode=Mode.SINGLE,
        session_id="s",
        cwd="/a\x07b",
        label=None,
        parent_run_id=None,
        timeout_ms=None,
        steps=(),
    )
    assert shown(launched).endswith("single in /ab")
