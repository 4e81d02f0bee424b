"""A thousand runs from two servers: each end told once to each, none lost, and nothing left."""

from pathlib import Path

import pytest

from tests.support.expectations import over
from tests.support.left import leftovers
from tests.support.marks import zombies_below
from tests.support.serving import SidecarClient, launch_of, serving
from tests.support.wait import wait_until

RUNS = 1000
AT_ONCE = 8


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_thousand_from_two_servers(
    request: pytest.FixtureRequest, state_dir: Path, nothing_left: None
) -> None:
    with serving(request, state_dir) as servers:
        clients = [servers.connect(), servers.connect()]
        run_ids: list[str] = []
        while len(run_ids) < RUNS:
            run_ids += launch_some(clients)
        assert len(set(run_ids)) == RUNS
        for client in clients:
            client.sync()
            assert client.monitor.ends == dict.fromkeys(run_ids, 1)
            states = {run["state"] for run in client.monitor.newest.values()}
            assert states == {"complete"}
            assert client.list() == []
            wait_until(lambda: not zombies_below(client.proc.pid), what="no zombie to be left")  # noqa: B023
        listed = clients[0].list(scope="all", limit=RUNS)
        assert sorted(run["runId"] for run in listed) == sorted(run_ids)
        assert {run["proof"]["state"] for run in listed} == {"observed"}
    assert leftovers(state_dir) == []
    assert list((state_dir / "doorbells").iterdir()) == []


def launch_some(clients: list[SidecarClient]) -> list[str]:
    """Launch eight at once, half by each server, and wait for their ends by notification."""
    launches = [
        (client, client.post("run/launch", launch_of(command=["true"])))
        for client in clients
        for _ in range(AT_ONCE // 2)
    ]
    run_ids = [client.result(launch)["run"]["runId"] for client, launch in launches]
    for client in clients:
        for run_id in run_ids:
            if run_id not in client.monitor.ends:
                client.expect(over(run_id))
    return run_ids
