"""``sidecar launch``: at once, with waiting, with following, and never half."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.process.cli.calling import Cli, read_line
from tests.support.serving import Gate
from tests.support.wait import wait_until


def test_the_id_is_said_while_the_run_goes_on(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run_id = cli.launch(f"{gate.wait}; echo done")
    assert cli.wait_state(run_id, "running")["runId"] == run_id
    gate.open()
    cli.wait_state(run_id, "complete")
    assert cli.ok("logs", run_id).out == "done\n"


def test_everything_that_was_said_reaches_the_agent(cli: Cli) -> None:
    run_id = cli.ended(
        "--label", "name", "--cwd", "/", "--env", "A=1=2", "--timeout", "1m", "--prompt", "say\n",
        "--", "sh", "-c", 'pwd; echo "$A"; cat; exit 0',
    )  # fmt: skip
    run = cli.run_of(run_id)
    assert (run["label"], run["cwd"], run["limits"]) == ("name", "/", {"timeoutMs": 60_000})
    assert run["sessionId"] == "test-session"
    assert cli.ok("logs", run_id).out == "/\n1=2\nsay\n"


def test_a_relative_directory_is_one_of_the_callers(cli: Cli) -> None:
    (cli.cwd / "below").mkdir()
    run_id = cli.ended("--cwd", "below", "--shell", "pwd")
    assert cli.ok("logs", run_id).out == f"{cli.cwd}/below\n"


def test_a_prompt_may_come_from_a_file_or_from_stdin_byte_for_byte(cli: Cli) -> None:
    prompt = b"caf\xe9 \xff\x00 end"
    (cli.cwd / "prompt").write_bytes(prompt)
    for words, stdin in ((["--prompt-file", "prompt"], b""), (["--prompt-file", "-"], prompt)):
        said = cli.call("launch", "--wait", *words, "--", "wc", "-c", stdin=stdin)
        assert cli.ok("logs", said.run_id).out.strip() == str(len(prompt))


def test_without_a_prompt_our_stdin_is_not_the_agents(cli: Cli) -> None:
    said = cli.ok("launch", "--wait", "--", "cat", stdin=b"not for the agent")
    assert cli.ok("logs", said.run_id).out == ""


def test_the_same_token_is_the_same_run(cli: Cli) -> None:
    first = cli.launch("exit 0", "--token", "once")
    assert cli.launch("exit 0", "--token", "once") == first
    cli.wait_state(first, "complete")


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["--", "true"], 0, "completed"),
        (["--", "sh", "-c", "exit 7"], 7, "exit-status"),
        (["--", "sh", "-c", "kill -SEGV $$"], 139, "signal"),
        (["--timeout", "300ms", "--", "sleep", "60"], 1, "deadline"),
        (["--", "no-such-program-here"], 1, "spawn-failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
@pytest.mark.parametrize("how", ["--wait", "--follow"])
def test_the_exit_code_mirrors_the_run(
    cli: Cli, how: str, words: list[str], code: int, reason: str
) -> None:
    said = cli.call("launch", how, *words)
    assert said.code == code
    assert len(said.err.splitlines()) == (code != 0)
    (run,) = cli.ok("list", "--all", "--json").document["runs"]
    assert run["reason"] == reason


def test_a_run_that_somebody_stops_meanwhile_is_mirrored_as_stopped(cli: Cli) -> None:
    with cli.started("launch", "--wait", "--", "sleep", "60") as call:
        run_id = read_line(call).decode().strip()
        cli.ok("stop", run_id)
        assert call.wait() == 3


def test_following_gives_each_stream_its_own_byte_for_byte(cli: Cli) -> None:
    script = r"printf 'out\033[31m\377\r\n'; printf 'err\001' >&2"
    done = subprocess.run(
        cli.argv("launch", "--follow", "--", "sh", "-c", script),
        cwd=cli.cwd,
        env=cli.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=40,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"out\x1b[31m\xff\r\n", b"err\x01")


def test_output_is_followed_as_it_comes(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    script = f"echo first; {gate.wait}; printf rest"
    with cli.started("launch", "--follow", "--", "sh", "-c", script) as call:
        assert read_line(call) == b"first\n"
        gate.open()
        out, err = call.communicate(timeout=40)
    assert (call.returncode, out, err) == (0, b"rest", b"")


def test_a_great_deal_of_output_comes_whole(cli: Cli) -> None:
    said = cli.ok("launch", "--follow", "--", "sh", "-c", "seq 1 400000; seq 1 400000 >&2")
    whole = "".join(f"{number}\n" for number in range(1, 400_001))
    assert said.out == whole
    assert said.err == whole


@pytest.mark.parametrize("how", ["--wait", "--follow"])
def test_ctrl_c_leaves_the_run_alone_and_says_how_to_end_it(
    cli: Cli, how: str, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    script = f"echo started; {gate.wait}; echo done"
    with cli.started("launch", how, "--", "sh", "-c", script) as call:
        assert read_line(call)
        # To the whole group, as a terminal does, and more than once, as people do.
        for _ in range(3):
            os.killpg(call.pid, signal.SIGINT)
        _, err = call.communicate(timeout=40)
    assert call.returncode == 130
    (run_id,) = cli.ok("list", "-q").out.splitlines()
    assert f"detached; the run goes on: {run_id}" in err.decode()
    assert f"sidecar stop {run_id}" in err.decode()
    assert "Traceback" not in err.decode()
    gate.open()
    cli.wait_state(run_id, "complete")
    assert cli.ok("logs", run_id).out == "started\ndone\n"


def test_a_reader_that_goes_away_ends_the_following_quietly(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    script = f"echo first; {gate.wait}; echo second"
    with cli.started("launch", "--follow", "--", "sh", "-c", script) as call:
        assert read_line(call) == b"first\n"
        assert call.stdout is not None
        call.stdout.close()
        # Although nothing more is written: nobody waits for ever at a closed door.
        assert call.wait() == 141
        assert call.stderr is not None
        assert call.stderr.read() == b""
    (run_id,) = cli.ok("list", "-q").out.splitlines()
    gate.open()
    cli.wait_state(run_id, "complete")


def test_the_end_of_the_caller_ends_nothing(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    with cli.started("launch", "--wait", "--", "sh", "-c", f"{gate.wait}; echo done") as call:
        run_id = read_line(call).decode().strip()
        cli.wait_state(run_id, "running")
        call.kill()
        call.wait()
    gate.open()
    cli.wait_state(run_id, "complete")
    assert cli.ok("logs", run_id).out == "done\n"


def test_what_a_run_launches_is_nested_in_it(cli: Cli) -> None:
    inner = " ".join([*cli.argv("launch", "--wait", "--"), "true"])
    cli.env["PYTHONPATH"] = cli.environ["PYTHONPATH"]
    outer = cli.ended("--", "sh", "-c", inner)
    assert cli.run_of(outer)["state"] == "complete"
    nested = cli.ok("logs", outer).out.strip()
    assert cli.run_of(nested)["parentRunId"] == outer


@pytest.mark.parametrize(
    ("words", "code", "field"),
    [
        (["launch"], 2, "step.command"),
        (["launch", "--"], 2, "step.command"),
        (["launch", "--cwd", "/nowhere/at/all", "--", "true"], 2, "cwd"),
        (["launch", "--label", "x" * 201, "--", "true"], 2, "label"),
        (["launch", "--timeout", "30", "--", "true"], 2, "timeoutMs"),
        (["launch", "--prompt-file", "/nowhere", "--", "true"], 2, "step.prompt"),
        (["launch", "--follow", "--json", "--", "true"], 2, None),
    ],
)
def test_what_is_refused_leaves_nothing(
    cli: Cli, words: list[str], code: int, field: str | None
) -> None:
    cut = words.index("--") if "--" in words else len(words)
    said = cli.call(*words[:cut], "--json", *words[cut:])
    assert (said.code, said.out) == (code, "")
    error = json.loads(said.err)["error"]
    assert error["code"] == "invalid-params"
    assert error.get("field") == field
    assert cli.ok("list", "--all", "--json").document == {"runs": []}


def test_json_is_the_run_of_the_wire_at_once_or_at_its_end(cli: Cli) -> None:
    at_once = cli.ok("launch", "--json", "--", "true").document["run"]
    assert at_once["state"] == "queued"
    said = cli.call("launch", "--json", "--wait", "--", "sh", "-c", "exit 3")
    assert said.code == 3
    assert (said.document["run"]["state"], said.err) == ("failed", "")
    wait_until(lambda: not cli.ok("list", "-q").out, what="both are over")
