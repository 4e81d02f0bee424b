"""What is told is kept for whoever takes it, the newest of it, and never without bound."""

import gc
from collections.abc import Callable

from sidecar.client import hub as hubs
from sidecar.client.hub import Feed, Hub
from sidecar.wire.params import LogStream
from tests.support import samples
from tests.unit.client.building import live, output, over, status

RUN_ID = samples.run_id(0)


class Bell:
    """Counts how often it was rung."""

    def __init__(self) -> None:
        self.n_rung = 0

    def ring(self) -> None:
        self.n_rung += 1


def silent() -> None:
    """Nobody is woken."""


def feed_of(hub: Hub, position: int = 0, wake: Callable[[], None] = silent) -> Feed:
    """A feed of the run's stdout that has read up to ``position``."""
    feed = Feed(RUN_ID, LogStream.STDOUT, position, wake)
    feed.is_behind = False
    hub.open_feed(feed)
    return feed


def test_of_a_run_only_the_newest_state_is_kept() -> None:
    hub, bell = Hub(), Bell()
    box = hub.open_statuses(bell.ring)
    for told in (live(0, 1), live(1, 1), live(0, 2), live(0, 3)):
        hub.hear(*status(told))
    assert bell.n_rung == 4
    assert [box.take(), box.take(), box.take()] == [live(0, 3), live(1, 1), None]


def test_what_is_older_says_nothing() -> None:
    hub = Hub()
    box = hub.open_statuses(silent)
    for told in (live(0, 5), live(0, 5), live(0, 4)):
        hub.see(told)
    assert [box.take(), box.take()] == [live(0, 5), None]


def test_an_end_is_told_once() -> None:
    hub = Hub()
    box = hub.open_statuses(silent)
    hub.see(live(0, 5))
    hub.see(over(0, 9))
    assert box.take() == over(0, 9)
    hub.see(over(0, 9))
    hub.see(live(0, 5))
    assert box.take() is None
    hub.see(over(0, 10))  # it was dismissed
    assert box.take() == over(0, 10)


def test_a_box_begins_with_what_is_live() -> None:
    hub = Hub()
    for told in (live(0, 1), live(1, 1), over(0, 9)):
        hub.see(told)
    assert hub.live == (live(1, 1),)
    box = hub.open_statuses(silent)
    assert [box.take(), box.take()] == [live(1, 1), None]


def test_everybody_has_a_box() -> None:
    hub = Hub()
    boxes = [hub.open_statuses(silent) for _ in range(2)]
    hub.see(live())
    assert [box.take() for box in boxes] == [live(), live()]


def test_a_box_that_nobody_holds_is_gone() -> None:
    hub, bell = Hub(), Bell()
    box = hub.open_statuses(bell.ring)
    del box
    gc.collect()
    hub.see(live())
    assert bell.n_rung == 0


def test_runs_that_are_over_are_forgotten_in_the_end() -> None:
    hub = Hub()
    for number in range(hubs.OVER_MAX + 10):
        hub.see(over(number))
    assert len(hub._over) == hubs.OVER_MAX


def test_notices_are_kept_in_order_and_the_oldest_go_first() -> None:
    hub = Hub()
    box = hub.open_notices(silent)
    for number in range(hubs.NOTICES_MAX + 1):
        notice = {"runId": RUN_ID, "kind": "attention", "message": str(number)}
        hub.hear("run/notice", notice)
    first, second = box.take(), box.take()
    assert first is not None
    assert second is not None
    assert [first.message, second.message] == ["1", "2"]


def test_what_is_not_known_is_let_pass() -> None:
    hub = Hub()
    box = hub.open_statuses(silent)
    hub.hear("run/brand-new", {})
    hub.hear("run/status", {"run": {"runId": RUN_ID}})
    hub.hear("run/status", None)
    method, params = status(live())
    assert isinstance(params, dict)
    hub.hear(method, params | {"brandNew": 1})
    assert [box.take(), box.take()] == [live(), None]


def test_pieces_that_fit_are_taken() -> None:
    hub, bell = Hub(), Bell()
    feed = feed_of(hub, wake=bell.ring)
    hub.hear(*output(RUN_ID, 0, "one"))
    hub.hear(*output(RUN_ID, 0, "not ours", "stderr"))
    hub.hear(*output(samples.run_id(1), 0, "not ours"))
    piece = feed.take()
    assert piece is not None
    assert piece.text == "one"
    assert bell.n_rung == 1
    assert (feed.take(), feed.is_behind) == (None, False)


def test_what_was_read_already_is_left_out() -> None:
    hub = Hub()
    feed = feed_of(hub, position=6)
    for offset, text in ((0, "abc"), (3, "def"), (6, "ghi")):
        hub.hear(*output(RUN_ID, offset, text))
    piece = feed.take()
    assert piece is not None
    assert piece.text == "ghi"


def test_a_gap_and_an_overlap_have_to_be_read() -> None:
    for offset in (7, 5):
        hub = Hub()
        feed = feed_of(hub, position=6)
        hub.hear(*output(RUN_ID, offset, "text"))
        assert (feed.take(), feed.is_behind) == (None, True)


def test_output_that_nobody_takes_is_forgotten() -> None:
    hub = Hub()
    feed = feed_of(hub)
    page = "x" * (64 * 1024)
    for number in range(100):
        hub.hear(*output(RUN_ID, number * len(page), page))
        assert feed._held <= hubs.OUTPUT_MAX
    assert feed.is_behind


def test_the_end_of_a_run_has_to_be_read() -> None:
    hub, bell = Hub(), Bell()
    feed = feed_of(hub, wake=bell.ring)
    hub.see(over())
    assert (feed.is_behind, bell.n_rung) == (True, 1)


def test_a_feed_that_is_closed_gets_nothing() -> None:
    hub, bell = Hub(), Bell()
    feed = feed_of(hub, wake=bell.ring)
    hub.close_feed(feed)
    hub.hear(*output(RUN_ID, 0, "text"))
    hub.wake()
    assert (hub.feeds_of(RUN_ID), bell.n_rung) == ((), 0)
