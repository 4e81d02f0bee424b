"""Ids that would be paths, files that would be everybody's, links to somebody's files."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.each import each
from tests.support.serving import Gate, Servers, SidecarClient, launch_of
from tests.support.wait import wait_until

TRICKS = [
    "../../etc/passwd",
    "..",
    ".",
    "/etc",
    "%2e%2e%2f%2e%2e%2f",
    "..%2f..%2fetc",
    "..\\..\\",
    "\u2025/\u2025",
    "\uff0e\uff0e\uff0f",
    "0198c0de/../..",
    "0198c0de\0",
    "0198c0de\n",
    "0198C0DE-0000-7000-8000-000000000000",
    "0" * 5000,
    "*",
    "????",
    "[0-9]",
    "-rf",
    "\ud800\ud800\ud800\ud800",
]

BECOMES = ("link", "directory", "nothing")

METHODS = [
    "run/get", "run/events", "run/output", "run/result", "run/stop", "run/dismiss", "run/undismiss",
    "run/remove", "run/subscribe", "run/unsubscribe",
]  # fmt: skip


def open_modes(state_dir: Path) -> list[str]:
    """What anybody but the owner may do anything with; links have no modes of their own."""
    command = ["find", str(state_dir), "!", "-type", "l", "-perm", "/077"]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return found.stdout.splitlines()


def plant_canary(tmp_path: Path) -> Path:
    canary = tmp_path / "canary"
    canary.write_text("untouched")
    return canary


@each("trick", TRICKS)
def test_an_id_is_never_a_path(client: SidecarClient, state_dir: Path, trick: str) -> None:
    before = [path for path in state_dir.rglob("*") if path.is_file()]
    for method in METHODS:
        message = client.answer(client.post_ascii(method, {"runId": trick}))
        assert message["error"]["code"] == -32602, (method, message)
        assert message["error"]["data"]["field"] == "runId"
    launch = launch_of("true", runId=trick)
    assert (
        client.answer(client.post_ascii("run/launch", launch))["error"]["data"]["field"] == "runId"
    )
    parent = launch_of("true", parentRunId=trick)
    message = client.answer(client.post_ascii("run/launch", parent))
    assert message["error"]["data"]["field"] == "parentRunId"
    assert [path for path in state_dir.rglob("*") if path.is_file()] == before


@each("session", ["../../x", "/etc/passwd", "a/b", "..", "x" * 256, "\u00e9"])
def test_a_session_or_token_is_never_a_path(
    client: SidecarClient, state_dir: Path, session: str
) -> None:
    run = client.run_to_end("true", sessionId=session, clientToken=session)
    assert run["sessionId"] == session
    assert all(len(path.name) < 80 for path in (state_dir / "tokens").iterdir())
    places = {path.name for path in state_dir.iterdir()}
    assert places <= {"active", "doorbells", "runs", "staging", "tokens"}


@pytest.mark.parametrize("mask", ["000", "777"])
def test_nothing_is_open_to_others_whatever_the_umask(
    servers: Servers, state_dir: Path, tmp_path: Path, mask: str
) -> None:
    state_dir.rmdir()
    client = servers.start(wrapper=["sh", "-c", f'umask {mask}; exec "$@"', "sh"])
    client.initialize()
    gate = Gate(tmp_path / "gate")
    run_id = client.launch(f"echo it; {gate.wait}", step={"prompt": "private"})["runId"]
    client.wait_text(run_id, "it\n")
    assert open_modes(state_dir) == []
    client.call("run/stop", {"runId": run_id})
    run = client.wait_over(run_id)[0]
    client.call("run/dismiss", {"runId": run["runId"]})
    client.run_to_end("true", clientToken="token")
    assert open_modes(state_dir) == []


def test_a_state_directory_that_others_may_write_is_refused_or_closed(
    servers: Servers, state_dir: Path
) -> None:
    state_dir.chmod(0o777)
    client = servers.connect()
    message = client.answer(client.post("run/launch", launch_of("true")))
    if "error" in message:
        assert message["error"]["data"]["code"] == "storage"
        assert str(state_dir) in message["error"]["message"]
    else:
        client.wait_over(message["result"]["run"]["runId"])
        assert open_modes(state_dir) == []


def test_a_state_directory_that_is_a_link_to_another_is_used_or_refused(
    servers: Servers, state_dir: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "canary").write_text("untouched")
    state_dir.rmdir()
    state_dir.symlink_to(elsewhere)
    client = servers.connect()
    message = client.answer(client.post("run/launch", launch_of("true")))
    if "result" in message:
        client.wait_over(message["result"]["run"]["runId"])
    else:
        assert message["error"]["data"]["code"] == "storage"
    assert (elsewhere / "canary").read_text() == "untouched"


def test_a_run_directory_that_is_a_link_is_not_followed(
    servers: Servers, state_dir: Path, tmp_path: Path
) -> None:
    client = servers.connect()
    run_id = client.run_to_end("true")["runId"]
    elsewhere = tmp_path / "elsewhere"
    (state_dir / "runs" / run_id).rename(elsewhere)
    (state_dir / "runs" / run_id).symlink_to(elsewhere)
    content = {path.name: path.read_bytes() for path in elsewhere.iterdir() if path.is_file()}
    for method in ("run/dismiss", "run/remove"):
        client.answer(client.post(method, {"runId": run_id}))
    kept = {path.name: path.read_bytes() for path in elsewhere.iterdir() if path.is_file()}
    assert {name: kept.get(name) for name in content} == content


@each("name", ["status.json", "events.jsonl", "result.json", "runner.log"])
def test_a_file_of_a_live_run_that_becomes_a_link(
    client: SidecarClient, state_dir: Path, tmp_path: Path, name: str
) -> None:
    gate, canary = Gate(tmp_path / f"gate-{name}"), plant_canary(tmp_path)
    run_id = client.launch(f"{gate.wait}; echo more; echo more >&2")["runId"]
    client.agent(run_id)
    path = state_dir / "runs" / run_id / name
    path.unlink(missing_ok=True)
    path.symlink_to(canary)
    gate.open()
    wait_until(
        lambda: not (state_dir / "active" / run_id).exists() or name == "events.jsonl",
        what="the end of the run",
    )
    assert canary.read_text() == "untouched"
    if (state_dir / "active" / run_id).exists():
        client.call("run/stop", {"runId": run_id})


@each(
    ("name", "becomes"),
    [(name, what) for name in ("stdout.log", "stderr.log", "warden") for what in BECOMES],
)
def test_a_file_of_an_attempt_that_is_replaced(
    client: SidecarClient, state_dir: Path, tmp_path: Path, name: str, becomes: str
) -> None:
    canary = plant_canary(tmp_path)
    gate = Gate(tmp_path / f"gate-{name}-{becomes}")
    run_id = client.launch(f"{gate.wait}; echo more; echo more >&2")["runId"]
    client.agent(run_id)
    path = state_dir / "runs" / run_id / "steps" / "0" / "1" / name
    path.unlink()
    match becomes:
        case "link":
            path.symlink_to(canary)
        case "directory":
            path.mkdir()
        case _:
            pass
    gate.open()
    assert client.wait_over(run_id)[0]["steps"][0]["exitCode"] == 0
    assert canary.read_text() == "untouched"
    message = client.answer(client.post("run/output", {"runId": run_id}))
    assert "untouched" not in str(message)


def test_links_in_the_way_of_temporary_names(
    servers: Servers, state_dir: Path, tmp_path: Path
) -> None:
    # Whatever a temporary name may be made of: the file's own name and the usual endings.
    client, gate, canary = servers.connect(), Gate(tmp_path / "gate"), plant_canary(tmp_path)
    run_id = client.launch(f"{gate.wait}; echo more")["runId"]
    agent = client.agent(run_id)
    run_dir = state_dir / "runs" / run_id
    for name in ("status.json", "result.json", "dismissed.json"):
        for ending in ("tmp", "new", "bak", "swp", str(agent), str(os.getpid())):
            for planted in (f"{name}.{ending}", f".{name}.{ending}", f"{name}~"):
                if not (run_dir / planted).is_symlink():
                    (run_dir / planted).symlink_to(canary)
    gate.open()
    run = client.wait_over(run_id)[0]
    client.call("run/dismiss", {"runId": run_id})
    assert run["state"] == "complete"
    assert canary.read_text() == "untouched"
    for path in run_dir.rglob("*"):
        if path.is_symlink():
            path.unlink()


def test_a_plan_of_another_is_not_carried_out(servers: Servers, state_dir: Path) -> None:
    # A half-built run that somebody else put there is swept or left alone, never started.
    client = servers.connect()
    run_id = client.run_to_end("true")["runId"]
    planted = state_dir / "staging" / "0198c0de-0000-7000-8000-000000000000"
    planted.mkdir(mode=0o700)
    (planted / "request.json").write_bytes(
        (state_dir / "runs" / run_id / "request.json").read_bytes()
    )
    assert client.run_to_end("sleep 3")["state"] == "complete"
    assert len(client.list(scope="all")) == 2
    for path in planted.glob("*"):
        path.unlink()
    if planted.exists():
        planted.rmdir()
