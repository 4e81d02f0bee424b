"""Servers are killed at any moment of a hundred launches; retries make every run exist once.

A client that lost its server sends the same launch, with the same token, to a new one. Each agent
writes its token into one file: what stands there once was started once.
"""

import os
import random
from pathlib import Path

import pytest

from tests.support.conversation import ServerGoneError
from tests.support.serving import Servers, SidecarClient, launch_of, lines_of, serving

LAUNCHES = 100

# At most so many servers die for one launch, or a bad seed would never come to an end.
DEATHS_MAX = 3

# Turns of a loop that does nothing: about as long as a launch takes, so that death comes before
# it, in it, and after it, without a look at any clock.
LONGEST_SPIN = 400_000


class Fleet:
    """One server at work, and the next one starting up behind it."""

    def __init__(self, servers: Servers, chance: random.Random) -> None:
        self._servers = servers
        self._chance = chance
        self._spare = servers.start()
        self._current: SidecarClient | None = None
        self.deaths = 0

    def at_work(self) -> SidecarClient:
        """The server to speak to now."""
        if self._current is None:
            self._current, self._spare = self._spare, self._servers.start()
            self._current.initialize()
        return self._current

    def kill_soon(self) -> None:
        """Kill the server at work at a moment of chance."""
        for _ in range(self._chance.randrange(LONGEST_SPIN)):
            pass
        self.at_work().proc.kill()
        self.deaths += 1

    def bury(self) -> None:
        """Turn to the next server, if this one was killed."""
        if self._current is not None and self._current.proc.poll() is not None:
            self._current.abandon()
            self._current = None

    def end(self) -> SidecarClient:
        """Send the one that only waited away; the server at work is left."""
        client = self.at_work()
        self._spare.abandon()
        return client


def launch_with_retries(fleet: Fleet, chance: random.Random, launch: dict[str, object]) -> str:
    """Launch by servers that die at a moment of ``chance``; the run's id, once one has answered."""
    for death in range(DEATHS_MAX + 1):
        client = fleet.at_work()
        request = client.post("run/launch", launch)
        is_killed = death < DEATHS_MAX and chance.random() < 0.5
        if is_killed:
            fleet.kill_soon()
        try:
            run_id: str = client.result(request)["run"]["runId"]
        except ServerGoneError:
            continue
        else:
            return run_id
        finally:
            if is_killed:
                client.proc.wait()
            fleet.bury()
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
        fleet = Fleet(servers, chance)
        run_ids = [
            launch_with_retries(
                fleet, chance, launch_of(f"echo {token} >>{file}", clientToken=token)
            )
            for token in tokens
        ]
        client = fleet.end()
        runs = client.wait_over(*run_ids)
        assert {run["state"] for run in runs} == {"complete"}
        assert len(set(run_ids)) == LAUNCHES
        assert sorted(lines_of(file)) == sorted(tokens)
        listed = client.list(scope="all", limit=1000)
        assert sorted(run["runId"] for run in listed) == sorted(run_ids)
        assert fleet.deaths > LAUNCHES // 10
        # A server that died before its runner was started left that to be repaired.
        client.sync()
        client.unread("run/notice")
        # A server that died between commit and spawn left a run to an adopter: that is told.
        assert {notice["kind"] for notice in client.unread("run/notice")} <= {"repaired"}
