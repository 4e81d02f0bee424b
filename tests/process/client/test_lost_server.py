"""Servers die at the worst moment; what was asked is done once, and what was followed goes on."""

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sidecar.client.blocking import Client
from sidecar.client.errors import ServerLost
from sidecar.client.options import ClientOptions
from sidecar.client.restarts import RESTARTS_MAX
from sidecar.core.errors import NotFound
from sidecar.core.states import RunState
from sidecar.procs import serving
from tests.support.serving import Gate, lines_of
from tests.support.tree import ROOT
from tests.support.wait import DEADLINE_S, wait_until


@pytest.fixture
def client(options: ClientOptions) -> Iterator[Client]:
    """Give an open client."""
    with Client(**options) as client:
        yield client


def kill(client: Client) -> int:
    """Kill the present server; its pid."""
    pid = client.server_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def cut(options: ClientOptions, method: str, flag: Path) -> ClientOptions:
    """The options of a client whose first server dies when it answers ``method``."""
    script = "tests.support.children.cutting"
    command = [sys.executable, "-m", script, method, str(flag), *serving.own_command()]
    env = {**(options.get("env") or {}), "PYTHONPATH": str(ROOT)}
    return options | {"command": command, "env": env}


def test_the_next_request_has_another_server(client: Client) -> None:
    run = client.launch(["true"])
    before = kill(client)
    assert client.wait(run).state is RunState.COMPLETE
    assert client.server_pid != before


def test_a_wait_goes_on(client: Client, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run = client.launch(shell=gate.wait)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(client.wait, run)
        wait_until(lambda: client.server_status().queues.requests == 2, what="the wait")
        before = kill(client)
        wait_until(lambda: client.server_pid != before, what="another server")
        gate.open()
        assert waiting.result(DEADLINE_S).state is RunState.COMPLETE


def test_a_launch_whose_answer_is_lost_is_one_run(options: ClientOptions, tmp_path: Path) -> None:
    flag, agents = tmp_path / "flag", tmp_path / "agents"
    with Client(**cut(options, "run/launch", flag)) as client:
        run = client.launch(shell=f"echo started >>{agents}", label="once")
        assert flag.exists()
        assert client.wait(run).label == "once"
        assert [found.run_id for found in client.list(scope="all").runs] == [run.run_id]
    assert lines_of(agents) == ["started"]


def test_a_launch_that_was_never_read_is_one_run(client: Client) -> None:
    pid = client.server_pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor() as pool:
        launching = pool.submit(client.launch, ["true"])
        kill(client)
        run = launching.result(DEADLINE_S)
    client.wait(run)
    assert [found.run_id for found in client.list(scope="all").runs] == [run.run_id]


def test_a_token_of_ones_own_is_one_run_for_every_client(
    client: Client, options: ClientOptions
) -> None:
    run = client.launch(["true"], client_token="nightly")
    with Client(**options) as other:
        assert other.launch(["true"], client_token="nightly").run_id == run.run_id
        assert other.launch(["true"]).run_id != run.run_id
        other.wait_for()
    client.wait(run)


def test_a_removal_whose_answer_is_lost_is_done(options: ClientOptions, tmp_path: Path) -> None:
    with Client(**cut(options, "run/remove", tmp_path / "flag")) as client:
        run = client.wait(client.launch(["true"]))
        client.remove(run)
        assert (tmp_path / "flag").exists()
        with pytest.raises(NotFound):
            client.remove(run)


def test_updates_go_on_and_tell_what_was_missed(
    client: Client, options: ClientOptions, tmp_path: Path
) -> None:
    gates = [Gate(tmp_path / name) for name in ("first", "second")]
    updates = client.updates()
    first, second = (client.launch(shell=gate.wait) for gate in gates)
    assert {next(updates).run_id for _ in range(2)} == {first.run_id, second.run_id}
    kill(client)
    with Client(**options) as other:  # while this one has no server
        gates[0].open()
        other.wait(first)
    ended = (run.run_id for run in updates if run.ended_at is not None)
    assert next(ended) == first.run_id
    gates[1].open()
    assert next(ended) == second.run_id


def test_output_goes_on_where_it_was(client: Client, tmp_path: Path) -> None:
    gates = [Gate(tmp_path / name) for name in ("first", "second")]
    run = client.launch(shell=f"echo one; {gates[0].wait}; echo two; {gates[1].wait}; echo three")
    pages = client.output(run, follow=True)
    assert next(pages).text == "one\n"
    kill(client)
    gates[0].open()
    assert next(pages).text == "two\n"
    kill(client)
    gates[1].open()
    assert "".join(page.text for page in pages) == "three\n"


def test_without_another_server_the_loss_is_told(options: ClientOptions, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    with Client(**(options | {"reconnect": False})) as client:
        run = client.launch(shell=gate.wait)
        updates = client.updates()
        next(updates)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(client.wait, run)
            telling = pool.submit(list, updates)
            wait_until(lambda: client.server_status().queues.requests == 2, what="the wait")
            kill(client)
            for lost in (waiting, telling):
                with pytest.raises(ServerLost, match="signal 9") as told:
                    lost.result(DEADLINE_S)
                assert told.value.code == "server-lost"
        with pytest.raises(ServerLost, match="signal 9"):
            client.get(run)
    with Client(**options) as another:
        gate.open()
        assert another.wait(run).state is RunState.COMPLETE


def test_servers_that_die_over_and_over_are_not_replaced_for_ever(client: Client) -> None:
    for _ in range(RESTARTS_MAX):
        kill(client)
        client.agents()
    kill(client)
    with pytest.raises(ServerLost):
        client.agents()
