"""``initialize``, ``shutdown`` and ``exit``: in order, out of order, twice, and not at all."""

from typing import Any

from tests.support.serving import Servers, SidecarClient

NOT_INITIALIZED = -32002
INVALID_REQUEST = -32600


def test_requests_before_initialize_are_refused(servers: Servers) -> None:
    client = servers.start()
    for method in ("run/list", "run/launch", "server/status", "shutdown", "no/such"):
        assert client.refusal(method, {})["code"] == NOT_INITIALIZED
    client.initialize()
    client.sync()


def test_notifications_before_initialize_are_dropped(servers: Servers) -> None:
    client = servers.start()
    client.notify("workspace/didChangeConfiguration", {"settings": {}})
    client.notify("initialized", {})
    client.initialize()
    client.sync()


def test_initialize_says_who_is_there(servers: Servers) -> None:
    client = servers.start()
    result = client.initialize()
    assert result["serverInfo"]["name"] == "sidecar"
    assert result["serverInfo"]["version"]
    ours = result["capabilities"]["experimental"]["sidecar"]
    assert ours["protocolVersion"] == "1"
    requests = [
        "run/launch", "run/stop", "run/dismiss", "run/undismiss", "run/get", "run/list", "run/wait",
        "run/events", "run/output", "run/result", "run/subscribe", "run/unsubscribe", "run/remove",
        "agent/list", "server/status",
    ]  # fmt: skip
    assert set(requests) <= set(ours["methods"])
    assert {"run/status", "run/output", "run/notice"} <= set(ours["notifications"])
    command = next(agent for agent in ours["agents"] if agent["name"] == "command")
    assert command["available"] is True
    commands = result["capabilities"]["executeCommandProvider"]["commands"]
    mirrored = [name for name in requests if name.startswith("run/")]
    assert {f"sidecar.{name.replace('/', '.')}" for name in mirrored} <= set(commands)


def test_initialize_is_answered_before_initialized_is_sent(servers: Servers) -> None:
    # Some clients ask at once, before they have told that they are ready.
    client = servers.start()
    client.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert client.list() == []


def test_a_second_initialize_is_refused_and_changes_nothing(client: SidecarClient) -> None:
    params: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
    assert client.refusal("initialize", params)["code"] == INVALID_REQUEST
    client.sync()


def test_unknown_initialize_fields_of_editors_are_taken(servers: Servers) -> None:
    # LSP grows, and editors send more than the specification knows.
    client = servers.start()
    client.initialize(
        params={
            "clientInfo": {"name": "an editor", "version": "1"},
            "locale": "de",
            "trace": "verbose",
            "rootPath": None,
            "workspaceFolders": None,
            "workDoneToken": "1",
            "newIn318": {"a": [1]},
        }
    )
    client.sync()


def test_initialize_without_any_params_field_is_not_the_end(servers: Servers) -> None:
    # Strictly it may be refused; it must be answered, and the next one must work.
    client = servers.start()
    message = client.answer(client.post("initialize", {}))
    if "error" in message:
        client.initialize()
    client.sync()


def test_shutdown_answers_null_and_exit_ends_with_zero(servers: Servers) -> None:
    client = servers.start()
    client.initialize()
    assert client.call("shutdown") is None
    client.notify("exit")
    assert client.wait_end() == 0


def test_requests_after_shutdown_are_refused(servers: Servers) -> None:
    client = servers.start()
    client.initialize()
    client.call("shutdown")
    for method in ("run/list", "shutdown", "initialize", "no/such"):
        assert client.refusal(method, {})["code"] == INVALID_REQUEST
    client.notify("exit")
    assert client.wait_end() == 0


def test_exit_without_shutdown_ends_with_one(servers: Servers) -> None:
    client = servers.start()
    client.initialize()
    client.notify("exit")
    assert client.wait_end() == 1


def test_exit_as_the_first_message_ends_with_one(servers: Servers) -> None:
    client = servers.start()
    client.notify("exit")
    assert client.wait_end() == 1


def test_exit_with_params_and_shutdown_with_params(servers: Servers) -> None:
    # Both take none; clients send null, {} or nothing.
    client = servers.start()
    client.initialize()
    client.send_json({"jsonrpc": "2.0", "id": "bye", "method": "shutdown", "params": None})
    client.expect_answers_to("bye")
    assert client.result("bye") is None
    client.notify("exit", {})
    assert client.wait_end() == 0


def test_what_is_under_way_at_shutdown_is_answered_once(servers: Servers) -> None:
    client = servers.connect()
    run_id = client.launch("exec sleep 600")["runId"]
    waiting = client.post("run/wait", {"runIds": [run_id]})
    client.call("shutdown")
    client.notify("exit")
    assert client.wait_end() == 0
    assert len(client.answers.get(waiting, [])) == 1
    client.answer(waiting)
    servers.connect().stop(run_id)


def test_the_state_directory_can_be_given_in_the_options(servers: Servers) -> None:
    client = servers.start(env={"SIDECAR_STATE_DIR": None})
    client.initialize(stateDir=str(servers.state_dir))
    run = client.run_to_end("true")
    assert (servers.state_dir / "runs" / run["runId"]).is_dir()
    assert client.call("server/status", {})["stateDir"] == str(servers.state_dir)


def test_without_a_session_the_workspace_folder_names_it(servers: Servers) -> None:
    # A reopened window must find its own runs, and another folder is another session.
    def connect(folder: str | None) -> SidecarClient:
        client = servers.start()
        folders = [{"uri": f"file://{folder}", "name": "it"}] if folder is not None else None
        client.initialize(session=None, params={"workspaceFolders": folders})
        return client

    root = servers.state_dir.parent
    (root / "one project").mkdir()
    (root / "other").mkdir()
    first, again = connect(f"{root}/one%20project"), connect(f"{root}/one%20project")
    other, nowhere = connect(f"{root}/other"), connect(None)
    sessions = [c.run_to_end("true")["sessionId"] for c in (first, again, other, nowhere)]
    assert sessions[0] == sessions[1]
    assert sessions[3] == "default"
    assert len(set(sessions)) == 3


def test_an_old_client_names_its_folder_by_root_uri(servers: Servers) -> None:
    folder = servers.state_dir.parent.as_uri()
    new, old = servers.start(), servers.start()
    new.initialize(session=None, params={"workspaceFolders": [{"uri": folder, "name": "it"}]})
    old.initialize(session=None, params={"rootUri": folder})
    assert new.run_to_end("true")["sessionId"] == old.run_to_end("true")["sessionId"]
