"""The same token at the same time, from several processes and threads: one run, one agent."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sidecar.control.launch import Launched, launch
from sidecar.core.asked import Asked
from sidecar.core.plan import Mode, StepRequest
from sidecar.store.lease import Holding, probe
from tests.support.runs import Runs
from tests.support.wait import wait_until

RACERS = 8
ROUNDS = 50
THREADS = 12


@pytest.mark.usefixtures("nothing_left")
def test_processes_that_race_make_one_run_a_round(state_dir: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.children.racer", str(state_dir), str(log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(RACERS)
    ]
    try:
        for number in range(ROUNDS):
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write(f"token-{number}\n")
                racer.stdin.flush()
            answers = []
            for racer in racers:
                assert racer.stdout is not None
                answers.append(racer.stdout.readline().split())
            assert len({run_id for run_id, _ in answers}) == 1
            assert [created for _, created in answers].count("True") == 1
    finally:
        for racer in racers:
            racer.communicate(timeout=20)
    assert [racer.returncode for racer in racers] == [0] * RACERS
    wait_until(
        lambda: log.is_file() and len(log.read_text().splitlines()) >= ROUNDS,
        what="an agent for each round",
    )
    assert sorted(log.read_text().split()) == sorted(f"token-{n}" for n in range(ROUNDS))
    assert len(list((state_dir / "runs").iterdir())) == ROUNDS


def together(runs: Runs, tokens: list[str | None]) -> list[Launched]:
    """Launch one run for each token, each in a thread of its own, at once."""
    gate = threading.Barrier(len(tokens))
    made: list[Launched] = []

    def one(token: str | None) -> None:
        step = StepRequest(agent="command", command=("sleep", "0.1"))
        asked = Asked(mode=Mode.SINGLE, cwd="/", client_token=token, steps=(step,))
        gate.wait(20)
        made.append(launch(runs.ctx, asked))

    threads = [threading.Thread(target=one, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return made


def test_threads_of_one_server_that_race(runs: Runs) -> None:
    made = together(runs, ["same"] * THREADS)
    assert len(made) == THREADS
    assert len({launched.snapshot.run.run_id for launched in made}) == 1
    assert [launched.created for launched in made].count(True) == 1
    runs.wait(made[0].snapshot.run.run_id)


def test_launches_at_once_do_not_inherit_each_others_leases(runs: Runs) -> None:
    made = together(runs, [None] * THREADS)
    run_ids = {launched.snapshot.run.run_id for launched in made}
    assert len(run_ids) == THREADS
    for run_id in run_ids:
        runs.wait(run_id)
    # A lease that another runner, or an agent, had got would never fall while that one lives.
    wait_until(
        lambda: {probe(str(runs.path(run_id))) for run_id in run_ids} == {Holding.FREE},
        what="every lease free",
    )
