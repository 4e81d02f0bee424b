"""``$/progress``: one token per active run, always an end, and only for who can show it."""

from pathlib import Path
from typing import Any

from tests.support.expectations import Expectation, Verdict, over, status
from tests.support.serving import Gate, Servers, SidecarClient

PROGRESS: dict[str, Any] = {"window": {"workDoneProgress": True}}


def of_kind(kind: str, token: object = None) -> Expectation:
    """A progress notice of this kind, for this token or (``None``) any."""

    def judge(params: dict[str, Any]) -> Verdict:
        fits = params["value"]["kind"] == kind and token in (None, params["token"])
        return Verdict.MET if fits else Verdict.UNMET

    return Expectation(what=f"progress {kind} of {token}", method="$/progress", judge=judge)


def created(client: SidecarClient) -> list[object]:
    """The tokens that the server has asked for, and has been granted."""
    asked = client.unread("window/workDoneProgress/create")
    return [params["token"] for params in asked]


def test_a_run_has_a_beginning_and_an_end(servers: Servers, tmp_path: Path) -> None:
    client, gate = servers.connect(capabilities=PROGRESS), Gate(tmp_path / "gate")
    run_id = client.launch(gate.wait, label="the label")["runId"]
    begin = client.expect(of_kind("begin"))
    assert begin["token"] in created(client)
    assert "the label" in begin["value"]["title"] + begin["value"].get("message", "")
    assert begin["value"].get("cancellable", False) is False
    gate.open()
    client.expect(of_kind("end", begin["token"]))
    client.expect(over(run_id))
    client.unread("$/progress")


def test_the_token_is_granted_before_it_is_used(servers: Servers) -> None:
    client = servers.connect(capabilities=PROGRESS)
    run_id = client.launch("exec sleep 600")["runId"]
    client.expect(of_kind("begin"))
    kinds = [note.method for note in client.notes if note.method != "run/status"]
    assert kinds[0] == "window/workDoneProgress/create"
    created(client)
    client.stop(run_id)
    client.expect(of_kind("end"))
    client.unread("$/progress")


def test_each_run_has_a_token_of_its_own(servers: Servers) -> None:
    client = servers.connect(capabilities=PROGRESS)
    run_ids = [client.launch("exec sleep 600")["runId"] for _ in range(3)]
    tokens = [client.expect(of_kind("begin"))["token"] for _ in run_ids]
    assert len(set(tokens)) == 3
    for run_id in run_ids:
        client.stop(run_id)
    for token in tokens:
        client.expect(of_kind("end", token))
    created(client)
    client.unread("$/progress")


def test_who_cannot_show_it_is_not_sent_it(servers: Servers) -> None:
    unable: list[dict[str, Any]] = [{}, {"window": {}}, {"window": {"workDoneProgress": False}}]
    for capabilities in unable:
        client = servers.connect(capabilities=capabilities)
        run_id = client.launch("true")["runId"]
        client.expect(status(run_id, "complete"))
        client.sync()
        methods = {note.method for note in client.notes}
        assert methods.isdisjoint({"$/progress", "window/workDoneProgress/create"})
        client.close()


def test_what_is_active_at_the_start_has_a_progress(servers: Servers) -> None:
    first = servers.connect()
    run_id = first.launch("exec sleep 600")["runId"]
    second = servers.connect(capabilities=PROGRESS)
    begin = second.expect(of_kind("begin"))
    first.stop(run_id)
    second.expect(of_kind("end", begin["token"]))
    created(second)
    second.unread("$/progress")


def test_cancelling_the_progress_does_not_touch_the_run(servers: Servers) -> None:
    # Editors cancel progress for reasons of their own.
    client = servers.connect(capabilities=PROGRESS)
    run_id = client.launch("exec sleep 600")["runId"]
    token = client.expect(of_kind("begin"))["token"]
    client.notify("window/workDoneProgress/cancel", {"token": token})
    client.sync()
    assert "stopping" not in client.get(run_id)
    client.stop(run_id)
    client.expect(of_kind("end", token))
    created(client)
    client.unread("$/progress")


def test_cancelling_the_progress_stops_the_run_if_that_was_asked_for(servers: Servers) -> None:
    client = servers.connect(capabilities=PROGRESS, progressCancel="stop")
    run_id = client.launch("exec sleep 600")["runId"]
    begin = client.expect(of_kind("begin"))
    assert begin["value"]["cancellable"] is True
    client.notify("window/workDoneProgress/cancel", {"token": "no such token"})
    client.notify("window/workDoneProgress/cancel", {"token": begin["token"]})
    client.expect(status(run_id, "stopped"))
    client.expect(of_kind("end", begin["token"]))
    created(client)
    client.unread("$/progress")


def test_short_runs_end_what_they_begin(servers: Servers) -> None:
    client = servers.connect(capabilities=PROGRESS)
    run_ids = [client.launch("true")["runId"] for _ in range(10)]
    for run_id in run_ids:
        client.expect(over(run_id))
    client.run_to_end("true")
    client.sync()
    kinds: dict[object, list[str]] = {}
    for params in client.unread("$/progress"):
        kinds.setdefault(params["token"], []).append(params["value"]["kind"])
    assert set(kinds) <= set(created(client))
    for sequence in kinds.values():
        assert (sequence[0], sequence[-1]) == ("begin", "end")
        assert set(sequence[1:-1]) <= {"report"}
