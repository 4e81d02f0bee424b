"""What the test's client promises to notice: doubled answers, unread words, wrong orders."""

from typing import Any

import pytest

from tests.support.conversation import Conversation, UnmeetableError, UnreadError
from tests.support.expectations import StatusMonitor, over, status
from tests.support.framing import FramingError


def run(state: str, revision: int, **fields: Any) -> dict[str, Any]:
    return {"runId": "r", "state": state, "revision": revision, **fields}


def told(state: str, revision: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "run/status", "params": {"run": run(state, revision)}}


def test_statuses_in_order_are_taken() -> None:
    monitor = StatusMonitor()
    for number, state in enumerate(["queued", "running", "running", "complete"]):
        monitor.see(run(state, number))
    monitor.see(run("complete", 9, dismissedAt=1))
    monitor.see(run("complete", 10))
    assert monitor.ends == {"r": 1}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("running", 2), ("running", 2)),
        (("running", 2), ("running", 1)),
        (("running", 2), ("queued", 3)),
        (("complete", 2), ("complete", 3)),
        (("complete", 2), ("running", 3)),
        (("complete", 2), ("failed", 3)),
    ],
)
def test_statuses_that_go_back_are_noticed(before: tuple[str, int], after: tuple[str, int]) -> None:
    monitor = StatusMonitor()
    monitor.see(run(*before))
    with pytest.raises(AssertionError):
        monitor.see(run(*after))


def test_an_expectation_is_met_in_order_and_what_came_before_is_read() -> None:
    talk = Conversation()
    for number, state in enumerate(["queued", "running", "complete"]):
        talk.take(told(state, number))
    found, begin = talk.find(status("r", "running"), 0)
    assert found is not None
    assert (found.params["run"]["revision"], begin) == (1, 2)
    assert [note.is_read for note in talk.notes] == [True, True, False]


def test_what_can_no_longer_come_is_noticed_at_once() -> None:
    talk = Conversation()
    talk.take(told("failed", 1))
    with pytest.raises(UnmeetableError):
        talk.find(status("r", "complete"), 0)
    assert talk.find(over("r"), 0)[0] is not None


def test_what_nobody_read_is_told() -> None:
    talk = Conversation()
    talk.asked.add(1)
    talk.take({"jsonrpc": "2.0", "id": 1, "result": {}})
    talk.take({"jsonrpc": "2.0", "id": 1, "result": {}})
    talk.take({"jsonrpc": "2.0", "method": "run/notice", "params": {}})
    talk.take(told("running", 1))
    assert len([text for text in talk.unread() if text.startswith("2 answers")]) == 1
    assert len([text for text in talk.unread() if text.startswith("run/notice")]) == 1
    assert not any("run/status" in text for text in talk.unread())


@pytest.mark.parametrize(
    "message",
    [
        [],
        {"id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}},
        {"jsonrpc": "2.0", "result": 1},
        {"jsonrpc": "2.0", "method": "x", "params": [1]},
    ],
)
def test_what_is_no_message_is_refused(message: Any) -> None:
    talk = Conversation()
    talk.asked.add(1)
    with pytest.raises(FramingError):
        talk.take(message)


def test_an_answer_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(UnreadError):
        Conversation().take({"jsonrpc": "2.0", "id": 7, "result": {}})
