"""The JSON Schema: it fits what is really sent, and refuses what is really refused."""

import json
from typing import Any

import pytest

from sidecar.core.errors import InvalidParams
from sidecar.core.events import Recorded
from sidecar.wire import convert, decode, example, methods, schema
from sidecar.wire.convert_events import event_view
from tests.unit.wire.samples import NEEDED, PARAMS
from tests.unit.wire.schema_check import DEFS, faults
from tests.unit.wire.test_convert_events import STORIES

DOCUMENT = schema.build()


def refs(about: Any) -> set[str]:
    """Every reference in a part of the document."""
    if isinstance(about, list):
        return set().union(*map(refs, about))
    if isinstance(about, dict):
        own = {about["$ref"]} if "$ref" in about else set()
        return own.union(*map(refs, about.values()))
    return set()


def params_faults(method: str, params: object) -> list[str]:
    return faults(params, DOCUMENT["methods"][method]["params"])


def test_every_reference_is_kept() -> None:
    assert refs(DOCUMENT) == {f"#/$defs/{name}" for name in DOCUMENT["$defs"]}


def test_methods_and_notifications_are_those_of_the_registry() -> None:
    assert list(DOCUMENT["methods"]) == list(methods.BY_NAME)
    assert list(DOCUMENT["notifications"]) == [told.name for told in methods.NOTIFICATIONS]


def test_making_it_twice_gives_the_same_text() -> None:
    assert schema.to_json() == schema.to_json()
    assert json.loads(schema.to_json()) == DOCUMENT


@pytest.mark.parametrize("method", list(PARAMS))
def test_params_that_are_taken_fit(method: str) -> None:
    fields = methods.BY_NAME[method].params.__struct_encode_fields__
    nulls = {name: None for name in fields if name not in NEEDED[method]}
    for params in (PARAMS[method], NEEDED[method], NEEDED[method] | nulls):
        assert params_faults(method, params) == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("run/get", {}),
        ("run/get", {"runId": 1}),
        ("run/get", {"runId": None}),
        ("run/get", {"runId": "018b", "typo": 1}),
        ("run/list", {"limit": 0}),
        ("run/list", {"limit": True}),
        ("run/list", {"states": ["ended"]}),
        ("run/stop", {"runId": "018b", "step": 1}),
        ("run/launch", {"step": {"agent": "command"}, "chain": []}),
        ("run/launch", {"step": {"agent": "command", "model": "x"}}),
        ("run/launch", {"step": {"agent": "command", "env": {"A": 1}}}),
        ("run/launch", {"step": {"agent": "command"}, "label": "x" * 201}),
    ],
)
def test_params_that_are_refused_do_not_fit(method: str, params: object) -> None:
    assert params_faults(method, params) != []
    with pytest.raises(InvalidParams):
        decode.decode(methods.BY_NAME[method].params, params)


def test_what_the_example_shows_fits() -> None:
    asked: dict[int, str] = {}
    n_checked = 0
    for _, sent in example.messages():
        message = json.loads(example.encode(sent))
        method = message.get("method", "")
        if method in DOCUMENT["methods"]:
            asked[message["id"]] = method
        elif method in DOCUMENT["notifications"]:
            assert faults(message["params"], DOCUMENT["notifications"][method]["params"]) == []
            n_checked += 1
        elif message.get("id") in asked and "result" in message:
            about = DOCUMENT["methods"][asked[message["id"]]]["result"]
            assert faults(message["result"], about) == []
            n_checked += 1
    assert n_checked == 4


def test_every_event_fits() -> None:
    about = DEFS["RunEventsResult"]
    for event, _ in STORIES:
        view = convert.to_object(event_view(Recorded(seq=1, at=2, event=event)))
        page = json.loads(json.dumps({"events": [view], "lastSeq": 1}))
        assert faults(page, about) == []


def test_the_server_never_says_null() -> None:
    asked = {name for name, about in DEFS.items() if about.get("additionalProperties") is False}
    for name in DEFS.keys() - asked:
        assert '"null"' not in json.dumps(DEFS[name]), name


def test_clients_may_leave_out_or_null_whatever_is_not_required() -> None:
    for name, about in DEFS.items():
        if about.get("additionalProperties") is not False:
            continue
        for field, item in about["properties"].items():
            takes_null = faults(None, item) == []
            assert takes_null == (
                field not in about["required"] if "required" in about else True
            ), (
                name,
                field,
            )
