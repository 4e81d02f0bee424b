"""The tables of protocol.md, made from the registry, the schema and the vocabulary.

Each section is Markdown without a heading above it; ``scripts/gen_protocol.py`` puts it between
its markers.  What a method is good for and how it behaves is prose, and not made here.

This module must never know a method or a field by name.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, get_args

from sidecar.wire import errors, event_views, methods, schema, vocabulary
from sidecar.wire.errors import RpcCode
from sidecar.wire.schema import Schema

_SETS_WITH_TABLES = {
    "RunState": "run-states",
    "StepState": "step-states",
    "ProofState": "proof-states",
    "StopCause": "stop-causes",
    "NoticeKind": "notice-kinds",
}

_INSIDE_EVENTS = (event_views.PlannedStepView.__name__, event_views.ProcessView.__name__)

_PROTOCOL_FAULTS = {
    RpcCode.PARSE_ERROR: "The body is not JSON; the answer's id is null, and the stream goes on.",
    RpcCode.INVALID_REQUEST: "Not a request: a batch, no method, too large, or after `shutdown`.",
    RpcCode.METHOD_NOT_FOUND: "No such method, or none in this version (`data.hint` says so).",
    RpcCode.INVALID_PARAMS: "The params are refused: see `invalid-params`.",
    RpcCode.INTERNAL_ERROR: "A bug of sidecar: see `internal`.",
    RpcCode.SERVER_NOT_INITIALIZED: "A request before `initialize`.",
    RpcCode.REQUEST_CANCELLED: "The request was cancelled by `$/cancelRequest`.",
    RpcCode.CONTENT_MODIFIED: "A precondition no longer holds: see `already-resolved`.",
    RpcCode.REQUEST_FAILED: "A refusal: `data.code` says which.",
}


def sections() -> dict[str, str]:
    """Every generated section by the name in its marker."""
    makers: dict[str, Callable[[], str]] = {
        "methods": _methods,
        "method-types": _method_types,
        "notifications": _notifications,
        "notification-types": _notification_types,
        "initialize-types": _initialize_types,
        "run-types": _run_types,
        "run-states": lambda: _set_table(vocabulary.RUN_STATES),
        "step-states": lambda: _set_table(vocabulary.STEP_STATES),
        "proof-states": lambda: _set_table(vocabulary.PROOF_STATES),
        "stop-causes": lambda: _set_table(vocabulary.STOP_CAUSES),
        "notice-kinds": lambda: _set_table(vocabulary.NOTICE_KINDS),
        "reasons": lambda: _set_table(vocabulary.REASONS),
        "error-codes": _error_codes,
        "error-numbers": _error_numbers,
        "events": _events,
        "later": _later,
    }
    return {name: make() for name, make in makers.items()}


# --- methods -------------------------------------------------------------------------------------


def _methods() -> str:
    rows = [
        (
            f"[`{request.name}`](#{_anchor(request.params.__name__)})",
            f"`{request.command}`",
            request.access.value,
            f"{request.since}, {request.stability.value}",
            request.summary,
        )
        for request in methods.REQUESTS
    ]
    common = ", ".join(f"`{code}`" for code in methods.COMMON_ERRORS)
    table = _table(("Method", "Command", "Access", "Since", "What it does"), rows)
    return f"{table}\n\nEvery request can be refused with {common}; each names its others below."


def _method_types() -> str:
    defs = schema.definitions()
    blocks = []
    for request in methods.REQUESTS:
        codes = ", ".join(f"`{code}`" for code in request.errors) or "none of its own"
        blocks += [
            f"#### {request.name}",
            request.summary,
            _type_block(request.params.__name__, defs, "##### "),
            _type_block(request.result.__name__, defs, "##### "),
            f"Errors: {codes}.",
        ]
    shown_elsewhere = {*_run_names(defs), *_initialize_names(defs)}
    blocks += [
        _type_block(name, defs, "#### ")
        for name in _nested(_message_names(), defs)
        if _is_object(defs, name) and name not in shown_elsewhere and not _is_about_events(name)
    ]
    return "\n\n".join(blocks)


def _message_names() -> list[str]:
    return [
        message.__name__
        for request in methods.REQUESTS
        for message in (request.params, request.result)
    ]


def _notifications() -> str:
    rows = [
        (
            f"[`{told.name}`](#{_anchor(told.params.__name__)})",
            f"{told.since}, {told.stability.value}",
            told.summary,
        )
        for told in methods.NOTIFICATIONS
    ]
    return _table(("Notification", "Since", "What it tells"), rows)


def _notification_types() -> str:
    defs = schema.definitions()
    return "\n\n".join(
        _type_block(told.params.__name__, defs, "#### ") for told in methods.NOTIFICATIONS
    )


def _initialize_types() -> str:
    defs = schema.definitions()
    return "\n\n".join(_type_block(name, defs, "#### ") for name in _initialize_names(defs))


def _run_types() -> str:
    defs = schema.definitions()
    return "\n\n".join(_type_block(name, defs, "#### ") for name in _run_names(defs))


def _events() -> str:
    defs = schema.definitions()
    common = set(event_views.AnyEvent.__struct_encode_fields__)
    rows = []
    for view in get_args(event_views.EventView):
        definition = defs[view.__name__]
        kind = definition["properties"]["kind"]["enum"][0]
        rows.append((f"`{kind}`", _event_fields(definition, common), definition["description"]))
    blocks = [_table(("Kind", "Fields", "What happened"), rows)]
    blocks += [_type_block(name, defs, "#### ") for name in _INSIDE_EVENTS]
    return "\n\n".join(blocks)


def _event_fields(definition: Schema, common: set[str]) -> str:
    required = definition.get("required", ())
    return ", ".join(
        f"`{field}{'' if field in required else '?'}`"
        for field in definition["properties"]
        if field not in common | {"kind"}
    )


def _later() -> str:
    defs = schema.definitions()
    lines = ["- Methods: " + ", ".join(f"`{name}`" for name in methods.LATER_REQUESTS) + "."]
    for name, definition in defs.items():
        fields = _later_fields(definition)
        if fields:
            lines.append(f"- Fields of {_link(name)}: " + ", ".join(f"`{f}`" for f in fields) + ".")
    return "\n".join(lines)


# --- errors and sets -----------------------------------------------------------------------------


def _error_codes() -> str:
    rows = [
        (f"`{refusal.code}`", str(int(refusal.number)), refusal.meaning)
        for refusal in errors.REFUSALS
    ]
    return _table(("`data.code`", "Number", "Meaning"), rows)


def _error_numbers() -> str:
    rows = [
        (str(int(number)), number.name, _PROTOCOL_FAULTS[number])
        for number in sorted(RpcCode, reverse=True)
    ]
    return _table(("Number", "Name in JSON-RPC and LSP", "When"), rows)


def _set_table(meanings: Mapping[Any, str]) -> str:
    rows = [
        (f"`{word.value if isinstance(word, StrEnum) else word}`", meaning)
        for word, meaning in meanings.items()
    ]
    return _table(("Value", "Meaning"), rows)


# --- types ---------------------------------------------------------------------------------------


def _initialize_names(defs: dict[str, Schema]) -> list[str]:
    names = ["InitializationOptions", "SidecarCapabilities"]
    return names + [name for name in _nested(names, defs) if _is_object(defs, name)]


def _is_about_events(name: str) -> bool:
    return name.endswith("Event") or name in _INSIDE_EVENTS


def _run_names(defs: dict[str, Schema]) -> list[str]:
    return ["RunView", *(name for name in _nested(["RunView"], defs) if _is_object(defs, name))]


def _type_block(name: str, defs: dict[str, Schema], heading: str) -> str:
    definition = defs[name]
    title = f"{heading}{name}\n\n{definition.get('description', '')}"
    required = definition.get("required", ())
    is_params = definition.get("additionalProperties") is False
    later = _later_fields(definition)
    rows = [
        (
            f"`{field}`",
            _type(about, defs),
            _presence(about, required=field in required, is_params=is_params),
            about.get("description", ""),
        )
        for field, about in _meta_last(definition["properties"])
        if field not in later
    ]
    return f"{title}\n\n{_table(('Field', 'Type', '', 'Meaning'), rows)}" if rows else title


def _meta_last(properties: Schema) -> list[tuple[str, Schema]]:
    return sorted(properties.items(), key=lambda item: item[0].startswith("_"))


def _presence(about: Schema, *, required: bool, is_params: bool) -> str:
    if required:
        return "required" if is_params else "always"
    default = about.get("default")
    if default is None or default == {}:
        return "optional"
    shown = str(default).lower() if isinstance(default, bool) else default
    return f"default `{shown}`"


def _type(about: Schema, defs: dict[str, Schema]) -> str:
    choices = [item for item in about.get("anyOf", [about]) if item.get("type") != "null"]
    return " or ".join(_one_type(item, defs) for item in choices)


def _one_type(about: Schema, defs: dict[str, Schema]) -> str:
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        if name in _SETS_WITH_TABLES:
            return f"[{name}](#{_SETS_WITH_TABLES[name]})"
        return _link(name) if _is_object(defs, name) else _one_type(defs[name], defs)
    if "enum" in about:
        return " \\| ".join(f'`"{value}"`' for value in about["enum"])
    if about["type"] == "array":
        if "discriminator" in about["items"]:
            return "[event](#events)[]"
        return f"{_type(about['items'], defs)}[]"
    if about["type"] == "object":
        values = about.get("additionalProperties")
        return f"object of {_type(values, defs)}" if isinstance(values, dict) else "object"
    if "minimum" in about and about["maximum"] < 2**53 - 1:
        low, high = about["minimum"], about["maximum"]
        return str(low) if low == high else f"integer {low} to {high}"
    return str(about["type"])


def _nested(names: Iterable[str], defs: dict[str, Schema]) -> list[str]:
    """The types inside these, in the order in which a reader meets them."""
    found: list[str] = []
    waiting = list(names)
    while waiting:
        for inner in _refs_in(defs[waiting.pop(0)]):
            if inner not in found:
                found.append(inner)
                waiting.append(inner)
    return found


def _refs_in(about: Any) -> list[str]:
    if isinstance(about, list):
        return [ref for item in about for ref in _refs_in(item)]
    if not isinstance(about, dict):
        return []
    own = [about["$ref"].rpartition("/")[2]] if "$ref" in about else []
    return own + [ref for item in about.values() for ref in _refs_in(item)]


def _later_fields(definition: Schema) -> list[str]:
    properties = definition.get("properties", {})
    return [name for name, about in properties.items() if about.get("type") == "null"]


def _is_object(defs: dict[str, Schema], name: str) -> bool:
    return "properties" in defs[name]


def _link(name: str) -> str:
    return f"[{name}](#{_anchor(name)})"


def _anchor(heading: str) -> str:
    return heading.lower()


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
