"""The waiting helpers: they return what was found, give up with a story, and never miss the end."""

import asyncio

import pytest

from tests.support.wait import DeadlineMissedError, wait_until, wait_until_async


class Countdown:
    """False for a number of looks, then true for ever."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def look(self) -> str | None:
        self.left -= 1
        return "found" if self.left < 0 else None

    async def look_async(self) -> str | None:
        await asyncio.sleep(0)
        return self.look()


def test_returns_the_first_true_value() -> None:
    assert wait_until(Countdown(3).look, what="a value") == "found"


def test_looks_once_more_after_the_deadline() -> None:
    # A machine that stalls between the last pause and the deadline must not fail a test.
    assert wait_until(Countdown(0).look, what="a value", deadline_s=0) == "found"


def test_tells_what_was_waited_for_and_what_was_seen() -> None:
    with pytest.raises(
        DeadlineMissedError, match=r"not within 0\.01 s: the end \(last seen: \[\]\)"
    ):
        wait_until(list, what="the end", deadline_s=0.01)


def test_asks_for_the_story_only_at_the_deadline() -> None:
    seen: list[int] = []

    def look() -> bool:
        seen.append(len(seen))
        return False

    with pytest.raises(DeadlineMissedError) as missed:
        wait_until(look, what=lambda: f"{len(seen)} looks", deadline_s=0.01)

    assert f"{len(seen)} looks" in str(missed.value)


def test_passes_on_what_the_condition_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        wait_until(lambda: 1 // 0, what="never mind")


async def test_async_twin_takes_both_kinds_of_condition() -> None:
    assert await wait_until_async(Countdown(3).look, what="a value") == "found"
    assert await wait_until_async(Countdown(3).look_async, what="a value") == "found"


async def test_async_twin_lets_the_loop_go_on() -> None:
    happened = asyncio.Event()
    task = asyncio.create_task(asyncio.to_thread(lambda: None))
    task.add_done_callback(lambda _: happened.set())

    assert await wait_until_async(happened.is_set, what="the other task to end")


async def test_async_twin_gives_up_with_the_same_story() -> None:
    with pytest.raises(DeadlineMissedError, match=r"the end \(last seen: None\)"):
        await wait_until_async(Countdown(10**6).look_async, what="the end", deadline_s=0.01)
