"""Ending a run ends its whole tree, in whichever way it ends, before it is said to be over.

From bug reports of many supervisors: the shell was killed and the dev server kept its port; the
automatic path killed less than the button; a daemon escaped, and nobody had it in a list.
"""

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

from tests.support.each import each
from tests.support.expectations import notification
from tests.support.marks import CHILDREN, assert_none_marked, marked, wait_marked
from tests.support.serving import Servers, SidecarClient, cli
from tests.support.wait import wait_until

# One shell, two workers behind it and one before it; none handles TERM.
DEV_SERVER = "M={mark} sleep 600 & M={mark} sleep 600 & M={mark} sleep 600; true"
NESTED = """sh -c 'sh -c "M={mark} sleep 600; true"; true'; true"""
PYTHON_SYSTEM = "{python} -c 'import os; os.system(\"exec env M={mark} sleep 600\")'; true"
MANY = "for i in 1 2 3 4 5 6 7; do M={mark} sleep 600 & done; wait"
NOHUP = (
    "M={mark} nohup sleep 600 >/dev/null 2>&1 & M={mark} setsid sleep 600 & "
    "M={mark} sleep 600; true"
)
FOREST = "exec {python} {forest} {mark}"

# How many processes carry the mark: the shell itself does, by its command line.
TREES = {
    "dev-server": (DEV_SERVER, 4),
    "nested-shells": (NESTED, 4),
    "python-system": (PYTHON_SYSTEM, 3),
    "seven": (MANY, 8),
    "nohup-and-setsid": (NOHUP, 4),
    "forest": (FOREST, 16),
}


def plant(client: SidecarClient, mark: Path, tree: str, **fields: Any) -> str:
    """Launch a tree and wait until all of it is there; the run's id."""
    script, count = TREES[tree]
    shell = script.format(
        mark=shlex.quote(str(mark)),
        python=shlex.quote(sys.executable),
        forest=shlex.quote(str(CHILDREN / "forest.py")),
    )
    run_id: str = client.launch(shell, **fields)["runId"]
    wait_marked(mark, count)
    return run_id


def runner_of(client: SidecarClient, run_id: str) -> int:
    """The pid of the process that leads the run now."""

    def leaders() -> list[int]:
        events = client.call("run/events", {"runId": run_id})["events"]
        started = [event for event in events if event["kind"] == "runner-started"]
        return [int(event["runner"]["pid"]) for event in started]

    # The agent runs before its runner has said a word.
    return wait_until(leaders, what="a runner that leads")[-1]


@each("tree", list(TREES))
def test_a_stop_reaches_all_of_it(client: SidecarClient, tmp_path: Path, tree: str) -> None:
    mark = tmp_path / f"mark-{tree}"
    run_id = plant(client, mark, tree)
    run = client.stop(run_id)
    assert_none_marked(mark)
    assert run["state"] == "stopped"
    assert run["proof"] | {"state": "observed"} == run["proof"]


@each("way", ["no-grace", "deadline", "cli", "runner-term", "step-deadline"])
def test_every_way_to_end_is_as_thorough(
    client: SidecarClient, state_dir: Path, tmp_path: Path, way: str
) -> None:
    mark = tmp_path / f"mark-{way}"
    fields: dict[str, Any] = {}
    if way == "deadline":
        fields = {"timeoutMs": 2500}
    if way == "step-deadline":
        fields = {"step": {"timeoutMs": 2500}}
    run_id = plant(client, mark, "forest", **fields)
    match way:
        case "no-grace":
            client.stop(run_id, graceMs=0)
        case "cli":
            stopping = cli(state_dir, "stop", run_id)
            assert stopping.returncode == 0, stopping.stderr
        case "runner-term":
            os.kill(runner_of(client, run_id), signal.SIGTERM)
        case _:
            pass
    run = client.wait_over(run_id)[0]
    assert_none_marked(mark)
    assert run["proof"]["state"] == "observed"
    expected = {
        "deadline": ("failed", "deadline"),
        "step-deadline": ("failed", "deadline"),
        "runner-term": ("stopped", "runner-terminated"),
    }.get(way, ("stopped", "stopped-by-user"))
    assert (run["state"], run["reason"]) == expected


def test_the_death_of_the_runner_ends_all_of_it(client: SidecarClient, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    run_id = plant(client, mark, "forest")
    os.kill(runner_of(client, run_id), signal.SIGKILL)
    run = client.wait_over(run_id)[0]
    assert_none_marked(mark)
    assert (run["state"], run["reason"]) == ("failed", "runner-lost")
    assert run["proof"]["state"] == "observed"
    client.expect(notification("run/notice", runId=run_id, kind="repaired"))
    client.unread("run/notice")


@each("code", [0, 3])
def test_what_is_left_at_a_natural_end_is_ended_too(
    client: SidecarClient, tmp_path: Path, code: int
) -> None:
    mark = tmp_path / f"mark-{code}"
    run = client.run_to_end(
        f"M={mark} nohup sleep 600 >/dev/null 2>&1 & M={mark} setsid sleep 600 >/dev/null 2>&1 & "
        f"exit {code}"
    )
    assert_none_marked(mark)
    assert run["steps"][0]["exitCode"] == code
    assert run["state"] == ("failed" if code else "complete")
    assert run["proof"]["state"] == "observed"


def test_two_trees_of_one_server_are_not_confused(servers: Servers, tmp_path: Path) -> None:
    client = servers.connect()
    marks = [tmp_path / "one", tmp_path / "two"]
    run_ids = [plant(client, mark, "nohup-and-setsid") for mark in marks]
    client.stop(run_ids[0])
    assert_none_marked(marks[0])
    assert len(marked(marks[1])) == TREES["nohup-and-setsid"][1]
    assert client.get(run_ids[1])["state"] in ("queued", "running")
    client.stop(run_ids[1])


def test_a_run_of_a_dead_editor_is_ended_whole_by_another(servers: Servers, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    first = servers.connect()
    run_id = plant(first, mark, "forest")
    first.kill()
    assert servers.connect().stop(run_id)["proof"]["state"] == "observed"
    assert_none_marked(mark)


def test_a_run_within_a_run_ends_with_it(servers: Servers, state_dir: Path, tmp_path: Path) -> None:
    client, mark = servers.connect(), tmp_path / "mark"
    sidecar = f"{shlex.quote(sys.executable)} -m sidecar"
    outer = client.launch(
        f"{sidecar} launch --env M={mark} -- sleep 600 && M={mark} sleep 600; true"
    )["runId"]
    wait_marked(mark, 3)
    nested = [run for run in client.list() if run["runId"] != outer]
    assert [run.get("parentRunId") for run in nested] == [outer]
    assert client.stop(outer)["state"] == "stopped"
    inner = client.wait_over(nested[0]["runId"])[0]
    assert (inner["state"], inner["reason"]) == ("stopped", "parent-ended")
    assert_none_marked(mark)
