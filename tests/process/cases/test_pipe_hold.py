"""The end of a run is the exit of its agent, whoever still holds its output; and nothing less."""

import os
import shlex
import signal
import sys
from pathlib import Path

from tests.support.each import each
from tests.support.marks import assert_none_marked, wait_marked
from tests.support.serving import SidecarClient


@each("code", [0, 1])
def test_a_silent_holder(client: SidecarClient, tmp_path: Path, code: int) -> None:
    mark = tmp_path / f"mark-{code}"
    run = client.run_to_end(f"M={mark} sleep 600 & echo done; exit {code}")
    assert run["state"] == ("failed" if code else "complete")
    assert run["steps"][0]["exitCode"] == code
    assert client.text(run["runId"]) == "done\n"
    assert_none_marked(mark)


def test_a_ticking_holder(client: SidecarClient, tmp_path: Path) -> None:
    # It is never silent: only a bound in all ends the wait for its output.
    mark = tmp_path / "mark"
    run = client.run_to_end(
        f"sh -c 'while :; do echo tick; sleep 0.1; done' {mark} & echo done; exit 0"
    )
    assert (run["state"], run["steps"][0]["exitCode"]) == ("complete", 0)
    assert "done" in client.text(run["runId"]).split("\n")
    assert_none_marked(mark)


def test_a_holder_in_a_session_of_its_own(client: SidecarClient, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    run = client.run_to_end(f"M={mark} setsid sleep 600 & echo done")
    assert run["state"] == "complete"
    assert_none_marked(mark)


def test_a_flooding_holder(client: SidecarClient, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    run = client.run_to_end(f"M={mark} yes & sleep 0.1; exit 3")
    assert (run["state"], run["steps"][0]["exitCode"]) == ("failed", 3)
    assert_none_marked(mark)


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
