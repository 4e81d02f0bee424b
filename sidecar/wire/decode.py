"""Decoded JSON to params, or a refusal that names the offending field and what it should have been.

Null and absent mean the same here.  msgspec decides what fits; ``wire.misfit`` finds words for
what does not.

This module must never know what a field means.
"""

import functools
import math
from typing import TypeVar

import msgspec
from msgspec import inspect

from sidecar.core import policy
from sidecar.core.errors import Bug, InvalidParams
from sidecar.wire import misfit
from sidecar.wire.fields import Params
from sidecar.wire.misfit import Path

P = TypeVar("P", bound=Params)

_INT64_MIN, _UINT64_MAX = -(2**63), 2**64 - 1


def decode(params_type: type[P], value: object, *, at: str = "") -> P:
    """``value``, as a JSON decoder gives it, as ``params_type``; absent params are empty ones.

    ``at`` is where the params themselves stand, if not in ``params``.  Raises ``InvalidParams``
    with ``field`` (dotted path) and ``hint`` (what was expected).
    """
    path: Path = (at,) if at else ()
    given = {} if value is None else value
    if not isinstance(given, dict):
        raise InvalidParams(
            f"not an object: {misfit.kind_of(given)}",
            field=at or "params",
            hint="an object; an empty Lua table is sent as an array, vim.empty_dict() is not",
        )
    _check_sound(given, path)
    try:
        return msgspec.convert(given, params_type)
    except msgspec.ValidationError:
        pass  # perhaps only for a null; what else is wrong is found below
    kind = _struct_of(params_type)
    given = _without_nulls(kind, given)
    try:
        return msgspec.convert(given, params_type)
    except msgspec.ValidationError as exc:
        found = misfit.find(kind, given, path)
        raise found or Bug(f"refused without a reason: {params_type.__name__}") from exc


def command_argument(arguments: object) -> object:
    """The params of a ``workspace/executeCommand``: its single argument, if it has one.

    Raises ``InvalidParams`` if there are more.
    """
    if arguments is None:
        return None
    if not isinstance(arguments, list) or len(arguments) > 1:
        raise InvalidParams(
            "a command takes a single argument", field="arguments", hint="an array of one object"
        )
    return arguments[0] if arguments else None


@functools.cache
def _struct_of(params_type: type[Params]) -> inspect.StructType:
    kind = inspect.type_info(params_type)
    if not isinstance(kind, inspect.StructType):
        raise Bug(f"not a struct: {params_type.__name__}")
    return kind


def _without_nulls(kind: inspect.StructType, given: dict[str, object]) -> dict[str, object]:
    """``given`` without the known fields that are null; unknown ones stay, to be refused."""
    types = {field.encode_name: misfit.bare(field.type) for field in kind.fields}
    kept: dict[str, object] = {}
    for name, item in given.items():
        inner = types.get(name)
        if inner is not None and item is None:
            continue
        if isinstance(inner, inspect.StructType) and isinstance(item, dict):
            kept[name] = _without_nulls(inner, item)
        else:
            kept[name] = item
    return kept


def _check_sound(value: object, path: Path) -> None:
    """Refuses what could not be written as JSON again, and what is absurdly deep or large.

    Params are kept and passed on (``_meta``, prompts); what is refused here would fail there, when
    nobody can be told any more.
    """
    n_left = policy.PARAMS_MAX_VALUES
    waiting: list[tuple[object, Path]] = [(value, path)]
    while waiting:
        item, where = waiting.pop()
        n_left -= 1
        if n_left < 0:
            raise InvalidParams(
                "too many values",
                field=misfit.dotted(where[:1]),
                hint=f"at most {policy.PARAMS_MAX_VALUES}",
            )
        if len(where) > policy.PARAMS_MAX_DEPTH:
            raise InvalidParams(
                "nested too deeply",
                field=misfit.dotted(where[:1]),
                hint=f"at most {policy.PARAMS_MAX_DEPTH} levels",
            )
        _check_scalar(item, where)
        if isinstance(item, dict):
            waiting += [(inner, (*where, name)) for name, inner in item.items()]
            waiting += [(name, (*where, name)) for name in item if not name.isascii()]
        elif isinstance(item, list):
            waiting += [(inner, (*where, index)) for index, inner in enumerate(item)]


def _check_scalar(item: object, where: Path) -> None:
    match item:
        case float() if not math.isfinite(item):
            problem, hint = f"not a number that JSON has: {item}", "a finite number"
        case int() if not _INT64_MIN <= item <= _UINT64_MAX:
            problem, hint = "an integer of more than 64 bits", "an integer of at most 64 bits"
        case str() if not _is_unicode(item):
            problem, hint = "a lone surrogate in the text", "Unicode text"
        case _:
            return
    raise InvalidParams(problem, field=misfit.dotted(where), hint=hint)


def _is_unicode(item: str) -> bool:
    if item.isascii():
        return True
    try:
        item.encode()
    except UnicodeEncodeError:
        return False
    return True
