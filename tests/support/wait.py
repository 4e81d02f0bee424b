"""Waiting for a condition, with a deadline and a story: the only place in tests that sleeps.

A test never waits for time to pass; it says what must become true. How long that took is never
asserted: the deadline only ends a test that would hang, and is generous because machines are slow.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar, overload

T = TypeVar("T")

# Below the 60 s after which pytest ends a test: two waits in a row still tell what they waited for.
DEADLINE_S = 20.0

# The first looks come quickly, later ones lightly: waiting must not starve what is waited for.
FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.05


class DeadlineMissedError(AssertionError):
    """The condition did not become true in time; the message says what was waited for."""


def wait_until(
    condition: Callable[[], T],
    *,
    what: str | Callable[[], str],
    deadline_s: float = DEADLINE_S,
) -> T:
    """Return the first true value of ``condition``, which is looked at least twice.

    ``what`` names what should become true; give a function to describe, at the deadline, what is
    there instead. Raises ``DeadlineMissedError``; what ``condition`` raises is passed on at once.
    """
    for pause_s in _pauses(deadline_s):
        found = condition()
        if found:
            return found
        time.sleep(pause_s)
    found = condition()
    if found:
        return found
    raise _missed(what, deadline_s, found)


@overload
async def wait_until_async(
    condition: Callable[[], Awaitable[T]],
    *,
    what: str | Callable[[], str],
    deadline_s: float = ...,
) -> T: ...


@overload
async def wait_until_async(
    condition: Callable[[], T],
    *,
    what: str | Callable[[], str],
    deadline_s: float = ...,
) -> T: ...


async def wait_until_async(
    condition: Callable[[], T | Awaitable[T]],
    *,
    what: str | Callable[[], str],
    deadline_s: float = DEADLINE_S,
) -> T:
    """Do the same inside an event loop, which goes on meanwhile; ``condition`` may be async.

    An async ``condition`` that hangs is not interrupted: its own deadline is its own business.
    """
    for pause_s in _pauses(deadline_s):
        found = await _look(condition)
        if found:
            return found
        await asyncio.sleep(pause_s)
    found = await _look(condition)
    if found:
        return found
    raise _missed(what, deadline_s, found)


def _pauses(deadline_s: float) -> Iterator[float]:
    """Yield ever longer pauses until the deadline has passed."""
    ends_at = time.monotonic() + deadline_s
    pause_s = FIRST_PAUSE_S
    while (left_s := ends_at - time.monotonic()) > 0:
        yield min(pause_s, left_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


async def _look(condition: Callable[[], T | Awaitable[T]]) -> T:
    found = condition()
    if inspect.isawaitable(found):
        return await found
    return found


def _missed(what: str | Callable[[], str], deadline_s: float, found: object) -> DeadlineMissedError:
    story = what if isinstance(what, str) else what()
    return DeadlineMissedError(f"not within {deadline_s:g} s: {story} (last seen: {found!r})")
