"""JSON-RPC as a client says and hears it: bytes to write, and bodies to what they mean.

This module must never know what a method means, and never do I/O.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from sidecar.client import errors
from sidecar.core import policy
from sidecar.core.errors import InvalidParams, SidecarError
from sidecar.wire import framing
from sidecar.wire.errors import RpcCode, fault_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The result of a request."""

    request_id: int
    result: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """A request was refused, or went wrong."""

    request_id: int
    error: SidecarError


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A notification."""

    method: str
    params: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of the server; we offer nothing, so it has to be declined."""

    request_id: Any
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nonsense:
    """Not a message: whoever says that does not speak the protocol."""

    why: str


Incoming = Answered | Declined | Told | Asked | Nonsense


def request(request_id: int, method: str, params: dict[str, Any] | None) -> bytes:
    """The frame of a request.

    Raises ``InvalidParams`` for what no server could be told; one that is too large would be
    skipped by the server, and never be answered.
    """
    body = _encoded({"jsonrpc": "2.0", "id": request_id, "method": method}, params)
    if len(body) > policy.MESSAGE_MAX_BYTES:
        raise InvalidParams(
            f"a request of {len(body)} bytes",
            field="params",
            hint=f"at most {policy.MESSAGE_MAX_BYTES}",
        )
    return framing.encode(body)


def notification(method: str, params: dict[str, Any] | None) -> bytes:
    """The frame of a notification.  Raises ``InvalidParams``, as ``request`` does."""
    return framing.encode(_encoded({"jsonrpc": "2.0", "method": method}, params))


def declined(request_id: Any, method: str) -> bytes:
    """The frame of our answer to a request of the server."""
    error = fault_object(RpcCode.METHOD_NOT_FOUND, f"no such method: {method:.200}")
    return framing.encode(orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}))


def incoming(body: bytes) -> Incoming:
    """What a body from the server is."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Nonsense(why="a body that is not JSON")
    if not isinstance(message, dict):
        return Nonsense(why="a body that is no object")
    method, request_id = message.get("method"), message.get("id")
    if isinstance(method, str):
        if request_id is None:
            return Told(method=method, params=message.get("params"))
        return Asked(request_id=request_id, method=method)
    if isinstance(message.get("error"), dict):
        error = errors.of_object(message["error"])
        if isinstance(request_id, int):
            return Declined(request_id=request_id, error=error)
        return Nonsense(why=f"what was sent was not understood: {error.message}")
    if isinstance(request_id, int) and "result" in message:
        return Answered(request_id=request_id, result=message["result"])
    return Nonsense(why="neither an answer nor a notification")


def _encoded(head: dict[str, Any], params: dict[str, Any] | None) -> bytes:
    try:
        return orjson.dumps(head if params is None else {**head, "params": params})
    except TypeError as exc:  # of which orjson's own error is one
        raise InvalidParams(f"cannot be said in JSON: {exc}", field="params") from exc
