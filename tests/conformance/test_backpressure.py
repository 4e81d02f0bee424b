"""Slow and silent readers: nothing is lost that must arrive, nothing grows, nobody else waits.

Order tells what timing cannot: another client's requests are answered while the silent one is
silent, and the silent one finds the newest state and the end once it reads again.
"""

import fcntl

import pytest

from tests.support.expectations import over, status
from tests.support.framing import encode, frame
from tests.support.rpc import Client, not_reading, peak_kib
from tests.support.serving import Servers, SidecarClient

REQUESTS = 2000
MIB = 1 << 20


def widen(client: Client) -> None:
    """Let the pipe to the server hold all requests, whether it reads them or not."""
    assert client.proc.stdin is not None
    fcntl.fcntl(client.proc.stdin, fcntl.F_SETPIPE_SZ, MIB)


def test_two_thousand_requests_before_the_first_answer_is_read(client: SidecarClient) -> None:
    widen(client)
    names = [f"q{number}" for number in range(REQUESTS)]
    client.expect_answers_to(*names)
    requests = [
        frame(encode({"jsonrpc": "2.0", "id": name, "method": "run/list", "params": {}}))
        for name in names
    ]
    with not_reading(client):
        client.send(b"".join(requests))
    for name in names:
        assert "result" in client.answer(name)
    client.sync()
    assert {len(client.answers[name]) for name in names} == {1}


def test_large_answers_before_the_first_is_read(client: SidecarClient) -> None:
    # 400 answers of some 64 KiB are far more than any pipe holds.
    run_id = client.run_to_end("seq 20000")["runId"]
    names = [f"o{number}" for number in range(400)]
    client.expect_answers_to(*names)
    widen(client)
    request = {"jsonrpc": "2.0", "method": "run/output", "params": {"runId": run_id}}
    with not_reading(client):
        client.send(b"".join(frame(encode(request | {"id": name})) for name in names))
    texts = {client.result(name)["text"] for name in names}
    assert len(texts) == 1


@pytest.mark.slow
def test_a_client_that_never_reads_costs_nobody_anything(servers: Servers) -> None:
    silent, other = servers.connect(), servers.connect(session="other")
    run_id = silent.launch("exec sleep 600")["runId"]
    flood = silent.launch("yes 'a line of a chatty agent' | head -c 50000000")["runId"]
    silent.call("run/subscribe", {"runId": flood})
    before = peak_kib(silent)
    with not_reading(silent):
        other.wait_over(flood)
        for _ in range(20):
            assert other.run_to_end("true")["state"] == "complete"
        # Every change of the session would be told; only the newest of each run may be kept.
        short = [other.launch("true", sessionId="the-session")["runId"] for _ in range(100)]
        other.wait_over(*short)
        other.stop(run_id, anySession=True)
    assert peak_kib(silent) - before < 32 * 1024
    for ended in (*short, run_id, flood):
        silent.expect(over(ended))
    silent.sync()
    assert {silent.monitor.ends[ended] for ended in (*short, run_id, flood)} == {1}
    silent.call("run/unsubscribe", {"runId": flood})
    silent.unread("run/output")


def test_what_a_silent_client_missed_is_named(servers: Servers) -> None:
    silent, other = servers.connect(), servers.connect()
    run_id = silent.launch("seq 1000000")["runId"]
    silent.call("run/subscribe", {"runId": run_id, "stream": "stdout"})
    with not_reading(silent):
        size = other.wait_over(run_id)[0]["steps"][0]["outputBytes"]["stdout"]
    silent.expect(over(run_id))
    position = 0

    def followed() -> bool:
        nonlocal position
        for notice in silent.unread("run/output"):
            assert notice["offset"] == position + notice.get("dropped", 0)
            position = notice["nextOffset"]
        return bool(position == size)

    silent.read_until(followed, "the end of the log, or its loss")


def test_a_reader_of_one_byte_at_a_time(servers: Servers) -> None:
    slow, other = servers.connect(), servers.connect()
    slow.read_size = 1
    run_id = slow.launch("echo one; echo two")["runId"]
    slow.call("run/subscribe", {"runId": run_id})
    for _ in range(5):
        assert other.run_to_end("true")["state"] == "complete"
    slow.expect(status(run_id, "complete"))
    assert slow.text(run_id) == "one\ntwo\n"
    slow.unread("run/output")


def test_a_client_that_stops_reading_and_goes_lets_its_server_end(servers: Servers) -> None:
    silent = servers.connect()
    run_id = silent.launch("seq 1000000")["runId"]
    silent.call("run/subscribe", {"runId": run_id})
    other = servers.connect()
    with not_reading(silent):
        other.wait_over(run_id)
        # The pipe is full: the server cannot write, and must see the end of its input all the same.
        silent.hang_up()
        silent.proc.wait(20)
    silent.abandon()
