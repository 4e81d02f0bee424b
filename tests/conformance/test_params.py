"""Params: what is unknown is named, what is absent is null, and what is not ours is left alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.each import each
from tests.support.framing import frame
from tests.support.serving import SidecarClient, launch_of

INVALID_PARAMS = -32602
NO_RUN = "0198c0de-0000-7000-8000-000000000000"

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("run/launch", launch_of("true")),
    ("run/get", {"runId": NO_RUN}),
    ("run/list", {}),
    ("run/wait", {"runIds": [], "timeoutMs": 0}),
    ("run/events", {"runId": NO_RUN}),
    ("run/output", {"runId": NO_RUN}),
    ("run/result", {"runId": NO_RUN}),
    ("run/stop", {"runId": NO_RUN}),
    ("run/dismiss", {"runId": NO_RUN}),
    ("run/undismiss", {"runId": NO_RUN}),
    ("run/subscribe", {"runId": NO_RUN}),
    ("run/unsubscribe", {"runId": NO_RUN}),
    ("run/remove", {"runId": NO_RUN}),
    ("agent/list", {}),
    ("server/status", {}),
]


def refused_field(error: dict[str, Any]) -> str:
    assert error["code"] == INVALID_PARAMS, error
    assert error["data"]["code"] == "invalid-params"
    return str(error["data"]["field"])


@each(("method", "params"), REQUESTS)
def test_an_unknown_field_is_refused_by_name(
    client: SidecarClient, method: str, params: dict[str, Any]
) -> None:
    error = client.refusal(method, params | {"timeoutMS": 1})
    assert refused_field(error) == "timeoutMS"
    assert client.list(scope="all") == []


@each("name", ["class", "a-b", "", "\u00e9", "__proto__", "self", "a.b"])
def test_odd_names_of_unknown_fields_are_named_too(client: SidecarClient, name: str) -> None:
    error = client.refusal("run/list", {name: 1})
    assert refused_field(error) == name


@each(
    ("field", "launch"),
    [
        ("step.comand", launch_of("true", step={"comand": ["true"]})),
        ("step.env.", launch_of("true", step={"env": {"": "x"}})),
        ("lable", launch_of("true", lable="x")),
    ],
)
def test_an_unknown_field_inside_is_refused_by_its_path(
    client: SidecarClient, field: str, launch: dict[str, Any]
) -> None:
    assert refused_field(client.refusal("run/launch", launch)) == field
    assert client.list(scope="all") == []


@each(("method", "params"), REQUESTS[1:])
def test_null_is_the_same_as_absent(
    client: SidecarClient, method: str, params: dict[str, Any]
) -> None:
    optional = {
        "run/list": ["scope", "states", "limit", "cursor", "includeDismissed"],
        "run/wait": ["until", "onAttention"],
        "run/events": ["afterSeq", "limit"],
        "run/output": ["step", "stream", "offset", "limit"],
        "run/stop": ["step", "reason", "graceMs", "waitMs", "anySession"],
        "run/subscribe": ["output", "fromOffset"],
    }.get(method, [])
    absent = client.answer(client.post(method, params))
    null = client.answer(client.post(method, params | dict.fromkeys(optional)))
    if method == "server/status":
        assert absent.keys() == null.keys()
        return
    assert {k: v for k, v in absent.items() if k != "id"} == {
        k: v for k, v in null.items() if k != "id"
    }


def test_null_is_the_same_as_absent_in_a_launch(client: SidecarClient) -> None:
    nulls = dict.fromkeys(["label", "cwd", "env", "timeoutMs", "clientToken", "_meta", "runId"])
    step = dict.fromkeys(["label", "prompt", "command", "cwd", "env", "timeoutMs"])
    run = client.run_to_end("true", step=step, **nulls)
    assert run["state"] == "complete"
    assert None not in run.values()
    assert all(None not in item.values() for item in run["steps"])


def test_what_is_optional_is_left_out_not_null(client: SidecarClient) -> None:
    run = client.run_to_end("true")
    for value in (run, *run["steps"], run["proof"], client.call("run/result", run_of(run))):
        assert None not in value.values()


def test_meta_is_carried_through_untouched(client: SidecarClient, state_dir: Path) -> None:
    meta = {
        "class": 1,
        "a-b": [None, True, {"": "\u00e9\U0001f600"}],
        "_meta": {"_meta": {}},
        "jsonrpc": "1.0",
        "id": None,
        "deep": {"unknown": {"field": 2**53 - 1}},
        "float": 0.1,
        "empty": {},
    }
    run = client.launch("true", _meta=meta)
    client.wait_over(run["runId"])
    assert client.call("run/get", run_of(run) | {"_meta": {"any": ["thing"]}})
    # It is kept as it came; where it lies in the file is nobody's promise.
    request = json.loads((state_dir / "runs" / run["runId"] / "request.json").read_text())
    assert any(value == meta for value in values_in(request))


def test_deep_nesting_is_an_answer_not_a_crash(client: SidecarClient) -> None:
    depths = (100, 500, 5000, 50_000)
    for depth in depths:
        deep = b'{"a":' * depth + b"1" + b"}" * depth
        body = b'{"jsonrpc":"2.0","id":"deep-%d","method":"run/list","params":{"_meta":%b}}'
        client.expect_answers_to(f"deep-{depth}")
        client.send(frame(body % (depth, deep)))
        client.sync()
    # Each was either carried through, or refused (without an id, if it could not be read at all).
    named = [answer for answers in client.answers.values() for answer in answers]
    for answer in (*named, *client.orphans):
        answer.is_read = True
    assert sum(str(answer.message["id"]).startswith("deep-") for answer in named) + len(
        client.orphans
    ) == len(depths)


@each(
    ("method", "params", "field"),
    [
        ("run/get", {}, "runId"),
        ("run/get", {"runId": None}, "runId"),
        ("run/get", {"runId": 17}, "runId"),
        ("run/get", {"runId": ["x"]}, "runId"),
        ("run/list", {"limit": "50"}, "limit"),
        ("run/list", {"limit": 0}, "limit"),
        ("run/list", {"limit": -1}, "limit"),
        ("run/list", {"limit": 1.5}, "limit"),
        ("run/list", {"limit": True}, "limit"),
        ("run/list", {"scope": "everything"}, "scope"),
        ("run/list", {"states": ["completed"]}, "states"),
        ("run/list", {"states": "running"}, "states"),
        ("run/wait", {"runIds": "x"}, "runIds"),
        ("run/wait", {"until": "some"}, "until"),
        ("run/wait", {"timeoutMs": -1}, "timeoutMs"),
        ("run/output", {"runId": NO_RUN, "stream": "stdin"}, "stream"),
        ("run/output", {"runId": NO_RUN, "limit": 0}, "limit"),
        ("run/events", {"runId": NO_RUN, "afterSeq": -1}, "afterSeq"),
        ("run/stop", {"runId": NO_RUN, "graceMs": -1}, "graceMs"),
        ("run/stop", {"runId": NO_RUN, "graceMs": 2**40}, "graceMs"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(
    client: SidecarClient, method: str, params: dict[str, Any], field: str
) -> None:
    named = refused_field(client.refusal(method, params))
    assert named.split("[")[0].split(".")[0] == field
    client.sync()


def run_of(run: dict[str, Any]) -> dict[str, str]:
    return {"runId": run["runId"]}


def values_in(tree: object) -> Iterator[object]:
    """Yield every value of a JSON document, at every depth."""
    yield tree
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for child in children:
        yield from values_in(child)
