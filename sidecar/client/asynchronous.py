"""The client for asyncio: ``async with AsyncClient() as client: run = await client.launch([...])``.

A client starts a server of its own and asks it; runs belong to neither, and live on when both are
gone.  If the server is lost, the next one is started by itself and what was asked is asked again
(see ``link``), once; a launch is one launch all the same.  Iterators go on where they were.

What is told is kept until it is taken, but never without bound: of a run the newest state, and of
output nothing that cannot be read again.  So nothing has to be read.

A client belongs to one event loop.  This module must never touch the state directory.
"""

import asyncio
import base64
import math
import secrets
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Literal, Protocol, Self, TypeVar, Unpack

from sidecar.client import following, options
from sidecar.client.errors import ClientClosed, WaitTimedOut
from sidecar.client.following import Wanted
from sidecar.client.link import Link
from sidecar.client.options import (
    ByteOptions,
    ClientOptions,
    LaunchOptions,
    ListOptions,
    OutputOptions,
    RunRef,
    StopOptions,
    StrPath,
    run_id_of,
)
from sidecar.core import policy
from sidecar.core.errors import NotFound
from sidecar.core.states import RunState
from sidecar.wire import params, results
from sidecar.wire.event_views import EventView
from sidecar.wire.notifications import RunNoticeNotification
from sidecar.wire.views import AgentView, ProblemView, RunView

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Box(Protocol[T_co]):
    """Something that is filled by the hub."""

    def take(self) -> T_co | None:
        """The next thing, if there is one."""
        ...


class AsyncClient:
    """A client; ``async with`` opens and closes it.

    Every method may raise what the server refuses with (``core.errors``), and the errors of
    ``client.errors``.  A run is named by its view, its id, or a unique prefix of that.
    """

    def __init__(self, **given: Unpack[ClientOptions]) -> None:
        """See ``ClientOptions``; nothing is started yet."""
        self._link = Link(given)

    async def open(self) -> None:
        """Start the server.

        Raises ``SpawnRefused``, ``ServerLost``, or ``InvalidParams`` for options that are none.
        """
        await self._link.open()

    async def close(self) -> None:
        """End the server, and every wait and iterator here; no run is touched.  Twice is fine."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        """Open it."""
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    @property
    def session_id(self) -> str:
        """The session: which runs are told of, and may be acted on."""
        return self._link.session_id

    @property
    def server_pid(self) -> int | None:
        """Of the present server; another one once it was lost and replaced."""
        return self._link.pid

    # --- one run ---------------------------------------------------------------------------------

    async def launch(
        self, command: Sequence[StrPath] | None = None, **given: Unpack[LaunchOptions]
    ) -> RunView:
        """Launch ``command``, or ``shell=``; the run is durable when this returns.

        Cancelled, it has launched nothing, or a run that goes on.
        """
        token = secrets.token_hex(16)
        asked = options.launch_params(command, given, cwd=self._link.cwd, token=token)
        run = (await self._link.ask(asked, results.RunLaunchResult)).run
        if run.session_id == self.session_id:
            self._link.hub.see(run)
        return run

    async def get(self, run: RunRef) -> RunView:
        """The run as it is now."""
        asked = params.RunGetParams(run_id=run_id_of(run))
        return (await self._link.ask(asked, results.RunGetResult)).run

    async def wait(self, run: RunRef, *, timeout_ms: int | None = None) -> RunView:
        """The run, once it is over.  Raises ``WaitTimedOut`` if the time passes first."""
        waited = await self.wait_for((run,), timeout_ms=timeout_ms)
        if waited.timed_out:
            raise WaitTimedOut(f"not over yet: {run_id_of(run)}", run_id=run_id_of(run))
        if not waited.runs:
            raise NotFound(f"the run was removed: {run_id_of(run)}", run_id=run_id_of(run))
        return waited.runs[0]

    async def wait_for(
        self,
        runs: Iterable[RunRef] | None = None,
        *,
        until: Literal["all", "any"] = "all",
        timeout_ms: int | None = None,
    ) -> results.RunWaitResult:
        """Wait until one or all of these runs are over; without ``runs``, the session's live ones.

        When the time has passed the runs come as they are, with ``timed_out``.
        """
        run_ids = None if runs is None else tuple(run_id_of(run) for run in runs)
        left_ms = _countdown(timeout_ms)

        def make() -> params.RunWaitParams:
            return params.RunWaitParams(
                run_ids=run_ids, until=params.Until(until), timeout_ms=left_ms()
            )

        return await self._link.ask_timed(make, results.RunWaitResult)

    async def stop(self, run: RunRef, **given: Unpack[StopOptions]) -> RunView:
        """End the run and everything that it started; twice, or if it is over, is no error.

        Returns at once, with ``stopping``; with ``wait_ms`` once it is over, or after that time.
        """
        grace_ms, wait_ms = given.get("grace_ms"), given.get("wait_ms") or 0
        left_ms = _countdown(wait_ms)

        def make() -> params.RunStopParams:
            return params.RunStopParams(
                run_id=run_id_of(run),
                reason=given.get("reason"),
                grace_ms=policy.GRACE_MS if grace_ms is None else grace_ms,
                wait_ms=left_ms(),
                any_session=given.get("any_session", False),
            )

        return (await self._link.ask_timed(make, results.RunStopResult)).run

    async def dismiss(self, run: RunRef, *, any_session: bool = False) -> RunView:
        """Hide a run that is over from lists; its files stay."""
        asked = params.RunDismissParams(run_id=run_id_of(run), any_session=any_session)
        return (await self._link.ask(asked, results.RunDismissResult)).run

    async def undismiss(self, run: RunRef, *, any_session: bool = False) -> RunView:
        """Show it again."""
        asked = params.RunUndismissParams(run_id=run_id_of(run), any_session=any_session)
        return (await self._link.ask(asked, results.RunUndismissResult)).run

    async def remove(self, run: RunRef, *, any_session: bool = False) -> None:
        """Delete the files of a run that is over and proven gone."""
        asked = params.RunRemoveParams(run_id=run_id_of(run), any_session=any_session)
        n_asked = 0

        def make() -> params.RunRemoveParams:
            nonlocal n_asked
            n_asked += 1
            return asked

        try:
            await self._link.ask_timed(make, results.RunRemoveResult)
        except NotFound:
            if n_asked == 1:
                raise
            # The server was lost between doing it and saying so.

    async def result(self, run: RunRef) -> results.RunResultResult:
        """How a run ended, and what its agents answered.  Raises ``RunLive`` before that."""
        asked = params.RunResultParams(run_id=run_id_of(run))
        return await self._link.ask(asked, results.RunResultResult)

    async def events(self, run: RunRef, *, after_seq: int = 0) -> AsyncGenerator[EventView, None]:
        """The history of a run so far, event by event."""
        while True:
            asked = params.RunEventsParams(run_id=run_id_of(run), after_seq=after_seq)
            page = await self._link.ask(asked, results.RunEventsResult)
            for event in page.events:
                yield event
            if not page.events:
                return
            after_seq = page.last_seq

    async def output(
        self, run: RunRef, **given: Unpack[OutputOptions]
    ) -> AsyncGenerator[results.RunOutputResult, None]:
        """The pages of a log, as plain text, each beginning where the one before ended.

        ``next_offset`` of a page is the ``offset`` to go on from at another time.
        """
        wanted = Wanted(
            run_id=run_id_of(run),
            stream=params.Stream(given.get("stream", "stdout")),
            offset=given.get("offset", 0),
            follow=given.get("follow", False),
            raw=given.get("raw", False),
        )
        async with aclosing(following.pages(self._link, wanted)) as found:
            async for page in found:
                yield page

    async def output_bytes(
        self, run: RunRef, **given: Unpack[ByteOptions]
    ) -> AsyncGenerator[bytes, None]:
        """The very bytes of a log, in pieces."""
        wanted = Wanted(
            run_id=run_id_of(run),
            stream=params.Stream(given.get("stream", "stdout")),
            offset=given.get("offset", 0),
            follow=given.get("follow", False),
            encoding=params.Encoding.BASE64,
        )
        async with aclosing(following.pages(self._link, wanted)) as found:
            async for page in found:
                yield base64.b64decode(page.text)

    # --- many runs, and none ---------------------------------------------------------------------

    async def list(self, **given: Unpack[ListOptions]) -> results.RunListResult:
        """The runs, newest first, all pages in one; what is damaged is in ``problems``."""
        limit, states = given.get("limit"), given.get("states")
        runs: tuple[RunView, ...] = ()
        problems: tuple[ProblemView, ...] = ()
        cursor: str | None = None
        while True:
            most = policy.LIST_LIMIT_MAX
            asked = params.RunListParams(
                scope=params.Scope(given.get("scope", "active")),
                states=None if states is None else tuple(RunState(state) for state in states),
                limit=most if limit is None else min(most, limit - len(runs)),
                cursor=cursor,
                include_dismissed=given.get("include_dismissed", False),
            )
            page = await self._link.ask(asked, results.RunListResult)
            runs += page.runs
            problems += page.problems or ()
            cursor = page.next_cursor
            if cursor is None or (limit is not None and len(runs) >= limit):
                return results.RunListResult(
                    runs=runs, next_cursor=cursor, problems=problems or None
                )

    def updates(self) -> AsyncGenerator[RunView, None]:
        """Every change from now on of the session's runs, beginning with those that are live.

        Of a run that changes faster than it is taken only the newest state comes; its end always
        does.  Ends when the client is closed.
        """
        woken = asyncio.Event()
        return self._taken(self._link.hub.open_statuses(woken.set), woken)

    def notices(self) -> AsyncGenerator[RunNoticeNotification, None]:
        """What a person should know from now on.  Ends when the client is closed."""
        woken = asyncio.Event()
        return self._taken(self._link.hub.open_notices(woken.set), woken)

    async def agents(self) -> tuple[AgentView, ...]:
        """The agents, looked for now."""
        return (await self._link.ask(params.AgentListParams(), results.AgentListResult)).agents

    async def server_status(self) -> results.ServerStatusResult:
        """How the server is."""
        return await self._link.ask(params.ServerStatusParams(), results.ServerStatusResult)

    async def _taken(self, box: Box[T], woken: asyncio.Event) -> AsyncGenerator[T, None]:
        while not self._link.is_closed:
            woken.clear()
            item = box.take()
            if item is not None:
                yield item
            elif self._link.is_lost:
                try:
                    await self._link.connected()
                except ClientClosed:
                    return
            else:
                await woken.wait()


def _countdown(timeout_ms: int | None) -> Callable[[], int]:
    """What is left of a time that begins now; without one, the longest there is."""
    if timeout_ms is None:
        return lambda: policy.TIMEOUT_MAX_MS
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + timeout_ms / 1000
    return lambda: min(timeout_ms, max(0, math.ceil((ends_at - loop.time()) * 1000)))
