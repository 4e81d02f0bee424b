"""TERM, grace, KILL: in this order, for who needs it, and never for who would have ended."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.marks import CHILDREN, assert_none_marked, wait_marked
from tests.support.serving import SidecarClient

STUBBORN = "trap '' TERM INT HUP; echo ready; while :; do sleep 600 & wait; done"


def descriptors(client: SidecarClient) -> int:
    return len(os.listdir(f"/proc/{client.proc.pid}/fd"))  # noqa: PTH208


def wait_ready(client: SidecarClient, run_id: str) -> None:
    client.wait_text(run_id, "ready\n")


def test_who_ignores_term_is_killed_after_the_grace(client: SidecarClient) -> None:
    run_id = client.launch(STUBBORN)["runId"]
    wait_ready(client, run_id)
    run = client.stop(run_id, graceMs=100)
    assert (run["state"], run["steps"][0]["signal"]) == ("stopped", 9)
    assert run["proof"]["killed"] >= 1


def test_who_saves_its_work_is_given_the_time(client: SidecarClient, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    run_id = client.launch(command=[sys.executable, str(CHILDREN / "saves.py"), str(saved)])[
        "runId"
    ]
    wait_ready(client, run_id)
    run = client.stop(run_id)
    assert saved.read_text() == "saved"
    assert (run["state"], run["steps"][0]["exitCode"]) == ("stopped", 0)
    assert run["proof"]["killed"] == 0


def test_a_child_of_a_polite_agent_that_ignores_term_is_killed_too(
    client: SidecarClient, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    run_id = client.launch(
        f"sh -c 'trap \"\" TERM; while :; do sleep 600; done' {mark} & echo ready; exec sleep 600"
    )["runId"]
    wait_ready(client, run_id)
    run = client.stop(run_id, graceMs=100)
    assert_none_marked(mark)
    assert run["steps"][0]["signal"] == 15
    assert run["proof"]["killed"] >= 1


def test_without_a_grace_nobody_is_asked(client: SidecarClient, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    run_id = client.launch(command=[sys.executable, str(CHILDREN / "saves.py"), str(saved)])[
        "runId"
    ]
    wait_ready(client, run_id)
    run = client.stop(run_id, graceMs=0)
    assert not saved.exists()
    assert run["steps"][0]["signal"] == 9


def test_a_stopped_process_is_ended_as_well(client: SidecarClient, tmp_path: Path) -> None:
    # SIGSTOP leaves TERM pending for ever; only KILL gets through.
    mark = tmp_path / "mark"
    run_id = client.launch(f"echo ready; kill -STOP $$; : {mark}")["runId"]
    wait_ready(client, run_id)
    wait_marked(mark, 1)
    run = client.stop(run_id, graceMs=100)
    assert run["state"] == "stopped"
    assert_none_marked(mark)


@pytest.mark.slow
def test_fifty_stubborn_ones_leave_nothing_behind(client: SidecarClient, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    before = None
    for _ in range(50):
        run_id = client.launch(f"{STUBBORN}; : {mark}")["runId"]
        wait_ready(client, run_id)
        run = client.stop(run_id, graceMs=1)
        assert (run["state"], run["steps"][0]["signal"]) == ("stopped", 9)
        assert_none_marked(mark)
        before = before or descriptors(client)
    assert before is not None
    assert descriptors(client) <= before + 2
