"""The client for plain scripts: ``with Client() as client: run = client.launch([...])``.

The same as ``AsyncClient``, which it runs on an event loop in a thread of its own: waiting costs
nothing, and every method may be called from any thread, from several at once, too.  An iterator
belongs to one thread at a time.  Ctrl-C interrupts any wait, and stops no run.

A client does not survive a fork: a child process opens its own.  Inside a running event loop use
``AsyncClient``; this one would hold the loop up.

This module must never know what a request does.
"""

import asyncio
import errno
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import Future as Promise
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack

from sidecar.client.asynchronous import AsyncClient
from sidecar.client.errors import ClientClosed
from sidecar.client.options import (
    ByteOptions,
    ClientOptions,
    LaunchOptions,
    ListOptions,
    OutputOptions,
    RunRef,
    StopOptions,
    StrPath,
)
from sidecar.core.errors import StorageError
from sidecar.wire import results
from sidecar.wire.event_views import EventView
from sidecar.wire.notifications import RunNoticeNotification
from sidecar.wire.views import AgentView, RunView

T = TypeVar("T")


class Client:
    """A client; ``with`` opens and closes it.  What methods do and raise, see ``AsyncClient``."""

    def __init__(self, **given: Unpack[ClientOptions]) -> None:
        """See ``ClientOptions``; nothing is started yet."""
        self._client = AsyncClient(**given)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._over: asyncio.Event | None = None
        # Whoever submits does so before the closing one, or learns that it is too late.
        self._door = threading.Lock()
        self._pid = os.getpid()

    def open(self) -> None:
        """Start the server."""
        with self._door:
            if self._thread is not None:
                raise ClientClosed("a client is opened once")
            loops: Promise[asyncio.AbstractEventLoop] = Promise()
            # A daemon: a script that forgets to close its client ends all the same.
            self._thread = threading.Thread(
                target=self._run, args=(loops,), name="sidecar client", daemon=True
            )
            self._thread.start()
            self._loop = loops.result()
        try:
            self._wait_for(self._client.open)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the server, and every wait and iterator here; no run is touched.  Twice is fine."""
        if os.getpid() != self._pid:
            return
        with self._door:
            loop, thread = self._loop, self._thread
            self._loop = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._end(), loop)
        thread.join()

    def __enter__(self) -> Self:
        """Open it."""
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    @property
    def session_id(self) -> str:
        """The session: which runs are told of, and may be acted on."""
        return self._client.session_id

    @property
    def server_pid(self) -> int | None:
        """Of the present server; another one once it was lost and replaced."""
        return self._client.server_pid

    # --- one run ---------------------------------------------------------------------------------

    def launch(
        self, command: Sequence[StrPath] | None = None, **given: Unpack[LaunchOptions]
    ) -> RunView:
        """Launch ``command``, or ``shell=``; the run is durable when this returns."""
        return self._wait_for(lambda: self._client.launch(command, **given))

    def get(self, run: RunRef) -> RunView:
        """The run as it is now."""
        return self._wait_for(lambda: self._client.get(run))

    def wait(self, run: RunRef, *, timeout_ms: int | None = None) -> RunView:
        """The run, once it is over.  Raises ``WaitTimedOut`` if the time passes first."""
        return self._wait_for(lambda: self._client.wait(run, timeout_ms=timeout_ms))

    def wait_for(
        self,
        runs: Iterable[RunRef] | None = None,
        *,
        until: Literal["all", "any"] = "all",
        timeout_ms: int | None = None,
    ) -> results.RunWaitResult:
        """Wait until one or all of these runs are over; without ``runs``, the session's live ones.

        When the time has passed the runs come as they are, with ``timed_out``.
        """
        return self._wait_for(
            lambda: self._client.wait_for(runs, until=until, timeout_ms=timeout_ms)
        )

    def stop(self, run: RunRef, **given: Unpack[StopOptions]) -> RunView:
        """End the run and everything that it started; twice, or if it is over, is no error.

        Returns at once, with ``stopping``; with ``wait_ms`` once it is over, or after that time.
        """
        return self._wait_for(lambda: self._client.stop(run, **given))

    def dismiss(self, run: RunRef, *, any_session: bool = False) -> RunView:
        """Hide a run that is over from lists; its files stay."""
        return self._wait_for(lambda: self._client.dismiss(run, any_session=any_session))

    def undismiss(self, run: RunRef, *, any_session: bool = False) -> RunView:
        """Show it again."""
        return self._wait_for(lambda: self._client.undismiss(run, any_session=any_session))

    def remove(self, run: RunRef, *, any_session: bool = False) -> None:
        """Delete the files of a run that is over and proven gone."""
        self._wait_for(lambda: self._client.remove(run, any_session=any_session))

    def result(self, run: RunRef) -> results.RunResultResult:
        """How a run ended, and what its agents answered.  Raises ``RunLive`` before that."""
        return self._wait_for(lambda: self._client.result(run))

    def events(self, run: RunRef, *, after_seq: int = 0) -> Generator[EventView, None, None]:
        """The history of a run so far, event by event."""
        return self._taken(lambda: self._client.events(run, after_seq=after_seq))

    def output(
        self, run: RunRef, **given: Unpack[OutputOptions]
    ) -> Generator[results.RunOutputResult, None, None]:
        """The pages of a log, as plain text, each beginning where the one before ended.

        ``next_offset`` of a page is the ``offset`` to go on from at another time.
        """
        return self._taken(lambda: self._client.output(run, **given))

    def output_bytes(
        self, run: RunRef, **given: Unpack[ByteOptions]
    ) -> Generator[bytes, None, None]:
        """The very bytes of a log, in pieces."""
        return self._taken(lambda: self._client.output_bytes(run, **given))

    # --- many runs, and none ---------------------------------------------------------------------

    def list(self, **given: Unpack[ListOptions]) -> results.RunListResult:
        """The runs, newest first, all pages in one; what is damaged is in ``problems``."""
        return self._wait_for(lambda: self._client.list(**given))

    def updates(self) -> Generator[RunView, None, None]:
        """Every change from now on of the session's runs, beginning with those that are live.

        Of a run that changes faster than it is taken only the newest state comes; its end always
        does.  Ends when the client is closed, by whatever thread.
        """
        return self._taken(self._client.updates)

    def notices(self) -> Generator[RunNoticeNotification, None, None]:
        """What a person should know from now on.  Ends when the client is closed."""
        return self._taken(self._client.notices)

    def agents(self) -> tuple[AgentView, ...]:
        """The agents, looked for now."""
        return self._wait_for(self._client.agents)

    def server_status(self) -> results.ServerStatusResult:
        """How the server is."""
        return self._wait_for(self._client.server_status)

    # --- the thread ------------------------------------------------------------------------------

    def _run(self, loops: Promise[asyncio.AbstractEventLoop]) -> None:
        try:
            asyncio.run(self._serve(loops))
        except OSError as exc:  # a loop needs some descriptors
            if loops.done():
                raise
            name = errno.errorcode.get(exc.errno or 0, "?")
            refusal = StorageError(f"no event loop can be made: {name}", errno_name=name)
            loops.set_exception(refusal)

    async def _serve(self, loops: Promise[asyncio.AbstractEventLoop]) -> None:
        self._over = asyncio.Event()
        loops.set_result(asyncio.get_running_loop())
        await self._over.wait()

    async def _end(self) -> None:
        try:
            await self._client.close()
        finally:
            if self._over is not None:
                self._over.set()

    def _submit(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Promise[T]:
        if os.getpid() != self._pid:
            raise ClientClosed("the client belongs to the process that made it")
        with self._door:
            if self._loop is None:
                raise ClientClosed("the client is not open")
            return asyncio.run_coroutine_threadsafe(make(), self._loop)

    def _wait_for(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        promise = self._submit(make)
        try:
            return promise.result()
        except CancelledError:
            raise ClientClosed("the client was closed") from None
        except BaseException:
            promise.cancel()  # interrupted: the request is cancelled; else this does nothing
            raise

    def _taken(self, make: Callable[[], AsyncGenerator[T, None]]) -> Generator[T, None, None]:
        """The items of an asynchronous iterator, which is made at once and on its own loop."""

        async def begin() -> AsyncGenerator[T, None]:
            return make()

        return self._drained(self._wait_for(begin))

    def _drained(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        # An interrupted wait may still be on its way out when the iterator is let go.
        turn = asyncio.Lock()

        async def take() -> T:
            async with turn:
                return await anext(items)

        async def let_go() -> None:
            async with turn:
                await items.aclose()

        try:
            while True:
                try:
                    item = self._wait_for(take)
                except StopAsyncIteration:
                    return
                yield item
        finally:
            # The garbage collector may come by in the loop's own thread, which cannot wait for
            # itself; and when the loop has ended, so has the iterator.
            with suppress(ClientClosed):
                if threading.current_thread() is self._thread:
                    self._submit(let_go)
                else:
                    self._wait_for(let_go)
