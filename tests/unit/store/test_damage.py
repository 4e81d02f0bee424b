"""Whatever is not as it was written is told as damage: never believed, never another error."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from sidecar.core.errors import DamagedRun
from sidecar.store import codec
from tests.support import samples
from tests.unit.store.documents import GOLDENS, PATH, Golden, request, result, status

Place = tuple[str | int, ...]

# One value of each JSON type, and numbers that are no counts.
OTHERS: tuple[object, ...] = (None, True, -1, 1.5, 2**64, "no word", [], {}, [1], {"wtf8": 1})


def places(value: object, place: Place = ()) -> Iterator[Place]:
    """The place of everything inside ``value``, metadata excepted: it may be anything."""
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = [(key, item) for key, item in value.items() if key not in {"meta", "wtf8"}]
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, item in items:
        yield (*place, key)
        yield from places(item, (*place, key))


def put(document: Any, place: Place, value: object) -> object:
    """``document`` with another value at ``place``."""
    document = deepcopy(document)
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return document


def lacking(document: Any, place: Place) -> object:
    """``document`` without what is at ``place``."""
    document = deepcopy(document)
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    return document


def damage_of(decode: Callable[[bytes], object], data: bytes) -> str | None:
    """The damage that is told, ``None`` if there is none."""
    try:
        decode(data)
    except DamagedRun as exc:
        told = exc
    else:
        return None
    assert told.path == PATH
    assert told.message.endswith(f": {PATH}")
    return told.damage


def may_replace(original: object, other: object) -> bool:
    """Whether ``other`` may stand where ``original`` stood.

    Null means absent, which only some may be. No number among ``OTHERS`` is a count, and every
    other value is only believed in place of one of its own type.
    """
    if isinstance(original, dict) and "wtf8" in original:
        original = "packed"
    if isinstance(other, int | float) and not isinstance(other, bool):
        return False
    return other is None or type(other) is type(original)


@pytest.mark.parametrize("golden", GOLDENS, ids=str)
def test_a_value_of_another_type_is_damage_at_any_place(golden: Golden) -> None:
    document = json.loads(golden.data)
    believed = []
    for place in places(document):
        original = document
        for key in place:
            original = original[key]
        for other in OTHERS:
            damage = damage_of(golden.decode, json.dumps(put(document, place, other)).encode())
            if damage is None and not may_replace(original, other):
                believed.append((place, other))
    assert believed == []


@pytest.mark.parametrize("golden", GOLDENS, ids=str)
def test_null_and_absent_mean_the_same(golden: Golden) -> None:
    document = json.loads(golden.data)
    for place in places(document):
        if isinstance(place[-1], str):
            absent = damage_of(golden.decode, json.dumps(lacking(document, place)).encode())
            null = damage_of(golden.decode, json.dumps(put(document, place, None)).encode())
            assert absent == null, place


@pytest.mark.parametrize("golden", GOLDENS, ids=str)
def test_a_field_of_a_later_version_is_tolerated(golden: Golden) -> None:
    document = json.loads(golden.data)
    objects: list[Place] = [(), *places(document)]
    for place in objects:
        inner = document
        for key in place:
            inner = inner[key]
        if isinstance(inner, dict) and "wtf8" not in inner:
            more = put(document, (*place, "laterField"), {"any": ["thing"]})
            assert golden.decode(json.dumps(more).encode()) == golden.meaning, place


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "cut in the middle": lambda data: data[: len(data) // 2],
    "cut by its last character": lambda data: data.rstrip()[:-1],
    "empty": lambda _: b"",
    "one brace": lambda _: b"{",
    "an empty object": lambda _: b"{}",
    "an empty list": lambda _: b"[]",
    "null": lambda _: b"null",
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "NULs, as some file systems leave them": lambda data: bytes(len(data)),
    "not UTF-8": lambda data: data.replace(b"format", b"form\xff"),
    "twice": lambda data: data + data,
    "no format": lambda data: data.replace(b'"format":1,', b""),
    "format null": lambda data: data.replace(b'"format":1', b'"format":null'),
    "format 0": lambda data: data.replace(b'"format":1', b'"format":0'),
    "format true": lambda data: data.replace(b'"format":1', b'"format":true'),
    "format as text": lambda data: data.replace(b'"format":1', b'"format":"1"'),
    "nested too deep": lambda data: b'{"format":1,"x":' + b"[" * 5000 + b"]" * 5000 + b"}",
}


@pytest.mark.parametrize("how", DAMAGED)
@pytest.mark.parametrize("golden", GOLDENS, ids=str)
def test_every_way_to_break_a_document_is_told_as_corrupt(golden: Golden, how: str) -> None:
    assert damage_of(golden.decode, DAMAGED[how](golden.data)) == "corrupt"


@pytest.mark.parametrize("golden", GOLDENS, ids=str)
def test_what_a_newer_version_wrote_is_told_as_that(golden: Golden) -> None:
    # Whatever it means by the rest: the number is looked at first.
    assert damage_of(golden.decode, b'{"format":2}') == "future-format"
    newer = golden.data.replace(b'"format":1', b'"format":99')
    assert damage_of(golden.decode, newer) == "future-format"


@pytest.mark.parametrize(
    ("decode", "data"),
    [
        (request, codec.encode_request(samples.launch(samples.OTHER_ID))),
        (status, codec.encode_status(samples.queued(samples.OTHER_ID))),
        (result, codec.encode_result(samples.result(samples.OTHER_ID))),
    ],
    ids=["request", "status", "result"],
)
def test_a_document_of_another_run_is_foreign(
    decode: Callable[[bytes], object], data: bytes
) -> None:
    assert damage_of(decode, data) == "foreign"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("runId",), "../../etc/passwd"),
        (("runId",), samples.RUN_ID.upper()),
        (("seq",), 0),
        (("parentRunId",), "x"),
        (("steps", 0, "index"), 1),
        (("steps", 0, "attempt", "number"), 0),
        (("steps", 0, "attempt", "exit"), {"code": 3, "signal": 9}),
        (("steps", 0, "attempt", "exit"), {}),
        (("outcome",), None),
        (("endedAt",), None),
    ],
)
def test_a_status_that_contradicts_itself_is_corrupt(place: Place, value: object) -> None:
    document = json.loads(codec.encode_status(samples.ended()))
    assert damage_of(status, json.dumps(put(document, place, value)).encode()) == "corrupt"


def test_the_story_of_a_damage_names_the_place_and_never_the_value() -> None:
    document = json.loads(codec.encode_request(samples.launch()))
    document["steps"][0]["env"] = [["SECRET", 5]]
    with pytest.raises(DamagedRun) as caught:
        request(json.dumps(document).encode())
    assert caught.value.message == f"steps[0].env is not a string: {PATH}"
    with pytest.raises(DamagedRun) as caught:
        request(b'{"format":1,"prompt":"secret words')
    assert "secret" not in caught.value.message


def test_older_documents_are_led_upwards_one_format_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = []

    def to_second(document: str, json: dict[str, object]) -> dict[str, object]:
        steps.append((document, 1))
        return json | {"hidden": json["dismissed"]}

    def to_third(document: str, json: dict[str, object]) -> dict[str, object]:
        steps.append((document, 2))
        return json | {"dismissed": not json["hidden"]}

    monkeypatch.setattr(codec, "FORMAT", 3)
    monkeypatch.setattr(codec, "UPCASTERS", {1: to_second, 2: to_third})
    data = codec.encode_dismissal(samples.dismissal()).replace(b'"format":3', b'"format":1')
    assert codec.decode_dismissal(data, PATH).dismissed is False
    assert steps == [("dismissal", 1), ("dismissal", 2)]
