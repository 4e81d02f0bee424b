"""Several editors on one state directory: retries, the same moment, each other's runs."""

from pathlib import Path

from tests.support.expectations import over
from tests.support.framing import encode, frame
from tests.support.serving import Servers, launch_of, lines_of

CLIENTS = 8
ROUNDS = 20


def test_one_token_by_eight_clients_at_once_is_one_run(servers: Servers, tmp_path: Path) -> None:
    clients = [servers.connect() for _ in range(CLIENTS)]
    told = tmp_path / "told"
    for turn in range(ROUNDS):
        launch = launch_of(f"echo {turn} >>{told}", clientToken=f"token-{turn}")
        name = f"launch-{turn}"
        message = frame(
            encode({"jsonrpc": "2.0", "id": name, "method": "run/launch", "params": launch})
        )
        # Built before the first is written, so that all eight arrive within a few milliseconds.
        for client in clients:
            client.expect_answers_to(name)
        for client in clients:
            client.send(message)
        run_ids = {client.result(name)["run"]["runId"] for client in clients}
        assert len(run_ids) == 1
        assert clients[turn % CLIENTS].wait_over(*run_ids)[0]["state"] == "complete"
    assert lines_of(told) == [str(turn) for turn in range(ROUNDS)]
    assert len(clients[0].list(scope="all")) == ROUNDS


def test_many_different_launches_at_once_are_many_runs(servers: Servers) -> None:
    clients = [servers.connect() for _ in range(4)]
    launches = [
        (client, client.post("run/launch", launch_of("true")))
        for _ in range(5)
        for client in clients
    ]
    run_ids = [client.result(launch)["run"]["runId"] for client, launch in launches]
    assert len(set(run_ids)) == 20
    runs = clients[0].wait_over(*run_ids)
    assert {run["state"] for run in runs} == {"complete"}


def test_servers_see_each_others_runs(servers: Servers) -> None:
    one, two = servers.connect(session="one"), servers.connect(session="two")
    mine, theirs = one.run_to_end("true"), two.run_to_end("false")
    for client in (one, two):
        assert client.list(scope="all") == [theirs, mine]


def test_a_client_that_starts_anew_all_the_time_is_told_each_end_once(servers: Servers) -> None:
    # Three servers come and go while the run lives; none of them tells of an end that was told.
    first = servers.connect()
    ended = first.launch("true")["runId"]
    live = first.launch("exec sleep 600")["runId"]
    first.expect(over(ended))
    for _ in range(3):
        client = servers.connect()
        client.run_to_end("true")
        client.sync()
        assert ended not in client.monitor.ends
        client.close()
    first.stop(live)


def test_a_dead_neighbour_disturbs_nobody(servers: Servers) -> None:
    one, two = servers.connect(), servers.connect()
    run_ids = [two.launch("true")["runId"] for _ in range(5)]
    two.kill()
    for run_id in run_ids:
        one.expect(over(run_id))
    late = one.launch("true")["runId"]
    one.expect(over(late))
