"""The line to a server that is replaced when it is lost, and what may be said twice on it.

A request whose server was lost before the answer may or may not have been done.  Every request can
be repeated all the same: launches carry a token, which makes them one, and the rest has the same
effect twice (only ``run/remove`` then finds nothing; whoever asks for that must expect it).  So a
request is repeated once, on the next server; if that is lost too, ``ServerLost`` says so.

This module must never decide what is asked.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Any, TypeVar

from sidecar import settings
from sidecar.client import options
from sidecar.client.connection import Connection
from sidecar.client.errors import ClientClosed, ServerLost
from sidecar.client.hub import Hub
from sidecar.client.options import ClientOptions
from sidecar.client.restarts import Restarts
from sidecar.core.errors import NotFound, SidecarError
from sidecar.procs import serving
from sidecar.wire import methods
from sidecar.wire.fields import Params, View
from sidecar.wire.params import RunGetParams
from sidecar.wire.reading import from_object, to_object
from sidecar.wire.results import RunGetResult
from sidecar.wire.views import RunView

V = TypeVar("V", bound=View)

_METHODS = {request.params: request.name for request in methods.REQUESTS}


class Link:
    """The servers of one client, one after the other."""

    def __init__(self, given: ClientOptions) -> None:
        """Nothing is started; raises ``InvalidParams`` if no session can be named."""
        self.hub = Hub()
        self.cwd = os.path.abspath(given.get("cwd") or os.getcwd())
        self.session_id = given.get("session_id") or _session(given, self.cwd)
        self.generation = 0
        """Grows with every server: what was told to one has to be told to the next."""
        self._given = given
        self._restarts = Restarts()
        self._replacing = asyncio.Lock()
        self._connection: Connection | None = None
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether it is over for good."""
        return self._is_closed

    @property
    def is_lost(self) -> bool:
        """Whether there is no server now."""
        return self._connection is None or self._connection.is_lost

    @property
    def pid(self) -> int | None:
        """Of the present server."""
        return None if self._connection is None else self._connection.pid

    async def open(self) -> None:
        """Start the first server.  Raises as ``Connection.open`` does."""
        if self._is_closed or self._connection is not None:
            raise ClientClosed("a client is opened once")
        await self._start()

    async def close(self) -> None:
        """End it all: whoever waits is told so.  Twice is no error."""
        if self._is_closed:
            return
        self._is_closed = True
        self.hub.wake()
        async with self._replacing:
            if self._connection is not None:
                await self._connection.close()

    async def ask(self, params: Params, result_type: type[V]) -> V:
        """The answer to a request; raises what the server refuses with, or ``ServerLost``."""
        return await self.ask_timed(lambda: params, result_type)

    async def ask_timed(self, make: Callable[[], Params], result_type: type[V]) -> V:
        """The same, for params that depend on when they are sent."""
        connection = await self.connected()
        try:
            return await _ask(connection, make(), result_type)
        except ServerLost:
            connection = await self.connected()
        return await _ask(connection, make(), result_type)

    async def connected(self) -> Connection:
        """The connection to the present server, which takes the place of a lost one if need be.

        Raises ``ClientClosed``, or ``ServerLost`` if there is to be no other server.
        """
        async with self._replacing:
            if self._is_closed or self._connection is None:
                raise ClientClosed("the client is not open")
            lost = self._connection
            if lost.is_lost:
                now_s = asyncio.get_running_loop().time()
                if not (self._given.get("reconnect", True) and self._restarts.allow(now_s)):
                    raise lost.loss()
                await self._start()
                await self._catch_up(self._connection)
            return self._connection

    async def _start(self) -> None:
        argv = options.server_command(self._given) or serving.own_command()
        greeting = options.greeting(
            self._given, cwd=self.cwd, session_id=self.session_id, pid=os.getpid()
        )
        connection = Connection(self.hub.hear, self.hub.wake)
        await connection.open(argv, self._given.get("env"), greeting)
        self._connection = connection
        self.generation += 1

    async def _catch_up(self, connection: Connection) -> None:
        """The new server tells of the runs that are live; of those that ended meanwhile we ask."""
        for found in await asyncio.gather(
            *(self._look_at(connection, run.run_id) for run in self.hub.live)
        ):
            if found is not None:
                self.hub.see(found)

    async def _look_at(self, connection: Connection, run_id: str) -> RunView | None:
        try:
            return (await _ask(connection, RunGetParams(run_id=run_id), RunGetResult)).run
        except NotFound:
            self.hub.forget(run_id)
        except ServerLost:
            raise
        except SidecarError:  # damaged just then: whoever wants to know it asks for it
            pass
        return None


async def _ask(connection: Connection, params: Params, result_type: type[V]) -> V:
    answer: Any = await connection.ask(_METHODS[type(params)], to_object(params))
    return from_object(result_type, answer)


def _session(given: ClientOptions, cwd: str) -> str:
    """As on the command line, so that the same runs are seen from both."""
    env, told = given.get("env"), given.get("state_dir")
    state_dir = None if told is None else os.fspath(told)
    if env is None:
        return settings.session_of(settings.of_process(state_dir=state_dir), cwd)
    return settings.session_of(settings.from_environment(env, state_dir=state_dir), cwd)
