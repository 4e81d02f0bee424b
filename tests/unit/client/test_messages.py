"""What a client writes is a frame of JSON-RPC; what it hears is one of five things."""

from typing import Any

import orjson
import pytest

from sidecar.client import messages
from sidecar.client.messages import Answered, Asked, Declined, Nonsense, Told
from sidecar.core import policy
from sidecar.core.errors import InvalidParams, NotFound
from sidecar.wire.framing import Decoder


def said(frame: bytes) -> Any:
    """The only message in these bytes."""
    (body,) = Decoder().feed(frame)
    assert isinstance(body, bytes)
    return orjson.loads(body)


def test_a_request() -> None:
    assert said(messages.request(7, "run/get", {"runId": "0190ü"})) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "run/get",
        "params": {"runId": "0190ü"},
    }


def test_params_may_be_left_out() -> None:
    assert said(messages.request(7, "shutdown", None)) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "shutdown",
    }
    assert said(messages.notification("exit", None)) == {"jsonrpc": "2.0", "method": "exit"}


def test_a_request_of_the_server_is_declined() -> None:
    answer = said(messages.declined("one", "workspace/configuration"))
    assert answer["id"] == "one"
    assert answer["error"]["code"] == -32601


@pytest.mark.parametrize("odd", ["\udcff", object(), 2**70])
def test_what_json_cannot_say_is_refused_here(odd: object) -> None:
    with pytest.raises(InvalidParams):
        messages.request(1, "run/launch", {"label": odd})


def test_what_a_server_would_skip_is_refused_here() -> None:
    # It would be answered without an id: nobody would ever be told.
    with pytest.raises(InvalidParams, match="a request of"):
        messages.request(1, "run/launch", {"prompt": "x" * policy.MESSAGE_MAX_BYTES})


def test_an_answer() -> None:
    assert messages.incoming(b'{"jsonrpc":"2.0","id":3,"result":{"a":1}}') == Answered(
        request_id=3, result={"a": 1}
    )
    assert messages.incoming(b'{"id":3,"result":null}') == Answered(request_id=3, result=None)


def test_a_refusal() -> None:
    heard = messages.incoming(
        b'{"id":3,"error":{"code":-32803,"message":"no run","data":{"code":"not-found"}}}'
    )
    assert isinstance(heard, Declined)
    assert heard.request_id == 3
    assert isinstance(heard.error, NotFound)


def test_a_notification_and_a_request() -> None:
    assert messages.incoming(b'{"method":"run/status","params":{"run":{}}}') == Told(
        method="run/status", params={"run": {}}
    )
    assert messages.incoming(b'{"id":"x","method":"ask"}') == Asked(request_id="x", method="ask")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b'{"id":"not ours","result":1}',
        b'{"id":3}',
        b'{"id":null,"error":{"code":-32700,"message":"what?"}}',
    ],
)
def test_nonsense(body: bytes) -> None:
    assert isinstance(messages.incoming(body), Nonsense)
