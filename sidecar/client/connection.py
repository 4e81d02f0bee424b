"""One server, from its first byte to its last: what is asked of it, and who waits for the answer.

The stream is read whether or not anybody wants what comes, so a server never waits for a slow
script, and an answer never for a notification that nobody takes.

This module must never start a second server.
"""

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sidecar.client import messages
from sidecar.client.errors import ClientClosed, ServerLost
from sidecar.client.messages import Answered, Asked, Declined, Nonsense, Told
from sidecar.core.errors import SidecarError
from sidecar.procs import serving
from sidecar.procs.serving import ServerProcess
from sidecar.wire.framing import Broken, Decoder, Noise, TooLarge
from sidecar.wire.methods import PROTOCOL_VERSION

START_S: Final = 30.0
"""A server that has not answered by then never will: starting takes a tenth of a second."""

END_S: Final = 5.0
"""For a server to end in order, before it is killed; it needs milliseconds."""

LOST_S: Final = 1.0
"""The same for one whose stream has ended: it should be gone already."""


class Connection:
    """A server that was started and has answered ``initialize``, until it is lost or closed.

    ``hear`` is called with each notification, ``lost`` once, when the server is lost.
    """

    def __init__(self, hear: Callable[[str, Any], None], lost: Callable[[], None]) -> None:
        self._hear = hear
        self._lost = lost
        self._decoder = Decoder()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._server: ServerProcess | None = None
        self._mourning: asyncio.Task[None] | None = None
        self._why = ""
        self._story: str | None = None
        self._is_closing = False

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._story is not None or self._is_closing

    @property
    def pid(self) -> int | None:
        """Of the server."""
        return None if self._server is None else self._server.pid

    async def open(
        self, command: Sequence[str], env: Mapping[str, str] | None, greeting: dict[str, Any]
    ) -> None:
        """Start the server and shake hands.

        Raises ``SpawnRefused`` if it cannot be started, ``ServerLost`` if it is no server of
        sidecar, or not one for long, and what it refuses ``initialize`` with.
        """
        server = serving.start(command, env)
        self._server = server
        try:
            await server.listen(self._take, self._ended)
            async with asyncio.timeout(START_S):
                answer = await self.ask("initialize", greeting)
            self._check(answer)
        except BaseException as exc:
            self._is_closing = True
            server.kill()
            await asyncio.shield(server.end(LOST_S))
            if isinstance(exc, TimeoutError):
                raise ServerLost("the server does not answer", hint="is it sidecar serve?") from exc
            raise
        server.send(messages.notification("initialized", {}))

    async def ask(self, method: str, params: dict[str, Any] | None) -> Any:
        """The result of a request.

        A cancelled wait cancels the request.  Raises ``ServerLost``, ``ClientClosed``, what the
        server refuses with, and ``InvalidParams`` for what cannot be said.
        """
        self._check_open()
        server = self._server
        assert server is not None  # noqa: S101 - nobody asks before it is started
        request_id = next(self._ids)
        frame = messages.request(request_id, method, params)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            server.send(frame)
            await server.room()
            return await answer
        except asyncio.CancelledError:
            if self._waiting.get(request_id) is answer and not self.is_lost:
                server.send(messages.notification("$/cancelRequest", {"id": request_id}))
            raise
        finally:
            self._waiting.pop(request_id, None)
            if answer.done() and not answer.cancelled():
                answer.exception()  # that of a wait that was cancelled at the same moment

    async def close(self) -> None:
        """Part in order; whoever still waits for an answer gets ``ClientClosed``."""
        self._release(lambda: ClientClosed("the client was closed"))
        server = self._server
        if server is None or self._is_closing:
            return
        if self._story is None:
            try:
                async with asyncio.timeout(END_S):
                    await self.ask("shutdown", None)
                server.send(messages.notification("exit", None))
            except (SidecarError, TimeoutError):
                pass  # it is ended all the same, and no run depends on it
        self._is_closing = True
        if self._mourning is not None:
            await self._mourning
        await server.end(END_S)

    # --- what the server says --------------------------------------------------------------------

    def _take(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            match frame:
                case bytes():
                    self._receive(frame)
                case Noise():
                    pass  # a wrapper's own words; the next frame is found all the same
                case TooLarge():
                    self._give_up(f"it sent {frame.length} bytes at once")
                case Broken():
                    self._give_up(f"it does not speak the protocol: {frame.reason}")

    def _receive(self, body: bytes) -> None:
        message = messages.incoming(body)
        match message:
            case Answered():
                waiting = self._waiting.pop(message.request_id, None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message.result)
            case Declined():
                waiting = self._waiting.pop(message.request_id, None)
                if waiting is not None and not waiting.done():
                    waiting.set_exception(message.error)
            case Told():
                self._hear(message.method, message.params)
            case Asked():
                assert self._server is not None  # noqa: S101 - it is the server that speaks
                self._server.send(messages.declined(message.request_id, message.method))
            case Nonsense():
                self._give_up(f"it does not speak the protocol: {message.why}")

    def _check(self, answer: Any) -> None:
        try:
            version = answer["capabilities"]["experimental"]["sidecar"]["protocolVersion"]
        except (KeyError, TypeError) as exc:
            raise ServerLost("not a server of sidecar", hint="is it sidecar serve?") from exc
        if version != PROTOCOL_VERSION:
            raise ServerLost(f"the server speaks another version of the protocol: {version!r}")

    # --- the end ---------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._story is not None:
            raise self.loss()
        if self._is_closing:
            raise ClientClosed("the client was closed")

    def _give_up(self, why: str) -> None:
        if self._server is not None and not self._why:
            self._why = why
            self._server.kill()
            self._ended()  # its stream may be held open by others, and go on

    def _ended(self) -> None:
        if not self._is_closing and self._mourning is None:
            self._mourning = asyncio.get_running_loop().create_task(self._mourn())

    async def _mourn(self) -> None:
        assert self._server is not None  # noqa: S101 - it was heard of
        code = await self._server.end(LOST_S)
        how = f"it was ended by signal {-code}" if code < 0 else f"it exited with {code}"
        self._story = f"the server is lost: {self._why or how}"
        self._release(self.loss)
        self._lost()

    def loss(self) -> ServerLost:
        return ServerLost(
            self._story or "the server is lost", hint="runs go on; another server shows them"
        )

    def _release(self, error: Callable[[], SidecarError]) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error())
        self._waiting.clear()
