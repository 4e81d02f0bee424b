"""Quiet is not dead: nothing is judged by silence, and everything quiet can be ended."""

import sys

from tests.support.expectations import status
from tests.support.serving import Servers, SidecarClient
from tests.support.wait import wait_until

RESULT = '{"type":"result","subtype":"success"}'


def test_a_result_is_no_end(client: SidecarClient) -> None:
    run_id = client.launch(f"echo '{RESULT}'; exec sleep 600")["runId"]
    client.wait_text(run_id, RESULT + "\n")
    assert client.get(run_id)["state"] == "running"
    assert client.stop(run_id)["state"] == "stopped"
    assert client.text(run_id) == RESULT + "\n"


def test_six_silent_ones_are_all_stopped_at_once(servers: Servers) -> None:
    client = servers.connect()
    run_ids = [client.launch("echo '{}'; exec sleep 600")["runId"] for _ in range(6)]
    for run_id in run_ids:
        client.expect(status(run_id, "running"))
    assert {run["state"] for run in client.list()} == {"running"}
    stops = [client.post("run/stop", {"runId": run_id}) for run_id in run_ids]
    for stop in stops:
        client.result(stop)
    assert {run["state"] for run in client.wait_over(*run_ids)} == {"stopped"}


def test_the_last_output_can_be_seen(client: SidecarClient) -> None:
    run_id = client.launch("echo one; exec sleep 600")["runId"]
    wait_until(
        lambda: "lastOutputAt" in client.get(run_id)["steps"][0], what="a time of the last output"
    )
    step = client.get(run_id)["steps"][0]
    assert step["outputBytes"]["stdout"] == 4
    assert step["lastOutputAt"] >= client.get(run_id)["startedAt"]
    client.stop(run_id)


def test_a_buffer_that_is_flushed_at_the_end_is_no_stall(client: SidecarClient) -> None:
    program = "import time\nfor n in range(4):\n    print('line', n)\n    time.sleep(0.5)\n"
    run = client.run_to_end(command=[sys.executable, "-I", "-c", program])
    assert run["state"] == "complete"
    assert client.text(run["runId"]) == "".join(f"line {n}\n" for n in range(4))
