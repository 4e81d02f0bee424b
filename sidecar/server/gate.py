"""Who may say what when: the life of one connection, from the first message to ``exit``.

A sans-IO judge between framing and handlers. It turns a body into a verdict, and keeps the account
of requests that are owed an answer: each is opened once and closed once, and nobody but who closes
it may answer, which is how "exactly once" is kept.

    created --initialize--> ready --shutdown--> closing
       |                      |                    |
       `--------exit----------+--------exit--------'     exit code 1, 1, 0

What is wrong with a message is judged in this order: is it JSON (-32700), is it one message with
a usable id (-32600), is this the time for it (-32002, -32600), is there such a method (-32601).
An answer without a usable id carries null.

This module must never look into params, and never send anything.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

from sidecar.wire import methods
from sidecar.wire.errors import RpcCode
from sidecar.wire.misfit import NOT_YET

MessageId = int | str

INITIALIZE: Final = "initialize"
SHUTDOWN: Final = "shutdown"
EXIT: Final = "exit"
CANCEL: Final = "$/cancelRequest"


class Phase(StrEnum):
    """How far the connection has come."""

    CREATED = "created"
    READY = "ready"
    CLOSING = "closing"


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with this error; the request is not owed anything more."""

    id: MessageId | None
    code: RpcCode
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Serve:
    """A request to serve; ``Gate.close`` has to be asked before it is answered.

    ``message`` is the whole of it, for whoever reads it by other types than ours.
    """

    id: MessageId
    method: str
    params: Any
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hear:
    """A notification to hear."""

    method: str
    params: Any
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cancel:
    """The client no longer wants the answer to this request, which is still owed one."""

    id: MessageId


@dataclass(frozen=True, slots=True)
class Route:
    """The answer to a request of our own."""

    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Leave:
    """The connection is over; the process ends with ``code``."""

    code: int


@dataclass(frozen=True, slots=True)
class Ignore:
    """Nothing to do.  ``why`` is worth a line to developers if it is not empty."""

    why: str = ""


Verdict = Refuse | Serve | Hear | Cancel | Route | Leave | Ignore

_LATER = frozenset(methods.LATER_REQUESTS)
_NOT_ONE = Refuse(None, RpcCode.INVALID_REQUEST, "a message is one JSON object")


class Gate:
    """The judge of one connection.  ``requests`` and ``notifications`` are the methods known."""

    def __init__(self, requests: frozenset[str], notifications: frozenset[str]) -> None:
        self._requests = requests | {INITIALIZE, SHUTDOWN}
        self._notifications = notifications
        self._owed: set[MessageId] = set()
        self.phase = Phase.CREATED

    @property
    def owed(self) -> int:
        """How many requests are owed an answer."""
        return len(self._owed)

    @property
    def exit_code(self) -> int:
        """What the process ends with if the connection ends now, by ``exit`` or without it."""
        return 0 if self.phase is Phase.CLOSING else 1

    def close(self, request_id: MessageId) -> bool:
        """Whether the request may be answered now; never again after that."""
        if request_id not in self._owed:
            return False
        self._owed.remove(request_id)
        return True

    def reopen(self) -> None:
        """``initialize`` was answered with an error: the client may try once more."""
        self.phase = Phase.CREATED

    def judge(self, body: bytes) -> Verdict:
        """What to do about a body."""
        try:
            message = _parse(body)
        except ValueError as exc:
            return Refuse(None, RpcCode.PARSE_ERROR, f"not JSON: {exc}")
        if not isinstance(message, dict):
            return _NOT_ONE
        if "method" not in message and ("result" in message or "error" in message):
            # A response is never answered, however odd it is: it would look like one to a request.
            is_one = message.get("jsonrpc") == "2.0" and _is_id(message.get("id"))
            return Route(message) if is_one else Ignore("an answer to nothing")
        fault = _fault_of(message)
        if fault is not None:
            return fault
        method: str = message["method"]
        if "id" in message:
            return self._judge_request(message["id"], method, message)
        return self._judge_notification(method, message)

    def _judge_request(
        self, request_id: MessageId, method: str, message: dict[str, Any]
    ) -> Verdict:
        fault = self._untimely(request_id, method)
        if fault is not None:
            hint = NOT_YET if fault[0] is RpcCode.METHOD_NOT_FOUND and method in _LATER else None
            return Refuse(request_id, *fault, hint)
        if method == INITIALIZE:
            self.phase = Phase.READY
        elif method == SHUTDOWN:
            self.phase = Phase.CLOSING
        self._owed.add(request_id)
        return Serve(request_id, method, message.get("params"), message)

    def _untimely(self, request_id: MessageId, method: str) -> tuple[RpcCode, str] | None:
        """Why this request cannot be served now, as code and message."""
        if request_id in self._owed:
            return RpcCode.INVALID_REQUEST, f"a request with this id is pending: {request_id!r:.64}"
        match self.phase:
            case Phase.CREATED:
                if method != INITIALIZE:
                    return (
                        RpcCode.SERVER_NOT_INITIALIZED,
                        f"initialize comes first: {method!r:.200}",
                    )
            case Phase.READY:
                if method == INITIALIZE:
                    return RpcCode.INVALID_REQUEST, "initialize comes only once"
                if method not in self._requests:
                    return RpcCode.METHOD_NOT_FOUND, f"no such request: {method!r:.200}"
            case Phase.CLOSING:
                return RpcCode.INVALID_REQUEST, f"only exit comes after shutdown: {method!r:.200}"
        return None

    def _judge_notification(self, method: str, message: dict[str, Any]) -> Verdict:
        if method == EXIT:
            return Leave(self.exit_code)
        if method == CANCEL:
            return self._judge_cancel(message.get("params"))
        if method in self._requests:
            # Doing it and telling nobody would be worse than not doing it.
            return Ignore(f"a request without an id: {method}")
        if self.phase is not Phase.READY or method not in self._notifications:
            return Ignore()
        return Hear(method, message.get("params"), message)

    def _judge_cancel(self, params: Any) -> Verdict:
        request_id = params.get("id") if isinstance(params, dict) else None
        if not _is_id(request_id):
            return Ignore("$/cancelRequest without a usable id")
        # Not owed any more is the usual race: the answer is on its way.
        return Cancel(request_id) if request_id in self._owed else Ignore()


def _parse(body: bytes) -> Any:
    """What ``body`` says.  Raises ``ValueError`` if it is not JSON in UTF-8."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        if b"\\u" not in body:
            raise
        # An escaped half of a surrogate pair is JSON by the letter (RFC 8259 section 8.2): the
        # request is refused for it, but by its id and by the name of the field.
        try:
            return json.loads(str(body, "utf-8"), parse_constant=_refuse_constant)
        except RecursionError as exc:
            raise ValueError("nested too deeply") from exc


def _refuse_constant(name: str) -> None:
    raise ValueError(f"not JSON: {name}")


def _fault_of(message: dict[str, Any]) -> Refuse | None:
    """What is wrong with the form of a message that is no response."""
    request_id = message.get("id")
    if "id" in message and not _is_id(request_id):
        return Refuse(None, RpcCode.INVALID_REQUEST, "an id is an integer or a string")
    if message.get("jsonrpc") != "2.0":
        return Refuse(request_id, RpcCode.INVALID_REQUEST, 'a message says "jsonrpc": "2.0"')
    if not isinstance(message.get("method"), str):
        return Refuse(request_id, RpcCode.INVALID_REQUEST, "a method is a string")
    if not isinstance(message.get("params"), dict | list | None):
        return Refuse(request_id, RpcCode.INVALID_REQUEST, "params are an object or an array")
    return None


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() or _is_unicode(value)
    # A bool is an int to Python, 1.0 would be answered as 1, and what is larger cannot be written.
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
