"""Threads for what may wait on a disk, so that no request waits for another.

What only reads is abandoned when its request is cancelled. What changes something is not: before
it has begun it never happens, once it has begun it is carried through and told.

This module must never run anything that belongs to the loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

N_THREADS: Final = 4
"""Enough for a slow disk to be asked several things at once; launches take turns at the CPU."""


class Workers:
    """A small pool of threads, seen from the event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(N_THREADS, thread_name_prefix="sidecar-worker")
        self._submitted: set[Future[Any]] = set()

    @property
    def is_stuck(self) -> bool:
        """Whether a thread is still at something that was given to it."""
        return any(future.running() for future in self._submitted)

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call it in a thread; whoever is cancelled meanwhile does not wait for it."""
        return await asyncio.wrap_future(self._submit(function, *args, **kwargs))

    async def commit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call it in a thread; whoever is cancelled gets the result all the same once it began.

        Raises ``CancelledError`` only if it was never called.
        """
        submitted = self._submit(function, *args, **kwargs)
        outcome = asyncio.wrap_future(submitted)
        while True:
            try:
                return await asyncio.shield(outcome)
            except asyncio.CancelledError:
                if submitted.cancel() or submitted.cancelled():
                    raise
                task = asyncio.current_task()
                if task is not None:
                    task.uncancel()

    def _submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        submitted = self._pool.submit(function, *args, **kwargs)
        self._submitted.add(submitted)
        submitted.add_done_callback(self._submitted.discard)
        return submitted

    def close(self) -> None:
        """Begin nothing more; what has begun goes on."""
        self._pool.shutdown(wait=False, cancel_futures=True)
