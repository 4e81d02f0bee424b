"""Arguments, directories and environments arrive as they were given, and nothing else does."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.marks import CHILDREN
from tests.support.serving import Gate, Servers, SidecarClient, launch_of

DESCRIBE = str(CHILDREN / "describe.py")
SECRET = "s3cr3t-in-no-file-but-the-request"

# What marks a surrounding agent session, and what belongs to the launching process alone.
SURROUNDING = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_SESSION_ID": "x",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CODEX_THREAD_ID": "y",
    "CODEX_SANDBOX": "z",
    "GEMINI_CLI": "1",
    "OPENCODE": "1",
    "NOTIFY_SOCKET": "/nowhere",
    "LISTEN_FDS": "3",
}
KEPT = {"VIRTUAL_ENV": "/x", "MY_API_KEY": "the user's own", "LD_PRELOAD": "", "EMPTY": ""}


def described(client: SidecarClient, *args: str, **fields: Any) -> dict[str, Any]:
    """What an agent says of its own circumstances."""
    run = client.run_to_end(command=[sys.executable, "-I", DESCRIBE, *args], **fields)
    assert run["state"] == "complete", run
    told: dict[str, Any] = json.loads(client.text(run["runId"]))
    return told


def test_a_state_directory_that_cannot_be(servers: Servers, state_dir: Path) -> None:
    # Below /dev/null every mkdir fails, for root, too. The server answers, and says why it cannot.
    nowhere = {
        "SIDECAR_STATE_DIR": None,
        "HOME": "/dev/null/home",
        "XDG_STATE_HOME": "/dev/null/s",
        "XDG_RUNTIME_DIR": "/dev/null/r",
        "TMPDIR": "/dev/null/t",
    }
    cwd = state_dir.parent / "cwd"
    cwd.mkdir()
    client = servers.start(env=nowhere, cwd=cwd)
    client.initialize()
    assert client.list(scope="all") == []
    error = client.refusal("run/launch", launch_of("true"))
    assert (error["code"], error["data"]["code"]) == (-32803, "storage")
    assert "/dev/null/s" in error["message"]
    assert client.refusal("run/get", {"runId": "ffff"})["data"]["code"] == "not-found"
    assert list(cwd.iterdir()) == []


def test_marks_of_a_surrounding_session_are_dropped(servers: Servers) -> None:
    client = servers.start(env=SURROUNDING | KEPT)
    client.initialize()
    env = described(client, env={"ASKED": "for"})["env"]
    assert set(env).isdisjoint(SURROUNDING)
    assert {name: env[name] for name in KEPT} == KEPT
    assert env["ASKED"] == "for"
    ours = {name for name in env if name.startswith("SIDECAR_")}
    assert ours <= {"SIDECAR_RUN_ID", "SIDECAR_SESSION", "SIDECAR_STATE_DIR"}


def test_what_is_asked_for_wins(servers: Servers) -> None:
    client = servers.start(env={"A": "server", "B": "server", "C": "server"})
    client.initialize()
    env = described(
        client,
        env={"B": "run", "C": "run", "CLAUDECODE": "meant"},
        step={"env": {"C": "step", "D": "\u00e9\n\t'\"$(x)"}},
    )["env"]
    assert (env["A"], env["B"], env["C"], env["CLAUDECODE"]) == ("server", "run", "step", "meant")
    assert env["D"] == "\u00e9\n\t'\"$(x)"


def test_an_environment_that_is_broken_for_python_does_not_break_the_run(
    servers: Servers, tmp_path: Path
) -> None:
    # The runner starts without the environment of whoever launches; the agent gets it all.
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "sitecustomize.py").write_text("raise SystemExit('the trap')\n")
    (trap / "json.py").write_text("raise SystemExit('the trap')\n")
    broken = {"PYTHONPATH": str(trap), "PYTHONHOME": "/nonexistent"}
    client = servers.connect()
    run = client.run_to_end("echo $PYTHONPATH; echo $PYTHONHOME", env=broken)
    assert run["state"] == "complete"
    assert client.text(run["runId"]) == f"{trap}\n/nonexistent\n"


def test_secrets_are_in_no_file_but_the_request(client: SidecarClient, state_dir: Path) -> None:
    run = client.run_to_end(
        "cat >/dev/null", env={"KEY": SECRET}, step={"prompt": SECRET, "env": {"KEY2": SECRET}}
    )
    run_dir = state_dir / "runs" / run["runId"]
    holding = {
        path.relative_to(run_dir).as_posix()
        for path in run_dir.rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    }
    assert holding <= {"request.json"}
    elsewhere = [
        path
        for path in state_dir.rglob("*")
        if path.is_file() and run_dir not in path.parents and SECRET.encode() in path.read_bytes()
    ]
    assert elsewhere == []


def test_secrets_are_in_no_command_line(client: SidecarClient, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run_id = client.launch(gate.wait, env={"KEY": SECRET}, step={"prompt": SECRET})["runId"]
    client.agent(run_id)
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(SECRET.encode() in line for line in lines)
    gate.open()
    client.wait_over(run_id)


def test_a_directory_with_blanks_and_quotes(client: SidecarClient, tmp_path: Path) -> None:
    odd = tmp_path / "dir with blanks and 'quotes' \"both\" $HOME `x` \u00e9"
    odd.mkdir()
    program = odd / "my describe.py"
    shutil.copy(DESCRIBE, program)
    program.write_text(f"#!{sys.executable}\n" + program.read_text())
    program.chmod(0o755)
    run = client.run_to_end(command=[str(program), "a b", "", "*", "$HOME"], cwd=str(odd))
    told = json.loads(client.text(run["runId"]))
    assert told["args"] == ["a b", "", "*", "$HOME"]
    assert told["cwd"] == run["cwd"] == str(odd)
    assert sorted(path.name for path in odd.iterdir()) == ["my describe.py"]


def test_arguments_beyond_ascii(client: SidecarClient) -> None:
    args = ["caf\u00e9", "\U0001f680", "\u202e", "tab\there", "new\nline", "-"]
    assert described(client, *args)["args"] == args


def test_forty_arguments_of_five_kib(client: SidecarClient) -> None:
    args = [chr(ord("a") + n % 26) * 5120 for n in range(40)]
    assert described(client, *args)["args"] == args


def test_the_longest_argument_that_the_kernel_takes(client: SidecarClient) -> None:
    longest = "x" * (128 * 1024 - 1)
    assert described(client, longest)["args"] == [longest]


def test_a_relative_directory_is_refused(client: SidecarClient) -> None:
    for cwd in ("here", "./here", "../x", ""):
        error = client.refusal("run/launch", launch_of("true", cwd=cwd))
        assert error["data"]["field"] == "cwd", cwd


def test_a_directory_that_is_deleted_before_the_start(
    client: SidecarClient, state_dir: Path, tmp_path: Path
) -> None:
    # The kernel's own word at chdir, since the check at launch was passed: the race is run often
    # enough to be met, and both sides of it are right.
    states = set()
    for number in range(20):
        cwd = tmp_path / f"cwd-{number}"
        cwd.mkdir()
        launching = client.post("run/launch", launch_of("true", cwd=str(cwd)))
        if number % 2:
            run_id = client.result(launching)["run"]["runId"]
            shutil.rmtree(cwd)
        else:
            shutil.rmtree(cwd)
            message = client.answer(launching)
            if "error" in message:
                assert message["error"]["data"]["field"] == "cwd"
                continue
            run_id = message["result"]["run"]["runId"]
        run = client.wait_over(run_id)[0]
        states.add(run["state"])
        if run["state"] == "failed":
            assert run["reason"] == "spawn-failed"
            assert str(cwd) in run["error"]["message"]
    assert states <= {"complete", "failed"}
    assert list((state_dir / "staging").iterdir()) == []


def test_home_that_is_nowhere(servers: Servers) -> None:
    client = servers.start(env={"HOME": None})
    client.initialize()
    error = client.refusal("run/launch", launch_of("true", cwd="~/x"))
    assert error["data"]["field"] == "cwd"
    assert client.run_to_end("true")["state"] == "complete"


def test_the_agent_has_three_descriptors_and_a_session_of_its_own(
    servers: Servers, tmp_path: Path
) -> None:
    # Leaked descriptors made servers immortal, and terminals end whole sessions.
    leak = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        client = servers.connect()
        told = described(client)
    finally:
        os.close(leak)
    assert sorted(told["fds"]) == ["0", "1", "2"] or set(told["fds"]) - {"0", "1", "2"} <= {
        number for number, target in told["fds"].items() if target.endswith("/fd")
    }
    assert told["fds"]["0"] == "/dev/null"
    assert told["session"] == told["pid"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_the_umask_of_whoever_launches_is_the_agents(servers: Servers, mask: int) -> None:
    client = servers.start(wrapper=["sh", "-c", f'umask {mask:03o}; exec "$@"', "sh"])
    client.initialize()
    run = client.run_to_end("umask")
    assert int(client.text(run["runId"]), 8) == mask
