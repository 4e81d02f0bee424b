"""One client at the end of a stream: bytes to verdicts, and answers to bytes.

It joins framing, gate and flow, and decides when to take no more: while the client does not read
its answers, or too many of its requests are under way, the rest stays in the pipe, so that neither
queue grows. That way a client that never reads stops itself.

This module must never know what a method means.
"""

import asyncio
from collections import deque
from typing import Any, Final, Protocol

import orjson

from sidecar.server import stdio
from sidecar.server.diary import log
from sidecar.server.flow import Inlet, Outlet
from sidecar.server.gate import (
    Cancel,
    Gate,
    Hear,
    Ignore,
    Leave,
    MessageId,
    Refuse,
    Route,
    Serve,
)
from sidecar.wire import framing
from sidecar.wire.errors import RpcCode, fault_object
from sidecar.wire.framing import Broken, Decoder, Frame, Noise, TooLarge

MAX_UNDER_WAY: Final = 512
"""Requests under way, of those that take their own time to end; beyond it none is taken."""

TURN_FRAMES: Final = 128
"""After so many messages everybody else in the loop gets a turn: a few milliseconds."""


class Server(Protocol):
    """Whoever does what the messages of a connection ask for."""

    @property
    def under_way(self) -> int:
        """Requests that will end by themselves and have not yet."""
        ...

    def serve(self, request: Serve) -> None:
        """Answer it, now or later."""
        ...

    def hear(self, notification: Hear) -> None:
        """Take note of it."""
        ...

    def cancel(self, request_id: MessageId) -> None:
        """Answer it soon, with the error for cancelled requests if nothing better."""
        ...

    def route(self, message: dict[str, Any]) -> None:
        """It is the answer to one of our own requests."""
        ...

    def end(self, code: int | None, why: str) -> None:
        """The connection is over; ``code`` is the gate's own if it is not given."""
        ...


class Connection:
    """The stream of one client."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        ends: tuple[stdio.Source, stdio.Sink],
        gate: Gate,
        server: Server,
    ) -> None:
        self._loop = loop
        self._gate = gate
        self._server = server
        self._decoder = Decoder()
        self._backlog: deque[Frame] = deque()
        self._ended = False
        source, sink = ends
        self._inlet = Inlet(loop, source, self._on_data, self._on_end)
        self.outlet = Outlet(loop, sink, self._on_lost)

    @property
    def owed(self) -> int:
        """Requests that are not answered yet."""
        return self._gate.owed

    # --- out -------------------------------------------------------------------------------------

    def answer(self, request_id: MessageId, result: bytes) -> None:
        """Answer with a result in JSON; the second answer to a request is dropped."""
        if self._gate.close(request_id):
            self.outlet.send(
                framing.encode(
                    b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(request_id), result)
                )
            )

    def refuse(self, request_id: MessageId, error: dict[str, Any]) -> None:
        """Answer with an error; the second answer to a request is dropped."""
        if self._gate.close(request_id):
            self._send_error(request_id, error)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the client something."""
        self.send(orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def send(self, body: bytes) -> None:
        """Send a message that is complete."""
        self.outlet.send(framing.encode(body))

    def _send_error(self, request_id: MessageId | None, error: dict[str, Any]) -> None:
        self.send(orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}))

    # --- in --------------------------------------------------------------------------------------

    def open(self) -> None:
        """Listen to the client."""
        self._inlet.resume()

    def close_inlet(self) -> None:
        """Take nothing more from the client."""
        self._ended = True
        self._backlog.clear()
        self._inlet.close()

    def go_on(self) -> None:
        """Something that was in the way may be gone: take what was left lying."""
        if self._inlet.is_paused and not self._ended:
            self._work_off()

    def _on_data(self, data: bytes) -> None:
        self._backlog.extend(self._decoder.feed(data))
        self._work_off()

    def _work_off(self) -> None:
        taken = 0
        while self._backlog and not self._ended:
            if taken == TURN_FRAMES:
                self._inlet.pause()
                self._loop.call_soon(self.go_on)
                return
            if self.outlet.is_full():
                self._inlet.pause()
                self.outlet.when_room(self.go_on)
                return
            if self._server.under_way >= MAX_UNDER_WAY:
                self._inlet.pause()  # whoever ends one says ``go_on``
                return
            self._take(self._backlog.popleft())
            taken += 1
        self._inlet.resume()

    def _take(self, frame: Frame) -> None:
        match frame:
            case bytes():
                self._obey(frame)
            case TooLarge(length=length):
                fault = fault_object(RpcCode.INVALID_REQUEST, f"a message of {length} bytes")
                self._send_error(None, fault)
            case Broken(reason=reason):
                self._send_error(None, fault_object(RpcCode.PARSE_ERROR, f"giving up: {reason}"))
                self._server.end(1, f"the client does not speak the base protocol: {reason}")
            case Noise(sample=sample):
                log.warning("the client sent bytes that are no message: %r", sample)
                fault = fault_object(RpcCode.PARSE_ERROR, "bytes that are no message")
                self._send_error(None, fault)

    def _obey(self, body: bytes) -> None:
        match self._gate.judge(body):
            case Serve() as request:
                self._server.serve(request)
            case Hear() as notification:
                self._server.hear(notification)
            case Refuse(request_id, code, message, hint):
                self._send_error(request_id, fault_object(code, message, hint=hint))
            case Cancel(request_id):
                self._server.cancel(request_id)
            case Route(message):
                self._server.route(message)
            case Leave(code):
                self._server.end(code, "")
            case Ignore(why):
                if why:
                    log.warning("ignored: %s", why)

    def _on_end(self) -> None:
        self._server.end(None, "the client's stream ended")

    def _on_lost(self, error: OSError) -> None:
        self._server.end(None, f"the client reads no more: {error.strerror}")
