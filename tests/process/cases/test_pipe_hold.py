"""The end of a run is the exit of its agent, whoever still holds its output; and nothing less."""

import os
import shlex
import signal
import sys
from pathlib import Path

from tests.support.marks import assert_none_marked, wait_marked
from tests.support.serving import SidecarClient

# Who holds the output when the agent exits, and how: silent, talking, elsewhere, in a flood.
HOLDERS = {
    "silent": ("M={mark} sleep 600 & echo done; exit 0", 0),
    "silent-and-failed": ("M={mark} sleep 600 & echo done; exit 1", 1),
    "other-session": ("M={mark} setsid sleep 600 & echo done", 0),
    "ticking": ("sh -c 'while :; do echo tick; sleep 0.1; done' {mark} & echo done; exit 0", 0),
    "flooding": ("echo done; M={mark} yes & sleep 0.1; exit 3", 3),
}


def test_whoever_holds_the_output(client: SidecarClient, tmp_path: Path) -> None:
    # All at once, since those that are never silent are only ended by a bound in all.
    run_ids = {
        name: client.launch(shell.format(mark=tmp_path / name))["runId"]
        for name, (shell, _) in HOLDERS.items()
    }
    client.wait_over(*run_ids.values())
    for name, run_id in run_ids.items():
        run, code = client.get(run_id), HOLDERS[name][1]
        assert run["state"] == ("failed" if code else "complete"), name
        assert run["steps"][0]["exitCode"] == code
        assert "done" in client.text_now(run_id).split("\n")
        assert_none_marked(tmp_path / name)


def test_the_agent_alone_is_killed_from_outside(client: SidecarClient, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    python = shlex.quote(sys.executable)
    run_id = client.launch(
        f"exec {python} -c 'import os; os.system(\"exec env M={mark} sleep 600\")'"
    )["runId"]
    # The program's text holds the mark as well, and so does the shell that os.system starts.
    wait_marked(mark, 2)
    os.kill(client.agent(run_id), signal.SIGKILL)
    run = client.wait_over(run_id)[0]
    assert (run["state"], run["reason"]) == ("failed", "signal")
    assert run["steps"][0]["signal"] == 9
    assert_none_marked(mark)


def test_what_the_agent_wrote_last_is_there(client: SidecarClient) -> None:
    # More than a pipe holds, written right before the exit, while somebody holds the pipe.
    run = client.run_to_end("sleep 600 & seq 100000; exit 0")
    assert client.text(run["runId"]) == "".join(f"{n}\n" for n in range(1, 100_001))


def test_an_agent_that_closes_its_output_is_not_over(client: SidecarClient) -> None:
    run_id = client.launch("echo done; exec >/dev/null 2>&1; exec sleep 600")["runId"]
    client.wait_text(run_id, "done\n")
    client.run_to_end("true")
    assert client.get(run_id)["state"] == "running"
    assert client.stop(run_id)["state"] == "stopped"
