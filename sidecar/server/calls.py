"""Requests under way: each is handled, answered once, and can be cancelled while it is not.

How a request is handled is said by its handler alone. What returns an answer is quick: it was
called on the loop, and the client is answered at once. What returns a coroutine takes its time, as
a task of its own: others are served meanwhile, and cancelling the request cancels the task, which
then decides what it still has to do.

This module must never know what a method does.
"""

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from sidecar.core.errors import Bug, LimitReached, SidecarError
from sidecar.server.connection import Connection
from sidecar.server.desk import Desk
from sidecar.server.diary import log
from sidecar.server.gate import MessageId
from sidecar.wire import convert, decode
from sidecar.wire.errors import RpcCode, error_object, fault_object
from sidecar.wire.fields import View
from sidecar.wire.methods import Request

MAX_PATIENT: Final = 1000
"""Requests that may wait at a time: for each there is one who asked, and some memory."""

CANCELLED: Final = fault_object(RpcCode.REQUEST_CANCELLED, "the request was cancelled")


@dataclass(slots=True)
class Call:
    """One request, as its handler sees it.

    ``after`` is done right after the answer was given, whatever it was.
    """

    desk: Desk
    after: list[Callable[[], None]] = field(default_factory=list)


Answer = View | bytes
"""A result, or one that a thread has encoded already."""

Slow = Coroutine[Any, Any, Answer]
Function = Callable[[Call, Any], Answer | Slow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """How one method is handled; ``is_patient`` if it may wait for as long as the client likes."""

    request: Request
    function: Function
    is_patient: bool


class Calls:
    """The requests of one client that are under way."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tasks: dict[MessageId, asyncio.Task[None]] = {}
        self._patient: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """Those that will end by themselves."""
        return len(self._tasks) - len(self._patient)

    def begin(
        self, request_id: MessageId, handler: Handler, desk: Desk, params: Any, at: str = ""
    ) -> None:
        """Handle a request: it is answered now, or will be."""
        call = Call(desk)
        try:
            self._check_patience(handler)
            decoded = decode.decode(handler.request.params, params, at=at)
            answer = handler.function(call, decoded)
            if isinstance(answer, View | bytes):
                self._connection.answer(request_id, encode(answer))
                return
        except SidecarError as exc:
            self._connection.refuse(request_id, error_object(exc))
            return
        except Exception as exc:  # noqa: BLE001 - the loop boundary: a bug must not end the server
            self._connection.refuse(request_id, _bug(handler, exc))
            return
        task = asyncio.create_task(
            self._carry_out(request_id, handler, answer), name=handler.request.name
        )
        self._tasks[request_id] = task
        if handler.is_patient:
            self._patient.add(task)
        task.add_done_callback(lambda _: self._ended(request_id, task, call, answer))

    def _check_patience(self, handler: Handler) -> None:
        if handler.is_patient and len(self._patient) >= MAX_PATIENT:
            raise LimitReached(f"requests that wait: {len(self._patient)}")

    def cancel(self, request_id: MessageId) -> None:
        """The client does not want the answer any more."""
        task = self._tasks.get(request_id)
        if task is not None:
            task.cancel()

    def cancel_patient(self) -> None:
        """Whoever waits is told that nothing more will come."""
        for task in self._patient:
            task.cancel()

    async def settled(self, deadline_s: float) -> bool:
        """Whether everything under way was answered in time."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=deadline_s)
        return not self._tasks

    async def _carry_out(self, request_id: MessageId, handler: Handler, answer: Slow) -> None:
        try:
            self._connection.answer(request_id, encode(await answer))
        except SidecarError as exc:
            self._connection.refuse(request_id, error_object(exc))
        except Exception as exc:  # noqa: BLE001 - the loop boundary: a bug must not end the server
            self._connection.refuse(request_id, _bug(handler, exc))

    def _ended(
        self, request_id: MessageId, task: "asyncio.Task[None]", call: Call, answer: Slow
    ) -> None:
        if task.cancelled():
            # A task that is cancelled before its first step never sees that it was.
            answer.close()
            self._connection.refuse(request_id, CANCELLED)
        del self._tasks[request_id]
        self._patient.discard(task)
        for callback in call.after:
            callback()
        self._connection.go_on()


def encode(answer: Answer) -> bytes:
    """A result as JSON."""
    return answer if isinstance(answer, bytes) else orjson.dumps(convert.to_object(answer))


def _bug(handler: Handler, error: Exception) -> dict[str, Any]:
    # Where it is, but not what it says: that may hold a prompt.
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error("a bug in %s: %s\n%s", handler.request.name, type(error).__name__, where)
    return error_object(Bug(f"a bug in {handler.request.name}: {type(error).__name__}"))
