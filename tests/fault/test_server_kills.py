"""Servers are killed at any moment of a hundred launches; retries make every run exist once.

A client that lost its server sends the same launch, with the same token, to a new one. Each agent
writes its token into one file: what stands there once was started once.
"""

import os
import random
from pathlib import Path

import pytest

from tests.support.conversation import ServerGoneError
from tests.support.serving import Servers, launch_of, lines_of, serving

LAUNCHES = 100

# At most so many servers die for one launch, or a bad seed would never come to an end.
DEATHS_MAX = 3


def launch_with_retries(servers: Servers, chance: random.Random, token: str, file: Path) -> str:
    """Launch by servers that die at a moment of ``chance``; the run's id, once one has answered."""
    launch = launch_of(f"echo {token} >>{file}", clientToken=token)
    for death in range(DEATHS_MAX + 1):
        client = servers.connect()
        request = client.post("run/launch", launch)
        if death < DEATHS_MAX and chance.random() < 0.7:
            # Counted in turns of a loop that does nothing: below, within and beyond a launch.
            for _ in range(int(chance.expovariate(1 / 20_000))):
                pass
            client.proc.kill()
        try:
            run_id: str = client.result(request)["run"]["runId"]
        except ServerGoneError:
            client.abandon()
            continue
        client.abandon()
        return run_id
    raise AssertionError("the last server was not killed")


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_no_run_is_lost_or_doubled(
    request: pytest.FixtureRequest, state_dir: Path, tmp_path: Path, nothing_left: None
) -> None:
    seed = int(os.environ.get("SIDECAR_TEST_SEED", random.randrange(2**32)))
    print(f"SIDECAR_TEST_SEED={seed}")
    chance = random.Random(seed)
    file = tmp_path / "tokens"
    tokens = [f"token-{number}" for number in range(LAUNCHES)]
    with serving(request, state_dir) as servers:
        run_ids = [launch_with_retries(servers, chance, token, file) for token in tokens]
        client = servers.connect()
        runs = client.wait_over(*run_ids)
        assert {run["state"] for run in runs} == {"complete"}
        assert len(set(run_ids)) == LAUNCHES
        assert sorted(lines_of(file)) == sorted(tokens)
        listed = client.list(scope="all", limit=1000)
        assert sorted(run["runId"] for run in listed) == sorted(run_ids)
