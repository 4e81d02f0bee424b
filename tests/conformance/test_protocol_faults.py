"""JSON-RPC faults: each gets its own code and an answer that names the request, if it can."""

from typing import Any

from tests.support.each import each
from tests.support.framing import frame
from tests.support.serving import SidecarClient

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


def test_no_json_is_answered_without_an_id(client: SidecarClient) -> None:
    client.send(frame(b"invalid message"))
    message = client.orphan()
    assert message["id"] is None
    assert message["error"]["code"] == PARSE_ERROR
    client.sync()


@each(
    "batch",
    [
        [],
        [1, 2],
        [{"jsonrpc": "2.0", "id": 1, "method": "run/list", "params": {}}],
        [{"jsonrpc": "2.0", "method": "exit"}],
    ],
)
def test_a_batch_is_refused_as_a_whole(client: SidecarClient, batch: list[Any]) -> None:
    client.send_json(batch)
    message = client.orphan()
    assert message["id"] is None
    assert message["error"]["code"] == INVALID_REQUEST
    client.sync()


@each(
    "body",
    [
        b'"text"',
        b"17",
        b"null",
        b"true",
        b"{}",
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":null}',
    ],
)
def test_json_that_is_no_message(client: SidecarClient, body: bytes) -> None:
    client.send(frame(body))
    message = client.orphan()
    assert message["error"]["code"] == INVALID_REQUEST
    client.sync()


@each("version", [None, "1.0", 2, "2.1"])
def test_a_request_of_another_version(client: SidecarClient, version: object) -> None:
    request_id = client.new_id()
    request: dict[str, object] = {"id": request_id, "method": "run/list", "params": {}}
    if version is not None:
        request["jsonrpc"] = version
    client.send_json(request)
    assert client.answer(request_id)["error"]["code"] == INVALID_REQUEST
    client.sync()


@each("method", [17, None, ["run/list"], {}])
def test_a_method_that_is_no_text(client: SidecarClient, method: object) -> None:
    request_id = client.new_id()
    client.send_json({"jsonrpc": "2.0", "id": request_id, "method": method, "params": {}})
    assert client.answer(request_id)["error"]["code"] == INVALID_REQUEST
    client.sync()


@each("request_id", [{"a": 1}, [1], False, 1.5])
def test_an_id_that_cannot_be_one(client: SidecarClient, request_id: object) -> None:
    # It is refused with the id null, or taken as it is (fractions "should not" be there).
    client.send_json({"jsonrpc": "2.0", "id": request_id, "method": "run/list", "params": {}})
    if request_id in (1.5, False):
        client.expect_answers_to(1.5, False)
    client.sync()
    for orphan in client.orphans:
        orphan.is_read = True
        assert orphan.message["error"]["code"] == INVALID_REQUEST
    for answers in client.answers.values():
        answers[0].is_read = True


@each("request_id", [0, -1, 2**31 - 1, 2**53, "", "a b", "\u00e9\U0001f600", "1", "x" * 1000])
def test_ids_come_back_as_they_were(client: SidecarClient, request_id: int | str) -> None:
    client.expect_answers_to(request_id)
    client.send_json({"jsonrpc": "2.0", "id": request_id, "method": "run/list", "params": {}})
    message = client.answer(request_id)
    assert type(message["id"]) is type(request_id)
    assert "result" in message


@each(
    "method",
    ["no/such", "run/", "run/LIST", "run/list ", "__init__", "textDocument/hover", "$/no", "", "/"],
)
def test_unknown_requests(client: SidecarClient, method: str) -> None:
    error = client.refusal(method, {})
    assert error["code"] == METHOD_NOT_FOUND
    client.sync()


@each(
    "method",
    [
        "no/such",
        "$/no/such",
        "$/setTrace",
        "textDocument/didOpen",
        "workspace/didChangeWatchedFiles",
    ],
)
@each("params", [None, {}, [1], {"value": "off", "x": {"y": [None]}}])
def test_unknown_notifications_are_ignored(
    client: SidecarClient, method: str, params: object
) -> None:
    client.notify(method, params)
    client.sync()
    client.assert_all_read()


@each("params", [[], [1], [{"runId": "x"}]])
def test_params_by_position_are_refused(client: SidecarClient, params: list[Any]) -> None:
    assert client.refusal("run/get", params)["code"] == INVALID_PARAMS


@each("params", ["text", 17, True])
def test_params_that_are_no_structure(client: SidecarClient, params: object) -> None:
    assert client.refusal("run/get", params)["code"] in (INVALID_PARAMS, INVALID_REQUEST)


def test_a_known_request_sent_as_a_notification_is_not_answered(client: SidecarClient) -> None:
    client.notify("run/list", {})
    client.notify("run/get", {"runId": 17})
    client.sync()
    client.assert_all_read()


def test_a_known_notification_sent_as_a_request_is_answered(client: SidecarClient) -> None:
    client.answer(client.post("initialized", {}))
    client.sync()


@each(
    "answer",
    [
        {"jsonrpc": "2.0", "id": "never-asked", "result": None},
        {"jsonrpc": "2.0", "id": 99, "error": {"code": -32601, "message": "no"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}},
        {"jsonrpc": "2.0", "id": 1, "result": 1, "error": {"code": 1, "message": ""}},
    ],
)
def test_answers_to_nothing_are_ignored(client: SidecarClient, answer: dict[str, Any]) -> None:
    client.send_json(answer)
    client.sync()
    for orphan in client.orphans:
        orphan.is_read = True


def test_the_same_id_twice_is_answered_twice(client: SidecarClient) -> None:
    # A client's fault; what matters is that nobody is left without an answer.
    for _ in range(2):
        client.send_json({"jsonrpc": "2.0", "id": "same", "method": "run/list", "params": {}})
    client.expect_answers_to("same")
    client.sync()
    client.read_until(lambda: len(client.answers.get("same", [])) == 2, "two answers")
    answers = client.answers["same"]
    for answer in answers:
        answer.is_read = True
    client.answers["same"] = answers[:1]
