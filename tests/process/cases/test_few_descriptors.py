"""With 64 descriptors a server serves two hundred runs: nothing is kept for what is over."""

from pathlib import Path

import pytest

from tests.support.serving import Servers, launch_of
from tests.support.wait import wait_until

FEW = ["sh", "-c", 'ulimit -n 64 && exec "$@"', "sh"]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_two_hundred_short_runs(servers: Servers) -> None:
    client = servers.start(wrapper=FEW)
    client.initialize()
    for _ in range(20):
        launches = [client.post("run/launch", launch_of("true")) for _ in range(10)]
        client.list(scope="all", limit=1000)
        run_ids = [client.result(launch)["run"]["runId"] for launch in launches]
        assert {run["state"] for run in client.wait_over(*run_ids)} == {"complete"}
    assert len(client.list(scope="all", limit=1000)) == 200


def test_when_the_limit_is_met_the_server_says_so_and_goes_on(
    servers: Servers, state_dir: Path
) -> None:
    client = servers.start(wrapper=["sh", "-c", 'ulimit -n 24 && exec "$@"', "sh"])
    client.initialize()
    launches = [client.post("run/launch", launch_of("true")) for _ in range(60)]
    messages = [client.answer(launch) for launch in launches]
    refused = [message["error"] for message in messages if "error" in message]
    for error in refused:
        assert error["data"]["code"] in ("storage", "spawn-failed", "limit-reached"), error
    run_ids = [m["result"]["run"]["runId"] for m in messages if "result" in m]
    if run_ids:
        client.wait_over(*run_ids)
    assert client.list() == []
    assert client.run_to_end("true")["state"] == "complete"
    assert len(client.list(scope="all", limit=1000)) == len(run_ids) + 1
    # What could not even be cleared away without a descriptor is, by the next who has some.
    servers.connect()
    wait_until(lambda: not list((state_dir / "staging").iterdir()), what="a clean sweep")


def test_many_live_runs_do_not_use_up_the_servers_descriptors(servers: Servers) -> None:
    # Nor one inotify instance each: there are 128 of those for everything that a user has open.
    client = servers.start(wrapper=FEW)
    client.initialize()
    run_ids = [client.launch("exec sleep 600")["runId"] for _ in range(40)]
    for run_id in run_ids[:30]:
        client.call("run/subscribe", {"runId": run_id})
    assert len(client.list(limit=1000)) == 40
    stops = [client.post("run/stop", {"runId": run_id, "graceMs": 0}) for run_id in run_ids]
    for stop in stops:
        client.result(stop)
    assert {run["state"] for run in client.wait_over(*run_ids)} == {"stopped"}
