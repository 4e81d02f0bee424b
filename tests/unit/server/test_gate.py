"""Who may say what when: every rule of the connection's life, without a byte of I/O."""

import json
from typing import Any

import pytest

from sidecar.server.gate import (
    Cancel,
    Gate,
    Hear,
    Ignore,
    Leave,
    Phase,
    Refuse,
    Route,
    Serve,
    Verdict,
)

ABSENT = object()


def body(method: Any = ABSENT, *, request_id: Any = ABSENT, **more: Any) -> bytes:
    message = {"jsonrpc": "2.0", **more}
    if method is not ABSENT:
        message["method"] = method
    if request_id is not ABSENT:
        message["id"] = request_id
    return json.dumps(message).encode()


def new_gate() -> Gate:
    return Gate(frozenset({"run/list", "run/launch"}), frozenset({"initialized"}))


def ready_gate() -> Gate:
    gate = new_gate()
    assert isinstance(gate.judge(body("initialize", request_id=0)), Serve)
    assert gate.close(0)
    return gate


def outline(verdict: Verdict) -> tuple[Any, ...]:
    match verdict:
        case Refuse(request_id, code, _):
            return request_id, code
        case Serve(request_id, method):
            return request_id, method
        case Hear(method):
            return (method,)
        case Cancel(request_id):
            return "cancel", request_id
        case Leave(code):
            return "leave", code
        case Route():
            return ("route",)
        case Ignore():
            return ("ignore",)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"invalid message", (None, -32700)),
        (b"", (None, -32700)),
        (b'{"jsonrpc":"2.0","id":1,"method":"run/list"', (None, -32700)),
        (b'\xff\xfe{"jsonrpc":"2.0"}', (None, -32700)),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"run/list"}', (None, -32600)),
        (b'{"jsonrpc":"2.0","id":1,"method":"run/list\\ud800"}', (1, -32601)),
        (b'{"jsonrpc":"2.0","id":1,"method":"run/list","params":{"x":"\\ud800",}}', (None, -32700)),
        (b'{"jsonrpc":"2.0","id":1,"x":"\\ud800","y":NaN}', (None, -32700)),
        (b'{"jsonrpc":"2.0","id":1,"x":"\\ud800\xff"}', (None, -32700)),
        (b'["\\ud800",' + b"[" * 100_000, (None, -32700)),
        (b'{"jsonrpc":"2.0","id":1,"method":"run/list","params":{"x":NaN}}', (None, -32700)),
        (b"[" * 100_000, (None, -32700)),
        (b"[]", (None, -32600)),
        (b'[{"jsonrpc":"2.0","id":1,"method":"run/list"}]', (None, -32600)),
        (b'"run/list"', (None, -32600)),
        (b"null", (None, -32600)),
        (b'{"id":1,"method":"run/list"}', (1, -32600)),
        (b'{"jsonrpc":"1.0","id":1,"method":"run/list"}', (1, -32600)),
        (b'{"jsonrpc":2.0,"id":1,"method":"run/list"}', (1, -32600)),
        (b'{"method":"initialized"}', (None, -32600)),
        (body(request_id=1), (1, -32600)),
        (body(7, request_id=1), (1, -32600)),
        (body("run/list", request_id=1, params="x"), (1, -32600)),
        (body("run/list", request_id=1, params=7), (1, -32600)),
        (body("run/list", request_id=None), (None, -32600)),
        (body("run/list", request_id=True), (None, -32600)),
        (body("run/list", request_id=1.5), (None, -32600)),
        (body("run/list", request_id=2**70), (None, -32600)),
        (body("run/list", request_id={"a": 1}), (None, -32600)),
        (body("run/list", request_id=[1]), (None, -32600)),
    ],
)
def test_what_is_no_message_is_refused_and_the_stream_goes_on(
    raw: bytes, expected: tuple[Any, ...]
) -> None:
    gate = ready_gate()
    assert outline(gate.judge(raw)) == expected
    assert outline(gate.judge(body("run/list", request_id=2))) == (2, "run/list")
    assert gate.owed == 1


def test_half_a_surrogate_pair_is_refused_by_whom_it_concerns() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"method":"run/list","params":{"x":"\\ud800"}}'
    verdict = ready_gate().judge(raw)
    assert isinstance(verdict, Serve)
    assert verdict.params == {"x": "\ud800"}


@pytest.mark.parametrize("request_id", [0, -1, 2**53, "", "a", "0", "😀"])
def test_ids_are_given_back_as_they_are(request_id: Any) -> None:
    gate = ready_gate()
    assert outline(gate.judge(body("run/list", request_id=request_id))) == (request_id, "run/list")


@pytest.mark.parametrize("params", [None, {}, []])
def test_params_may_be_left_out(params: Any) -> None:
    verdict = ready_gate().judge(body("run/list", request_id=1, params=params))
    assert isinstance(verdict, Serve)
    assert verdict.params == params


def test_initialize_comes_first_and_once() -> None:
    gate = new_gate()
    assert outline(gate.judge(body("run/list", request_id=1))) == (1, -32002)
    assert outline(gate.judge(body("no/such", request_id=2))) == (2, -32002)
    assert outline(gate.judge(body("shutdown", request_id=3))) == (3, -32002)
    assert outline(gate.judge(body("initialized"))) == ("ignore",)
    assert outline(gate.judge(body("initialize", request_id=4))) == (4, "initialize")
    gate.close(4)
    assert outline(gate.judge(body("initialize", request_id=5))) == (5, -32600)
    assert outline(gate.judge(body("initialized"))) == ("initialized",)
    assert outline(gate.judge(body("run/list", request_id=6))) == (6, "run/list")


def test_a_failed_initialize_may_be_tried_again() -> None:
    gate = new_gate()
    gate.judge(body("initialize", request_id=1))
    gate.close(1)
    gate.reopen()
    assert outline(gate.judge(body("run/list", request_id=2))) == (2, -32002)
    assert outline(gate.judge(body("initialize", request_id=3))) == (3, "initialize")


def test_nothing_but_exit_comes_after_shutdown() -> None:
    gate = ready_gate()
    assert outline(gate.judge(body("shutdown", request_id=1))) == (1, "shutdown")
    assert gate.phase is Phase.CLOSING
    assert outline(gate.judge(body("run/list", request_id=2))) == (2, -32600)
    assert outline(gate.judge(body("no/such", request_id=3))) == (3, -32600)
    assert outline(gate.judge(body("initialize", request_id=4))) == (4, -32600)
    assert outline(gate.judge(body("initialized"))) == ("ignore",)
    assert outline(gate.judge(body("exit"))) == ("leave", 0)


def test_exit_without_shutdown_is_a_failure() -> None:
    assert outline(new_gate().judge(body("exit"))) == ("leave", 1)
    assert outline(ready_gate().judge(body("exit"))) == ("leave", 1)
    assert new_gate().exit_code == 1
    assert ready_gate().exit_code == 1


def test_what_is_not_known_is_refused_or_ignored() -> None:
    gate = ready_gate()
    assert outline(gate.judge(body("no/such/😀", request_id=1))) == (1, -32601)
    assert outline(gate.judge(body("$/no-such", request_id=2))) == (2, -32601)
    assert outline(gate.judge(body("exit", request_id=3))) == (3, -32601)
    assert outline(gate.judge(body("no/such"))) == ("ignore",)
    assert outline(gate.judge(body("$/no-such"))) == ("ignore",)
    assert outline(gate.judge(body("textDocument/didOpen", params={}))) == ("ignore",)
    assert gate.owed == 0


def test_a_request_without_an_id_is_not_carried_out() -> None:
    assert outline(ready_gate().judge(body("run/launch", params={}))) == ("ignore",)


def test_every_request_is_answered_once() -> None:
    gate = ready_gate()
    gate.judge(body("run/list", request_id="a"))
    assert gate.owed == 1
    assert gate.close("a")
    assert not gate.close("a")
    assert not gate.close("never asked")
    assert gate.owed == 0


def test_an_id_may_be_used_again_once_it_was_answered() -> None:
    gate = ready_gate()
    gate.judge(body("run/list", request_id=1))
    assert outline(gate.judge(body("run/list", request_id=1))) == (1, -32600)
    assert outline(gate.judge(body("run/list", request_id="1"))) == ("1", "run/list")
    gate.close(1)
    assert outline(gate.judge(body("run/list", request_id=1))) == (1, "run/list")


def test_cancelling_names_a_request_that_is_pending() -> None:
    gate = ready_gate()
    gate.judge(body("run/list", request_id=1))
    assert outline(gate.judge(body("$/cancelRequest", params={"id": 1}))) == ("cancel", 1)
    gate.close(1)
    assert outline(gate.judge(body("$/cancelRequest", params={"id": 1}))) == ("ignore",)
    odd: list[Any] = [{"id": 99}, {"id": None}, {"id": True}, {"id": {}}, {}, [], None]
    for params in odd:
        assert outline(gate.judge(body("$/cancelRequest", params=params))) == ("ignore",)


@pytest.mark.parametrize(
    "response",
    [
        {"jsonrpc": "2.0", "id": "ours", "result": None},
        {"jsonrpc": "2.0", "id": "ours", "error": {"code": -32601, "message": "no"}},
    ],
)
def test_responses_are_routed_and_never_answered(response: dict[str, Any]) -> None:
    raw = json.dumps(response).encode()
    assert new_gate().judge(raw) == Route(response)
    assert ready_gate().judge(raw) == Route(response)


@pytest.mark.parametrize("response_id", [None, {}, [1], 1.5, True])
def test_a_response_to_nothing_is_ignored(response_id: Any) -> None:
    raw = body(request_id=response_id, error={"code": -32700, "message": "no"})
    assert outline(ready_gate().judge(b'{"id":"ours","result":1}')) == ("ignore",)
    assert outline(ready_gate().judge(raw)) == ("ignore",)
