"""The client's half of the wire: params to JSON objects, and what the server says to views.

Fields that are not known are ignored, since the server may be newer; a member of a closed set that
is not known cannot be told by these types, and is refused.

This module must never be strict about what is only unknown.
"""

from typing import Any, TypeVar

import msgspec

from sidecar.core.errors import Bug
from sidecar.wire.fields import ParamsPart, View

V = TypeVar("V", bound=View)


def to_object(params: ParamsPart) -> dict[str, Any]:
    """``params`` as what a JSON encoder takes; what is left at its default is left out."""
    built: dict[str, Any] = msgspec.to_builtins(params)
    return built


def from_object(view_type: type[V], value: object) -> V:
    """Decoded JSON as ``view_type``.  Raises ``Bug`` if it is not."""
    try:
        return msgspec.convert(value, view_type)
    except msgspec.ValidationError as exc:
        raise Bug(
            f"not a {view_type.__name__}: {exc}", hint="is the server of another version?"
        ) from exc
