"""``workspace/executeCommand``: every ``run/x`` for clients that can send nothing of their own."""

from typing import Any

from tests.support.each import each
from tests.support.serving import Servers, SidecarClient, launch_of


def command(client: SidecarClient, name: str, *arguments: object) -> Any:
    params = {"command": f"sidecar.run.{name}", "arguments": list(arguments)}
    return client.call("workspace/executeCommand", params)


def test_a_whole_session_by_commands_alone(client: SidecarClient) -> None:
    run_id = command(client, "launch", launch_of("echo it; echo no >&2"))["run"]["runId"]
    of_run = {"runId": run_id}
    waited = command(client, "wait", {"runIds": [run_id]})
    assert waited["runs"][0]["state"] == "complete"
    assert command(client, "get", of_run) == client.call("run/get", of_run)
    assert command(client, "list", {"scope": "all"}) == client.call("run/list", {"scope": "all"})
    assert command(client, "events", of_run) == client.call("run/events", of_run)
    assert command(client, "output", of_run)["text"] == "it\n"
    assert command(client, "result", of_run) == client.call("run/result", of_run)
    assert command(client, "stop", of_run)["run"]["state"] == "complete"
    assert "dismissedAt" in command(client, "dismiss", of_run)["run"]
    assert "dismissedAt" not in command(client, "undismiss", of_run)["run"]
    assert command(client, "subscribe", of_run | {"stream": "stderr"}) == {}
    assert command(client, "unsubscribe", of_run) == {}
    client.unread("run/output")
    assert command(client, "remove", of_run) == {}


def test_every_request_has_its_command(servers: Servers) -> None:
    client = servers.start()
    result = client.initialize()["capabilities"]
    methods = result["experimental"]["sidecar"]["methods"]
    commands = result["executeCommandProvider"]["commands"]
    expected = {f"sidecar.{name.replace('/', '.')}" for name in methods if name.startswith("run/")}
    assert expected <= set(commands)
    for name in commands:
        # With an argument that no request takes: the command is known, and its params are checked.
        params = {"command": name, "arguments": [{"noSuchField": 1}]}
        error = client.refusal("workspace/executeCommand", params)
        assert error["data"]["field"] in ("noSuchField", "runId", "step"), (name, error)


def test_errors_are_those_of_the_request(client: SidecarClient) -> None:
    params = {"runId": "0198c0de-0000-7000-8000-000000000000"}
    direct = client.refusal("run/get", params)
    by_command = client.refusal(
        "workspace/executeCommand", {"command": "sidecar.run.get", "arguments": [params]}
    )
    assert by_command == direct


@each("arguments", [None, []])
def test_no_argument_is_an_empty_one(client: SidecarClient, arguments: object) -> None:
    params: dict[str, object] = {"command": "sidecar.run.list"}
    if arguments is not None:
        params["arguments"] = arguments
    assert client.call("workspace/executeCommand", params) == {"runs": []}


@each("arguments", [[{}, {}], [1], ["x"], [[]]])
def test_more_or_other_arguments_are_refused(client: SidecarClient, arguments: list[Any]) -> None:
    params = {"command": "sidecar.run.list", "arguments": arguments}
    assert client.refusal("workspace/executeCommand", params)["code"] == -32602


@each("name", ["sidecar.run.nosuch", "other", "", "run/list"])
def test_an_unknown_command_is_refused(client: SidecarClient, name: str) -> None:
    error = client.refusal("workspace/executeCommand", {"command": name, "arguments": [{}]})
    assert error["code"] in (-32601, -32602)


def test_a_command_can_be_cancelled_like_its_request(client: SidecarClient) -> None:
    run_id = client.launch("exec sleep 600")["runId"]
    params = {"command": "sidecar.run.wait", "arguments": [{"runIds": [run_id]}]}
    waiting = client.post("workspace/executeCommand", params)
    client.sync()
    client.notify("$/cancelRequest", {"id": waiting})
    assert client.answer(waiting)["error"]["code"] == -32800
    client.stop(run_id)
