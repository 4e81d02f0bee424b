"""A validator for the part of JSON Schema that our document uses; anything else is an error.

Written here so that the document is judged by the words of the standard, not by the library that
made it.
"""

from typing import Any

from sidecar.wire import schema

KEYWORDS = {
    "$ref", "additionalProperties", "anyOf", "default", "description", "discriminator", "enum",
    "items", "maxLength", "maximum", "minimum", "properties", "required", "title", "type",
}  # fmt: skip

TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "null": type(None),
    "object": dict,
    "string": str,
}

DEFS = schema.definitions()


def faults(value: Any, about: dict[str, Any], where: str = "$") -> list[str]:
    """Where ``value`` does not fit the schema ``about``; empty if it does."""
    unknown = about.keys() - KEYWORDS
    assert not unknown, f"keywords that nobody checks: {unknown}"
    if "$ref" in about:
        return faults(value, DEFS[about["$ref"].removeprefix("#/$defs/")], where)
    if "anyOf" in about:
        tries = [faults(value, choice, where) for choice in about["anyOf"]]
        return [] if [] in tries else [f"{where}: none of the choices, as {tries}"]
    if "enum" in about:
        return [] if value in about["enum"] else [f"{where}: not one of {about['enum']}"]
    is_bool = isinstance(value, bool) and about["type"] != "boolean"
    if is_bool or not isinstance(value, TYPES[about["type"]]):
        return [f"{where}: not a {about['type']}: {value!r}"]
    if isinstance(value, dict):
        return _in_object(value, about, where)
    if isinstance(value, list):
        return [
            fault
            for index, item in enumerate(value)
            for fault in faults(item, about.get("items", {"anyOf": [{}]}), f"{where}[{index}]")
        ]
    return _in_scalar(value, about, where)


def _in_object(value: dict[str, Any], about: dict[str, Any], where: str) -> list[str]:
    properties = about.get("properties", {})
    found = [f"{where}: lacks {name}" for name in about.get("required", ()) if name not in value]
    rest = about.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            found += faults(item, properties[name], f"{where}.{name}")
        elif rest is False:
            found.append(f"{where}: has {name}")
        elif isinstance(rest, dict):
            found += faults(item, rest, f"{where}.{name}")
    return found


def _in_scalar(value: Any, about: dict[str, Any], where: str) -> list[str]:
    if isinstance(value, str) and len(value) > about.get("maxLength", len(value)):
        return [f"{where}: too long"]
    if isinstance(value, int) and not (
        about.get("minimum", value) <= value <= about.get("maximum", value)
    ):
        return [f"{where}: out of range: {value}"]
    return []
