"""Where a value does not fit a type, and what would have: found along the types, told in words.

msgspec's own messages are for people and are never read by us; this is only walked once it has
said no.

This module must never repeat a value that may be secret: a refusal tells the kind of what was
given, and the value itself only where a number or a member of a closed set was expected.
"""

import difflib

from msgspec import inspect

from sidecar.core import text
from sidecar.core.errors import Bug, InvalidParams
from sidecar.wire.fields import LATER

NOT_YET = "not in this version"

_SHOWN_MAX = 64

Path = tuple[str | int, ...]


def find(kind: inspect.Type, value: object, path: Path) -> InvalidParams | None:
    """The first place, in the order of ``value``, where it does not fit; ``None`` if it fits."""
    if isinstance(kind, inspect.Metadata):
        later = (kind.extra or {}).get(LATER)
        if later is not None and _is_later(value, later):
            named = f"not offered at {dotted(path)}: {value}" if later else None
            problem = named or f"not offered: {dotted(path)}"
            return InvalidParams(problem, field=dotted(path), hint=NOT_YET)
        return find(kind.type, value, path)
    if isinstance(kind, inspect.UnionType):
        return None if value is None else find(bare(kind), value, path)
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        return _find_in_struct(kind, value, path)
    if isinstance(kind, inspect.DictType) and isinstance(value, dict):
        items = ((kind.value_type, item, (*path, name)) for name, item in value.items())
    elif isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
        items = ((kind.item_type, item, (*path, index)) for index, item in enumerate(value))
    else:
        return _misfit(kind, value, path)
    return next((found for item in items if (found := find(*item)) is not None), None)


def bare(kind: inspect.Type) -> inspect.Type:
    """``kind`` without its description and without null."""
    while True:
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
        elif isinstance(kind, inspect.UnionType):
            others = [item for item in kind.types if not isinstance(item, inspect.NoneType)]
            if len(others) != 1:
                raise Bug("a param of several types, for which there are no words")
            kind = others[0]
        else:
            return kind


def words(kind: inspect.Type) -> str:
    """What a value of ``kind`` is, for a hint."""
    match bare(kind):
        case inspect.StrType(max_length=int() as most):
            return f"a string of at most {most} characters"
        case inspect.StrType():
            return "a string"
        case inspect.IntType(ge=int() as least, le=int() as most):
            return str(least) if least == most else f"an integer from {least} to {most}"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType() | inspect.EnumType() as closed:
            members = ", ".join(str(value) for value in _members(closed))
            return f"one of {members}" if "," in members else members
        case inspect.VarTupleType(item_type=item):
            return f"an array, each of it {words(item)}"
        case inspect.DictType(value_type=inspect.AnyType()) | inspect.StructType():
            return "an object"
        case inspect.DictType(value_type=item):
            return f"an object, each value of it {words(item)}"
        case inspect.NoneType():
            return "null, or nothing"
        case other:
            raise Bug(f"a param of a type for which there are no words: {other}")


def dotted(path: Path) -> str:
    """``path`` as callers know it: ``step.command[0]``; what they wrote into it is made short."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        else:
            shown += f"{'.' if shown else ''}{text.one_line(part, _SHOWN_MAX)}"
    return shown


def kind_of(value: object) -> str:
    """What JSON calls ``value``."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number with a fraction"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            raise Bug(f"not decoded JSON: {type(value).__name__}")


def _find_in_struct(
    kind: inspect.StructType, value: dict[str, object], path: Path
) -> InvalidParams | None:
    fields = {field.encode_name: field for field in kind.fields}
    for name, item in value.items():
        field = fields.get(name)
        where = (*path, name)
        if field is None:
            return InvalidParams(
                f"unknown field: {dotted(where)}", field=dotted(where), hint=_alike(name, fields)
            )
        found = find(field.type, item, where)
        if found is not None:
            return found
    for name, field in fields.items():
        if field.required and name not in value:
            where = (*path, name)
            return InvalidParams(
                f"required field missing: {dotted(where)}",
                field=dotted(where),
                hint=". ".join(filter(None, (words(field.type), _description(field.type)))),
            )
    return None


def _misfit(kind: inspect.Type, value: object, path: Path) -> InvalidParams | None:
    """A value that is no container, or not the one that was wanted."""
    problem: str | None = None
    match kind:
        case inspect.AnyType():
            return None
        case inspect.StrType() if isinstance(value, str):
            if kind.max_length is not None and len(value) > kind.max_length:
                problem = f"too long at {dotted(path)}: {len(value)} characters"
        case inspect.IntType() if type(value) is int:
            low, high = kind.ge, kind.le
            if (low is not None and value < low) or (high is not None and value > high):
                problem = f"out of range at {dotted(path)}: {value}"
        case inspect.BoolType() if isinstance(value, bool):
            return None
        case inspect.LiteralType() | inspect.EnumType() if isinstance(value, str):
            if value not in _members(kind):
                shown = text.one_line(value, _SHOWN_MAX)
                problem = f"not a known value at {dotted(path)}: {shown!r}"
        case _:
            problem = f"wrong type at {dotted(path)}: {kind_of(value)}"
    if problem is None:
        return None
    return InvalidParams(problem, field=dotted(path), hint=words(kind))


def _is_later(value: object, later: tuple[str, ...]) -> bool:
    """Whether ``value`` is for a later version: anything at all, or one of those named."""
    return value in later if later else value is not None


def _members(kind: inspect.LiteralType | inspect.EnumType) -> tuple[object, ...]:
    if isinstance(kind, inspect.EnumType):
        return tuple(member.value for member in kind.cls)
    return kind.values


def _alike(name: str, fields: dict[str, inspect.Field]) -> str:
    near = difflib.get_close_matches(name[:_SHOWN_MAX], fields, n=1)
    return f"did you mean {near[0]}" if near else f"known fields: {', '.join(fields)}"


def _description(kind: inspect.Type) -> str | None:
    if not isinstance(kind, inspect.Metadata):
        return None
    description: str = (kind.extra_json_schema or {}).get("description", "")
    return description.removesuffix(".")
