"""Refusals as JSON-RPC errors: one table from our codes to the numbers of the protocol.

Clients look at ``data.code``; the number says only what kind of refusal it is.  An agent's own
error numbers are never passed on.

This module must never be imported to raise anything: what is raised stands in ``core.errors``.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sidecar.core import text
from sidecar.core.errors import AmbiguousId, DamagedRun, SidecarError, StorageError


class RpcCode(IntEnum):
    """Numbers of JSON-RPC 2.0 (section 5.1) and of LSP 3.17 (ErrorCodes)."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    SERVER_NOT_INITIALIZED = -32002
    REQUEST_CANCELLED = -32800
    CONTENT_MODIFIED = -32801
    REQUEST_FAILED = -32803


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One code of ``data.code``: its number and what it means."""

    code: str
    number: RpcCode
    meaning: str


REFUSALS = (
    Refusal(
        code="invalid-params",
        number=RpcCode.INVALID_PARAMS,
        meaning="A param is missing, unknown, of the wrong type, out of range, or not in this "
        "version: `field` says which, `hint` what was expected.",
    ),
    Refusal(
        code="not-found",
        number=RpcCode.REQUEST_FAILED,
        meaning="No run has this id or prefix.",
    ),
    Refusal(
        code="ambiguous-id",
        number=RpcCode.REQUEST_FAILED,
        meaning="A prefix fits several runs: `candidates` names some of them.",
    ),
    Refusal(
        code="other-session",
        number=RpcCode.REQUEST_FAILED,
        meaning="The run belongs to another session; repeat with `anySession: true` to mean it.",
    ),
    Refusal(
        code="run-live",
        number=RpcCode.REQUEST_FAILED,
        meaning="Only for runs that are over (for `run/remove`: and proven gone).",
    ),
    Refusal(
        code="run-over",
        number=RpcCode.REQUEST_FAILED,
        meaning="Only for runs that are not over.",
    ),
    Refusal(
        code="agent-unavailable",
        number=RpcCode.REQUEST_FAILED,
        meaning="There is no such agent, or it cannot be started here.",
    ),
    Refusal(
        code="limit-reached",
        number=RpcCode.REQUEST_FAILED,
        meaning="A limit refuses it, such as the depth of runs within runs.",
    ),
    Refusal(
        code="already-resolved",
        number=RpcCode.CONTENT_MODIFIED,
        meaning="Somebody was faster: what the request builds upon no longer holds.",
    ),
    Refusal(
        code="stale-turn",
        number=RpcCode.CONTENT_MODIFIED,
        meaning="The agent is in another turn than expected. Not in this version.",
    ),
    Refusal(
        code="not-steerable",
        number=RpcCode.REQUEST_FAILED,
        meaning="The agent takes no messages. Not in this version.",
    ),
    Refusal(
        code="not-resumable",
        number=RpcCode.REQUEST_FAILED,
        meaning="The agent cannot continue its session. Not in this version.",
    ),
    Refusal(
        code="storage",
        number=RpcCode.REQUEST_FAILED,
        meaning="The file system refused: `errno` is the name of the system's error.",
    ),
    Refusal(
        code="spawn-failed",
        number=RpcCode.REQUEST_FAILED,
        meaning="The system would not start one of sidecar's own processes; nothing was launched.",
    ),
    Refusal(
        code="corrupt",
        number=RpcCode.REQUEST_FAILED,
        meaning="What lies on disk of this run is damaged: `path` says where. It is left alone.",
    ),
    Refusal(
        code="foreign",
        number=RpcCode.REQUEST_FAILED,
        meaning="What lies there is no run of ours: `path` says where. It is left alone.",
    ),
    Refusal(
        code="future-format",
        number=RpcCode.REQUEST_FAILED,
        meaning="A newer version of sidecar wrote this run: `path` says where.",
    ),
    Refusal(
        code="unreadable",
        number=RpcCode.REQUEST_FAILED,
        meaning="The files of this run may not be read: `path` says where.",
    ),
    Refusal(
        code="internal",
        number=RpcCode.INTERNAL_ERROR,
        meaning="A bug of sidecar. The run, if any, is not affected.",
    ),
)
"""Every ``data.code`` there is.  Codes are never renamed; new ones may come."""

NUMBERS = {refusal.code: refusal.number for refusal in REFUSALS}


def code_of(error: SidecarError) -> str:
    """The ``data.code`` of this error."""
    return error.damage if isinstance(error, DamagedRun) else error.code


def error_object(error: SidecarError) -> dict[str, Any]:
    """The JSON-RPC error object for something that was refused, or went wrong."""
    code = code_of(error)
    data: dict[str, Any] = {"code": code}
    optional = {"field": error.field, "hint": error.hint, "runId": error.run_id}
    match error:
        case AmbiguousId():
            data["candidates"] = list(error.candidates)
        case StorageError():
            optional["errno"] = error.errno_name
        case DamagedRun():
            optional["path"] = error.path
        case _:
            pass
    data |= {name: text.plain(value) for name, value in optional.items() if value is not None}
    return {"code": int(NUMBERS[code]), "message": text.plain(error.message), "data": data}


def fault_object(number: RpcCode, message: str, *, hint: str | None = None) -> dict[str, Any]:
    """The JSON-RPC error object for a fault of the protocol: there, no ``data.code`` applies."""
    fault: dict[str, Any] = {"code": int(number), "message": text.plain(message)}
    if hint is not None:
        fault["data"] = {"hint": hint}
    return fault
