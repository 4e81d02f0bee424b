"""What a script has to catch: the errors of ``core.errors``, as the server says them, and four.

    SidecarError
    |- the refusals of core.errors, by their codes
    |- Refused                 a refusal that has no class here: a fault of the protocol, or newer
    |- ServerLost              the server is gone, and none could be put in its place
    |- ClientClosed            the client was closed, or never opened
    `- WaitTimedOut            the run is not over yet; also a TimeoutError

A run that fails is none of these: it is a run whose ``state`` says so.

This module must never raise anything.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from sidecar.core import errors
from sidecar.core.errors import SidecarError


class Refused(SidecarError):
    """The server refused for a reason that has no class of its own.

    ``number`` is that of JSON-RPC, ``said`` the ``data.code``, if there is one.
    """

    code = "refused"

    def __init__(
        self, message: str, *, number: int, said: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.number = number
        self.said = said


class ServerLost(SidecarError):
    """The server ended, or does not speak the protocol.  No run is touched by that."""

    code = "server-lost"


class ClientClosed(SidecarError):
    """The client is not open."""

    code = "client-closed"


class WaitTimedOut(SidecarError, TimeoutError):
    """The time to wait passed first; the run goes on."""

    code = "wait-timed-out"


_PLAIN: Mapping[str, Callable[..., SidecarError]] = {
    kind.code: kind
    for kind in (
        errors.InvalidParams,
        errors.NotFound,
        errors.OtherSession,
        errors.RunLive,
        errors.RunOver,
        errors.AlreadyResolved,
        errors.AgentUnavailable,
        errors.LimitReached,
        errors.SpawnRefused,
        errors.Bug,
    )
}


def of_object(error: object) -> SidecarError:
    """The error that a JSON-RPC error object stands for; an odd one is ``Refused``."""
    given = error if isinstance(error, dict) else {}
    data = given.get("data")
    data = data if isinstance(data, dict) else {}
    message = _text(given, "message") or "refused without a word"
    code, hint = _text(data, "code"), _text(data, "hint")
    damage = _damage(code)
    if damage is not None:
        return errors.DamagedRun(message, path=_text(data, "path") or "", damage=damage)
    match code:
        case errors.AmbiguousId.code:
            candidates = data.get("candidates")
            return errors.AmbiguousId(
                message,
                candidates=tuple(map(str, candidates)) if isinstance(candidates, list) else (),
            )
        case errors.StorageError.code:
            return errors.StorageError(message, errno_name=_text(data, "errno") or "", hint=hint)
        case str() if code in _PLAIN:
            return _PLAIN[code](
                message, field=_text(data, "field"), hint=hint, run_id=_text(data, "runId")
            )
        case _:
            number = given.get("code")
            return Refused(
                message, number=number if isinstance(number, int) else 0, said=code, hint=hint
            )


def _text(of: dict[str, Any], name: str) -> str | None:
    value = of.get(name)
    return value if isinstance(value, str) else None


def _damage(code: str | None) -> errors.Damage | None:
    known: tuple[errors.Damage, ...] = get_args(errors.Damage)
    return next((damage for damage in known if damage == code), None)
