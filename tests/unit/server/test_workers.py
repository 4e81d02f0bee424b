"""Threads: reading is abandoned when nobody wants it, a change is carried through once it began."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from sidecar.server import workers
from sidecar.server.workers import Workers
from tests.support.wait import wait_until_async


class Job:
    """Something that a thread is at until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.may_end.wait(20)
        return "done"


@pytest.fixture
async def pool() -> AsyncIterator[Workers]:
    """Give workers that are closed at the end."""
    made = Workers()
    yield made
    made.close()


async def test_reading_is_abandoned(pool: Workers) -> None:
    job = Job()
    task = asyncio.create_task(pool.read(job))
    await wait_until_async(job.begun.is_set, what="the job to begin")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert pool.is_stuck
    job.may_end.set()
    await wait_until_async(lambda: not pool.is_stuck, what="the thread to be free")


async def test_a_change_that_began_is_carried_through(pool: Workers) -> None:
    job = Job()
    task = asyncio.create_task(pool.commit(job))
    await wait_until_async(job.begun.is_set, what="the job to begin")
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    job.may_end.set()
    assert await task == "done"


async def test_a_change_that_did_not_begin_never_happens(pool: Workers) -> None:
    busy = [Job() for _ in range(workers.N_THREADS)]
    others = [asyncio.create_task(pool.commit(job)) for job in busy]
    late = Job()
    task = asyncio.create_task(pool.commit(late))
    await wait_until_async(
        lambda: all(job.begun.is_set() for job in busy), what="all threads to be busy"
    )
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for job in busy:
        job.may_end.set()
    assert await asyncio.gather(*others) == ["done"] * len(busy)
    assert not late.begun.is_set()


async def test_what_is_raised_in_a_thread_is_raised_here(pool: Workers) -> None:
    def fail() -> None:
        raise KeyError("it")

    for call in (pool.read, pool.commit):
        with pytest.raises(KeyError):
            await call(fail)
