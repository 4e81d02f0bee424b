"""The registry as one JSON Schema document (draft 2020-12), shipped as ``schema.json``.

``$defs`` holds every params, result and notification type with all that is inside them; ``methods``
and ``notifications`` say which belongs to which method.  ``scripts/gen_protocol.py`` writes the
file, and its text is the same on every machine.

This module must never know a method or a field by name.
"""

import json
from typing import Any

import msgspec

from sidecar.wire import errors, methods
from sidecar.wire.fields import ParamsPart, View
from sidecar.wire.params import InitializationOptions
from sidecar.wire.results import SidecarCapabilities

REF = "#/$defs/{name}"

_WORDS = ("title", "description")

Schema = dict[str, Any]


def build() -> Schema:
    """The whole document."""
    options, experimental = _refs([InitializationOptions, SidecarCapabilities])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sidecar wire protocol",
        "description": "JSON-RPC 2.0 with LSP framing over stdio; see protocol.md.",
        "protocolVersion": methods.PROTOCOL_VERSION,
        "initialize": {"initializationOptions": options, "experimental.sidecar": experimental},
        "methods": {request.name: _request(request) for request in methods.REQUESTS},
        "notifications": {told.name: _notification(told) for told in methods.NOTIFICATIONS},
        "laterMethods": list(methods.LATER_REQUESTS),
        "errors": {refusal.code: int(refusal.number) for refusal in errors.REFUSALS},
        "$defs": definitions(),
    }


def definitions() -> dict[str, Schema]:
    """Every type of the wire by name, in alphabetical order."""
    _, components = msgspec.json.schema_components(message_types(), ref_template=REF)
    nullable = {name for name, schema in components.items() if _is_asked(schema)}
    return {
        name: _definition(components[name], nullable=name in nullable)
        for name in sorted(components)
    }


def message_types() -> list[type[View] | type[ParamsPart]]:
    """Params, results and notifications, in the order of the registry."""
    types: list[type[View] | type[ParamsPart]] = [InitializationOptions, SidecarCapabilities]
    for request in methods.REQUESTS:
        types += [request.params, request.result]
    types += [told.params for told in methods.NOTIFICATIONS]
    return types


def to_json() -> str:
    """The text of ``schema.json``."""
    return json.dumps(build(), indent=2, ensure_ascii=False) + "\n"


def _request(request: methods.Request) -> Schema:
    params, result = _refs([request.params, request.result])
    return {
        "summary": request.summary,
        "direction": request.direction.value,
        "params": params,
        "result": result,
        "errors": [*methods.COMMON_ERRORS, *request.errors],
        "access": request.access.value,
        "command": request.command,
        "since": request.since,
        "stability": request.stability.value,
    }


def _notification(told: methods.Notification) -> Schema:
    return {
        "summary": told.summary,
        "direction": told.direction.value,
        "params": _refs([told.params])[0],
        "since": told.since,
        "stability": told.stability.value,
    }


def _refs(types: list[Any]) -> list[Schema]:
    return [{"$ref": REF.format(name=item.__name__)} for item in types]


def _is_asked(schema: Schema) -> bool:
    """Whether clients say it: those objects are closed, what the server tells may grow."""
    return schema.get("additionalProperties") is False


def _definition(schema: Schema, *, nullable: bool) -> Schema:
    """``schema`` with what msgspec cannot know: null is absence in what clients say, and what the
    server tells never holds a null.
    """
    head: Schema = {key: _prose(schema[key]) for key in _WORDS if key in schema}
    rest = {key: value for key, value in schema.items() if key not in head}
    if "properties" not in schema:
        return {**head, **rest}
    required = schema.get("required", ())
    properties = {
        name: _property(field, nullable=nullable and name not in required)
        for name, field in schema["properties"].items()
    }
    return {**head, **rest, "properties": properties}


def _property(field: Schema, *, nullable: bool) -> Schema:
    head: Schema = {key: _prose(field[key]) for key in _WORDS if key in field}
    if field.get("default") is not None:
        head["default"] = field["default"]
    rest = {key: value for key, value in field.items() if key not in {"description", "default"}}
    if rest.get("type") == "null":  # a field of a later version
        return {**head, **rest}
    choices = [item for item in rest.get("anyOf", [rest]) if item != {"type": "null"}]
    if "description" in head:  # the words for this field, instead of those for its type
        choices = [_without_words(item) for item in choices]
    if nullable:
        choices.append({"type": "null"})
    return {**head, **(choices[0] if len(choices) == 1 else {"anyOf": choices})}


def _without_words(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "description"}


def _prose(text: str) -> str:
    """A docstring as a description: one line, code in single backquotes."""
    return " ".join(text.replace("``", "`").split())
