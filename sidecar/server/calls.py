"""Requests under way: each is handled, answered once, and can be cancelled while it is not.

How a request is handled is said by its handler alone. A plain function is quick: it is called on
the loop and answered at once. A coroutine takes its time, as a task of its own: others are served
meanwhile, and cancelling the request cancels the task, which then decides what it still has to do.

This module must never know what a method does.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
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
from sidecar.wire.fields import Params, View
from sidecar.wire.methods import Request

MAX_PATIENT: Final = 1000
"""Requests that may wait at a time: for each there is one who asked, and some memory."""

CANCELLED: Final = fault_object(RpcCode.REQUEST_CANCELLED, "the request was cancelled")


@dataclass(slots=True)
class Call:
    """One request, as a handler that takes its time sees it.

    ``after`` is done right after the answer was given, whatever it was.
    """

    desk: Desk
    after: list[Callable[[], None]] = field(default_factory=list)


Answer = View | bytes
"""A result, or one that a thread has encoded already."""

Quick = Callable[[Desk, Any], Answer]
Slow = Callable[[Call, Any], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """How one method is handled; ``is_patient`` if it may wait for as long as the client likes."""

    request: Request
    quick: Quick | None = None
    slow: Slow | None = None
    is_patient: bool = False


def handler(request: Request, function: Callable[..., Any], *, is_patient: bool = False) -> Handler:
    """The handler of ``request`` by the kind of its function."""
    if inspect.iscoroutinefunction(function):
        return Handler(request=request, slow=function, is_patient=is_patient)
    return Handler(request=request, quick=function, is_patient=is_patient)


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
        try:
            decoded = decode.decode(handler.request.params, params, at=at)
            if handler.quick is not None:
                self._connection.answer(request_id, encode(handler.quick(desk, decoded)))
                return
            self._check_patience(handler)
        except SidecarError as exc:
            self._connection.refuse(request_id, error_object(exc))
            return
        except Exception:  # noqa: BLE001 - the loop boundary: one bug must not end the server
            self._connection.refuse(request_id, _bug(handler))
            return
        call = Call(desk)
        task = asyncio.create_task(
            self._carry_out(request_id, handler, call, decoded), name=handler.request.name
        )
        self._tasks[request_id] = task
        if handler.is_patient:
            self._patient.add(task)
        task.add_done_callback(lambda _: self._ended(request_id, task, call))

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

    async def _carry_out(
        self, request_id: MessageId, handler: Handler, call: Call, params: Params
    ) -> None:
        assert handler.slow is not None  # noqa: S101 - ``begin`` has looked
        try:
            self._connection.answer(request_id, encode(await handler.slow(call, params)))
        except SidecarError as exc:
            self._connection.refuse(request_id, error_object(exc))
        except Exception:  # noqa: BLE001 - the loop boundary: one bug must not end the server
            self._connection.refuse(request_id, _bug(handler))

    def _ended(self, request_id: MessageId, task: "asyncio.Task[None]", call: Call) -> None:
        # A task that is cancelled before its first step never sees that it was.
        if task.cancelled():
            self._connection.refuse(request_id, CANCELLED)
        del self._tasks[request_id]
        self._patient.discard(task)
        for callback in call.after:
            callback()
        self._connection.go_on()


def encode(answer: Answer) -> bytes:
    """A result as JSON."""
    return answer if isinstance(answer, bytes) else orjson.dumps(convert.to_object(answer))


def _bug(handler: Handler) -> dict[str, Any]:
    # The traceback names code, never params.
    log.exception("a bug in %s", handler.request.name)
    return error_object(Bug(f"a bug in {handler.request.name}"))
