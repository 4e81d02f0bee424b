"""``run/subscribe``: output by notification, from where it was asked, whole or said not to be."""

from pathlib import Path

from tests.support.expectations import Expectation, Verdict, notification, over, status
from tests.support.serving import Gate, Servers, SidecarClient


class Follower:
    """Puts the notices of one log together, and checks that they fit."""

    def __init__(self, run_id: str, *, stream: str = "stdout", offset: int = 0) -> None:
        self.run_id = run_id
        self.stream = stream
        self.offset = offset
        self.dropped = 0
        self.text = ""

    def take(self, params: dict[str, object]) -> None:
        dropped, offset, next_offset = (
            params.get("dropped", 0),
            params["offset"],
            params["nextOffset"],
        )
        assert isinstance(dropped, int)
        assert isinstance(offset, int)
        assert isinstance(next_offset, int)
        assert offset == self.offset + dropped
        assert next_offset > offset
        self.dropped += dropped
        self.offset = next_offset
        self.text += str(params["text"])

    def until(self, offset: int) -> Expectation:
        """All of the log up to ``offset`` has come."""

        def judge(params: dict[str, object]) -> Verdict:
            if (params["runId"], params["stream"]) != (self.run_id, self.stream):
                return Verdict.UNMET
            self.take(params)
            return Verdict.MET if self.offset >= offset else Verdict.UNMET

        return Expectation(what=f"output up to {offset}", method="run/output", judge=judge)


def test_output_comes_as_it_is_written(servers: Servers, tmp_path: Path) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(f"echo one; {gate.wait}; echo two")["runId"]
    assert client.call("run/subscribe", {"runId": run_id}) == {}
    follower = Follower(run_id)
    client.expect(follower.until(4))
    assert follower.text == "one\n"
    gate.open()
    client.expect(follower.until(8))
    assert follower.text == "one\ntwo\n"
    client.expect(over(run_id))


def test_nobody_is_told_who_did_not_ask(servers: Servers) -> None:
    asking, silent = servers.connect(), servers.connect()
    run_id = asking.launch("read -r _; echo one; sleep 600")["runId"]
    asking.call("run/subscribe", {"runId": run_id})
    asking.expect(Follower(run_id).until(4))
    silent.sync()
    assert silent.unread("run/output") == []
    asking.stop(run_id)


def test_both_logs_or_one(client: SidecarClient) -> None:
    run_id = client.run_to_end("echo out; echo err >&2")["runId"]
    client.call("run/subscribe", {"runId": run_id})
    client.expect(notification("run/output", stream="stdout", text="out\n", offset=0))
    client.unread("run/output")
    client.call("run/unsubscribe", {"runId": run_id})
    client.call("run/subscribe", {"runId": run_id, "stream": "stderr"})
    client.expect(notification("run/output", stream="stderr", text="err\n", offset=0))
    client.sync()
    assert [item["stream"] for item in client.unread("run/output")] == []


def test_from_an_offset(client: SidecarClient) -> None:
    run_id = client.run_to_end("echo abcdefghij")["runId"]
    for offset, expected in ((3, "defghij\n"), (-3, "ij\n"), (0, "abcdefghij\n")):
        client.call("run/subscribe", {"runId": run_id, "fromOffset": offset})
        begins_at = offset if offset >= 0 else 11 + offset
        follower = Follower(run_id, offset=begins_at)
        client.expect(follower.until(11))
        assert follower.text == expected
        client.call("run/unsubscribe", {"runId": run_id})
    client.sync()
    assert client.unread("run/output") == []


def test_after_unsubscribe_nothing_comes(servers: Servers, tmp_path: Path) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(f"echo one; {gate.wait}; echo two")["runId"]
    client.call("run/subscribe", {"runId": run_id})
    client.expect(Follower(run_id).until(4))
    assert client.call("run/unsubscribe", {"runId": run_id}) == {}
    client.unread("run/output")
    gate.open()
    client.expect(status(run_id, "complete"))
    client.run_to_end("true")
    assert client.unread("run/output") == []


def test_a_gap_is_closed_by_asking_from_where_one_stopped(servers: Servers, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    first = servers.connect()
    run_id = first.launch(f"echo one; {gate.wait}; echo two")["runId"]
    first.call("run/subscribe", {"runId": run_id})
    first.expect(Follower(run_id).until(4))
    first.kill()
    gate.open()
    second = servers.connect()
    second.wait_over(run_id)
    second.call("run/subscribe", {"runId": run_id, "fromOffset": 4})
    follower = Follower(run_id, offset=4)
    second.expect(follower.until(8))
    assert follower.text == "two\n"


def test_subscribing_twice_does_not_tell_twice(client: SidecarClient) -> None:
    run_id = client.launch("read -r _; echo one; exec sleep 600")["runId"]
    for _ in range(2):
        client.call("run/subscribe", {"runId": run_id, "fromOffset": 0})
    client.expect(Follower(run_id).until(4))
    client.stop(run_id)
    client.run_to_end("true")
    # The second may have begun anew, from where it asked; the same bytes never come a third time.
    assert len(client.unread("run/output")) <= 1


def test_of_a_run_that_is_not_there(client: SidecarClient) -> None:
    error = client.refusal("run/subscribe", {"runId": "0198c0de-0000-7000-8000-000000000000"})
    assert error["data"]["code"] == "not-found"


def test_unsubscribing_from_what_was_not_followed(client: SidecarClient) -> None:
    run_id = client.run_to_end("true")["runId"]
    assert client.call("run/unsubscribe", {"runId": run_id}) == {}


def test_a_large_log_comes_whole_to_one_who_reads(client: SidecarClient) -> None:
    text = "".join(f"{n}\n" for n in range(1, 100_001))
    run_id = client.launch("seq 100000")["runId"]
    client.call("run/subscribe", {"runId": run_id, "stream": "stdout"})
    follower = Follower(run_id)
    client.expect(follower.until(len(text)))
    assert follower.dropped or follower.text == text
    client.expect(over(run_id))


def test_control_characters_are_not_passed_on(client: SidecarClient) -> None:
    run_id = client.run_to_end(r"printf '\033[31mred\033[0m\r\n'")["runId"]
    client.call("run/subscribe", {"runId": run_id, "stream": "stdout"})
    follower = Follower(run_id)
    client.expect(follower.until(14))
    assert follower.text == "red\n"
