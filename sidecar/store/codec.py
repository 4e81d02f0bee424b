"""Core types to bytes and back: the only place that knows JSON, and the format on disk.

Every document carries ``format``, which counts incompatible changes.  An older one is led through
``UPCASTERS``, one step per number, so that files of any released version load for ever; a newer
one is refused as ``future-format`` and left alone.  Fields that are added without a new number must
be optional; unknown ones are tolerated.

JSON cannot hold lone surrogates, but Python's names of files can (bytes that are no UTF-8 become
such), and so may prompts and arguments.  A string with one is written as ``{"wtf8": <base64>}`` of
its UTF-8 in which surrogates are encoded like any other character: reversible for every string.

This module must never touch a file: a ``path`` is only for the story of an error.
"""

import binascii
from collections.abc import Callable

import orjson

from sidecar.core.commands import Command
from sidecar.core.dismissal import Dismissal
from sidecar.core.errors import DamagedRun, InvalidParams
from sidecar.core.events import Recorded
from sidecar.core.plan import Launch
from sidecar.core.result import RunResult
from sidecar.core.states import Run
from sidecar.store import document_form, event_form, state_form
from sidecar.store.fields import WTF8, Fields, Json

FORMAT = 1

Upcaster = Callable[[str, Json], Json]

UPCASTERS: dict[int, Upcaster] = {}
"""From a format to the next: takes the kind of document (``request``, ``status``, ``event``,
``result``, ``command``, ``dismissal``) and its JSON."""


def encode_request(launch: Launch) -> bytes:
    """The bytes of request.json.  Raises ``InvalidParams`` for metadata that is no JSON."""
    try:
        orjson.dumps(launch.meta)
    except TypeError as exc:
        raise InvalidParams(
            f"metadata that cannot be kept: {exc}", field="_meta", hint="plain JSON in UTF-8"
        ) from exc
    return _dump(document_form.write_launch(launch))


def decode_request(data: bytes, path: str, *, run_id: str) -> Launch:
    """A request that must be of ``run_id``.  Raises ``DamagedRun``, like all that follow."""
    launch = document_form.read_launch(_load("request", data, path))
    _check_owner(launch.run_id, run_id, path)
    return launch


def encode_status(run: Run) -> bytes:
    """The bytes of status.json."""
    return _dump(state_form.write_run(run))


def decode_status(data: bytes, path: str, *, run_id: str) -> Run:
    """A state that must be of ``run_id``."""
    run = state_form.read_run(_load("status", data, path))
    _check_owner(run.run_id, run_id, path)
    return run


def encode_recorded(recorded: Recorded) -> bytes:
    """One line of events.jsonl, with its end."""
    return _dump(event_form.write_recorded(recorded))


def decode_recorded(line: bytes, path: str) -> Recorded:
    """One line of events.jsonl."""
    return event_form.read_recorded(_load("event", line, path))


def encode_result(result: RunResult) -> bytes:
    """The bytes of result.json."""
    return _dump(document_form.write_result(result))


def decode_result(data: bytes, path: str, *, run_id: str) -> RunResult:
    """A result that must be of ``run_id``."""
    result = document_form.read_result(_load("result", data, path))
    _check_owner(result.run_id, run_id, path)
    return result


def encode_command(command: Command) -> bytes:
    """The bytes of an inbox file."""
    return _dump(document_form.write_command(command))


def decode_command(data: bytes, path: str) -> Command:
    """A command."""
    return document_form.read_command(_load("command", data, path))


def encode_dismissal(dismissal: Dismissal) -> bytes:
    """The bytes of dismissed.json."""
    return _dump(document_form.write_dismissal(dismissal))


def decode_dismissal(data: bytes, path: str) -> Dismissal:
    """A dismissal."""
    return document_form.read_dismissal(_load("dismissal", data, path))


def _check_owner(found: str, expected: str, path: str) -> None:
    if found != expected:
        raise DamagedRun(f"belongs to run {found}: {path}", path=path, damage="foreign")


def _load(document: str, data: bytes, path: str) -> Fields:
    try:
        json = orjson.loads(data)
    except ValueError as exc:
        raise DamagedRun(f"not JSON ({_place(exc)}): {path}", path=path, damage="corrupt") from exc
    form = Fields(json, path=path)
    number = form.count("format", least=1)
    if number > FORMAT:
        raise DamagedRun(
            f"written by a newer version (format {number}): {path}",
            path=path,
            damage="future-format",
        )
    while number < FORMAT:
        json = UPCASTERS[number](document, json)
        number += 1
    return Fields(json, path=path)


def _place(exc: ValueError) -> str:
    """Where the JSON ends to be JSON: the message of the decoder may repeat a secret."""
    return f"at character {exc.pos}" if isinstance(exc, orjson.JSONDecodeError) else "no text"


def _dump(document: Json) -> bytes:
    document = {"format": FORMAT} | document
    try:
        return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone surrogate; looking for one in every string would cost everybody
        return orjson.dumps(_without_surrogates(document), option=orjson.OPT_APPEND_NEWLINE)


def _without_surrogates(value: object) -> object:
    """``value`` with the strings that JSON cannot hold put into an object that it can."""
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                packed = binascii.b2a_base64(value.encode("utf-8", "surrogatepass"), newline=False)
                return {WTF8: packed.decode("ascii")}
            return value
        case dict():
            return {name: _without_surrogates(item) for name, item in value.items()}
        case list() | tuple():
            return [_without_surrogates(item) for item in value]
        case _:
            return value
