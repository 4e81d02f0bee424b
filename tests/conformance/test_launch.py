"""``run/launch``: durable when it is answered, seen by everybody at once, or nothing at all."""

import os
import signal
from pathlib import Path
from typing import Any

from tests.support.each import each
from tests.support.serving import Gate, Servers, SidecarClient, launch_of

OWN_ID = "0198c0de-0000-7000-8000-00000000abcd"


def entries(state_dir: Path) -> list[str]:
    """Everything that a launch could leave behind."""
    places = ("runs", "active", "staging")
    return sorted(str(path) for place in places for path in (state_dir / place).glob("*"))


def test_the_answer_holds_the_run(client: SidecarClient) -> None:
    run = client.launch("exec sleep 600", label="a label", cwd="/")
    assert run["state"] in ("queued", "running")
    assert run["mode"] == "single"
    assert run["label"] == "a label"
    assert run["cwd"] == "/"
    assert run["sessionId"] == "the-session"
    assert run["revision"] >= 1
    assert isinstance(run["createdAt"], int)
    assert run["proof"] == {"state": "pending"}
    assert [(step["index"], step["agent"]) for step in run["steps"]] == [(0, "command")]
    ended = client.stop(run["runId"])
    assert ended["state"] == "stopped"


def test_a_second_server_sees_the_run_at_once(servers: Servers) -> None:
    launcher, observer = servers.connect(), servers.connect(session="another")
    for _ in range(10):
        run = launcher.launch("true")
        seen = observer.get(run["runId"])
        assert (seen["runId"], seen["sessionId"]) == (run["runId"], "the-session")
        assert seen["revision"] >= run["revision"]


def test_an_id_can_be_chosen_once(client: SidecarClient) -> None:
    run = client.launch("true", runId=OWN_ID)
    assert run["runId"] == OWN_ID
    client.wait_over(OWN_ID)
    error = client.refusal("run/launch", launch_of("true", runId=OWN_ID))
    assert error["data"]["field"] == "runId"
    assert [item["runId"] for item in client.list(scope="all")] == [OWN_ID]


@each(
    ("launch", "field"),
    [
        ({"step": {"agent": "no-such-agent", "prompt": "x"}}, "step.agent"),
        ({"step": {"agent": "command"}}, "step.command"),
        ({"step": {"agent": "command", "command": []}}, "step.command"),
        ({"step": {"agent": "command", "command": [""]}}, "step.command"),
        ({"step": {"agent": "command", "shell": ""}}, "step.shell"),
        ({"step": {"agent": "command", "shell": "x", "command": ["x"]}}, "step.command"),
        ({"step": {"agent": "command", "command": ["a\0b"]}}, "step.command[0]"),
        ({"step": {"agent": "command", "command": ["a", "\ud800"]}}, "step.command[1]"),
        ({"step": {"agent": "command", "command": ["a", "x" * 200_000]}}, "step.command[1]"),
        (launch_of("true", cwd="/no/such/directory"), "cwd"),
        (launch_of("true", cwd="/dev/null"), "cwd"),
        (launch_of("true", step={"cwd": "/no/such/directory"}), "step.cwd"),
        (launch_of("true", env={"A": "a\0b"}), "env.A"),
        (launch_of("true", env={"A=B": "x"}), "env.A=B"),
        (launch_of("true", step={"env": {"A": "a\0b"}}), "step.env.A"),
        (launch_of("true", label="x" * 201), "label"),
        (launch_of("true", step={"label": "x" * 201}), "step.label"),
        (launch_of("true", timeoutMs=0), "timeoutMs"),
        (launch_of("true", timeoutMs=2**31), "timeoutMs"),
        (launch_of("true", runId="not-an-id"), "runId"),
        (launch_of("true", clientToken=""), "clientToken"),
        (launch_of("true", clientToken="x" * 257), "clientToken"),
        (launch_of("true", sessionId=""), "sessionId"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_exists(
    client: SidecarClient, state_dir: Path, launch: dict[str, Any], field: str
) -> None:
    before = entries(state_dir)
    # A lone surrogate has to be escaped: it is no UTF-8.
    error = client.answer(client.post_ascii("run/launch", launch))["error"]
    assert error["code"] in (-32602, -32803), error
    assert error["data"]["field"] == field
    assert error["message"]
    assert entries(state_dir) == before


@each(
    "shapes",
    [
        (),
        ("step", "chain"),
        ("step", "parallel"),
        ("chain", "parallel"),
        ("step", "chain", "parallel"),
    ],
)
def test_exactly_one_shape(client: SidecarClient, shapes: tuple[str, ...]) -> None:
    step = {"agent": "command", "shell": "true"}
    every = {"step": step, "chain": [step], "parallel": [step]}
    error = client.refusal("run/launch", {name: every[name] for name in shapes})
    assert error["code"] in (-32602, -32803), error
    assert error["data"]["code"] == "invalid-params"
    assert client.list(scope="all") == []


def test_the_longest_label_is_taken(client: SidecarClient) -> None:
    label = "\u00e9" * 200
    assert client.run_to_end("true", label=label)["label"] == label


def test_a_token_names_one_run(client: SidecarClient) -> None:
    first = client.launch("echo once", clientToken="again")
    second = client.launch("echo once", clientToken="again")
    assert second["runId"] == first["runId"]
    client.wait_over(first["runId"])
    third = client.launch("echo once", clientToken="again")
    assert (third["runId"], third["state"]) == (first["runId"], "complete")
    assert len(client.list(scope="all")) == 1


def test_a_token_belongs_to_a_session(servers: Servers) -> None:
    one, two = servers.connect(session="one"), servers.connect(session="two")
    runs = [client.launch("true", clientToken="same") for client in (one, two)]
    assert runs[0]["runId"] != runs[1]["runId"]
    one.wait_over(*(run["runId"] for run in runs))


def test_a_launch_can_be_put_into_another_session(servers: Servers) -> None:
    one, two = servers.connect(session="one"), servers.connect(session="two")
    run = one.launch("exec sleep 600", sessionId="two")
    assert run["sessionId"] == "two"
    two.stop(run["runId"])


def test_a_deadline_ends_the_run(client: SidecarClient) -> None:
    run = client.run_to_end("exec sleep 600", timeoutMs=300)
    assert (run["state"], run["reason"]) == ("failed", "deadline")
    assert run["proof"]["state"] == "observed"


def test_a_deadline_of_the_step_ends_the_run(client: SidecarClient) -> None:
    run = client.run_to_end("exec sleep 600", step={"timeoutMs": 300})
    assert (run["state"], run["reason"]) == ("failed", "deadline")


def test_an_agent_that_stands_still_holds_nobody_up(servers: Servers, tmp_path: Path) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run = client.launch(gate.wait)
    running = client.call("run/wait", {"runIds": [run["runId"]], "timeoutMs": 0})
    assert running["timedOut"] is True
    agent = client.agent(run["runId"])
    os.kill(agent, signal.SIGSTOP)
    other = client.run_to_end("echo other")
    assert other["state"] == "complete"
    os.kill(agent, signal.SIGCONT)
    gate.open()
    assert client.wait_over(run["runId"])[0]["state"] == "complete"
