"""``$/cancelRequest``: exactly one answer, whenever it comes, and no run that is half there."""

from tests.support.each import each
from tests.support.expectations import TERMINAL_STATES
from tests.support.framing import encode, frame
from tests.support.rpc import Client
from tests.support.serving import Servers, SidecarClient, launch_of

CANCELLED = -32800


def cancel(client: Client, request_id: object) -> None:
    client.notify("$/cancelRequest", {"id": request_id})


def assert_answered_once(client: Client, request_id: int | str) -> None:
    # An answer that came twice would have come before the answer to what was asked after it.
    client.answer(request_id)
    client.sync()
    assert len(client.answers[request_id]) == 1


def test_a_waiting_request_is_answered_as_cancelled(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    waiting = client.post("run/wait", {"runIds": [run_id]})
    client.sync()
    cancel(client, waiting)
    assert client.answer(waiting)["error"]["code"] == CANCELLED
    assert_answered_once(client, waiting)
    assert client.stop(run_id)["state"] == "stopped"


def test_cancelled_twice_is_answered_once(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    waiting = client.post("run/wait", {"runIds": [run_id]})
    cancel(client, waiting)
    cancel(client, waiting)
    assert client.answer(waiting)["error"]["code"] == CANCELLED
    cancel(client, waiting)
    assert_answered_once(client, waiting)
    client.stop(run_id)


def test_a_waiting_stop_that_is_cancelled_has_still_been_asked_for(client: SidecarClient) -> None:
    # Taking back the wait does not take back the stop: the request is durable by then.
    run_id = client.launch("exec sleep 600")["runId"]
    stopping = client.post("run/stop", {"runId": run_id, "waitMs": 20_000})
    cancel(client, stopping)
    message = client.answer(stopping)
    assert message.get("error", {}).get("code") in (None, CANCELLED)
    assert_answered_once(client, stopping)
    run = client.get(run_id)
    if run["state"] not in TERMINAL_STATES and "stopping" not in run:
        client.stop(run_id)
    assert client.wait_over(run_id)[0]["state"] == "stopped"


@each("method", ["run/list", "server/status", "agent/list", "no/such"])
def test_a_short_request_is_answered_either_way(client: SidecarClient, method: str) -> None:
    # Whether the cancellation comes in time is nobody's promise; that there is one answer is.
    for number in range(20):
        name = f"{method}-{number}"
        request = encode({"jsonrpc": "2.0", "id": name, "method": method, "params": {}})
        cancellation = encode(
            {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": name}}
        )
        client.expect_answers_to(name)
        client.send(frame(request) + frame(cancellation))
        assert_answered_once(client, name)


@each("request_id", ["never-asked", 4711, None, 1.5, [1], {"a": 1}])
def test_cancelling_nothing_is_ignored(client: SidecarClient, request_id: object) -> None:
    cancel(client, request_id)
    client.sync()
    client.assert_all_read()


@each("params", [None, {}, [1], {"ID": 1}])
def test_a_cancellation_without_an_id_is_ignored(client: SidecarClient, params: object) -> None:
    client.notify("$/cancelRequest", params)
    client.sync()
    client.assert_all_read()


def test_cancelling_what_is_answered_already(client: SidecarClient) -> None:
    listing = client.post("run/list", {})
    client.answer(listing)
    cancel(client, listing)
    assert_answered_once(client, listing)


def test_a_cancelled_launch_never_was_or_is_answered_with_its_run(servers: Servers) -> None:
    client = servers.connect()
    observer = servers.connect()
    launched = set()
    for number in range(30):
        name = f"launch-{number}"
        request = encode(
            {"jsonrpc": "2.0", "id": name, "method": "run/launch", "params": launch_of("true")}
        )
        cancellation = encode(
            {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": name}}
        )
        client.expect_answers_to(name)
        # In one write, in two, and with something between them that has to be answered first.
        client.send(frame(request) + (frame(cancellation) if number % 3 == 0 else b""))
        if number % 3 == 1:
            client.sync()
        if number % 3:
            client.send(frame(cancellation))
        message = client.answer(name)
        if "result" in message:
            launched.add(message["result"]["run"]["runId"])
        else:
            assert message["error"]["code"] == CANCELLED
        assert_answered_once(client, name)
    client.wait_over(*launched)
    assert {run["runId"] for run in observer.list(scope="all", limit=1000)} == launched


def test_a_cancelled_launch_does_not_cancel_its_neighbours(client: SidecarClient) -> None:
    names = [client.post("run/launch", launch_of("true")) for _ in range(5)]
    for name in names[::2]:
        cancel(client, name)
    runs = [client.answer(name) for name in names]
    assert all("result" in message for message in runs[1::2])
    client.wait_over(*(m["result"]["run"]["runId"] for m in runs if "result" in m))
