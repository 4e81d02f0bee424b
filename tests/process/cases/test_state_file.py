"""Damage on disk: what is damaged is named and left alone, and everything else goes on.

Full disks, power cuts and other people's tools leave half a file, none, a directory of its name. A
reader that repairs, defaults or throws makes it worse; each mode here was somebody's lost session.
"""

import hashlib
import os
import shutil
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.each import each
from tests.support.marks import parent_of
from tests.support.serving import Gate, Servers, SidecarClient
from tests.support.wait import wait_until

BOM = b"\xef\xbb\xbf"


def rewrite(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return damage


def become_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def become_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def leave_a_sibling(path: Path) -> None:
    """Die between taking the old one away and putting the new one in its place."""
    path.rename(path.with_name(f"{path.name}.tmp"))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "half": rewrite(lambda data: data[: len(data) // 2]),
    "zero": rewrite(lambda _: b""),
    "brace": rewrite(lambda _: b"{"),
    "bom": rewrite(lambda data: BOM + data),
    "list": rewrite(lambda _: b"[]"),
    "null": rewrite(lambda _: b"null"),
    "noise": rewrite(lambda data: bytes(reversed(data))),
    "nuls": rewrite(lambda data: b"\0" * len(data)),
    "foreign": rewrite(lambda _: b'{"type":"session","id":"of another program"}'),
    "future": rewrite(lambda data: data.replace(b'"format":1', b'"format":999')),
    "missing": lambda path: path.unlink(),
    "directory": become_directory,
    "loop": become_loop,
    "sibling": leave_a_sibling,
}

FILES = ["request.json", "events.jsonl", "result.json"]


def fingerprint(run_dir: Path) -> dict[str, str]:
    """Every file below a directory and what is in it, links as links."""
    found = {}
    for path in sorted(run_dir.rglob("*")):
        name = path.relative_to(run_dir).as_posix()
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"  # noqa: PTH115
        elif path.is_dir():
            found[name] = "directory"
        elif path.is_socket():
            found[name] = "socket"
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def tidy_up(state_dir: Path, run_id: str) -> None:
    """Take away what the test itself, or nobody at all any more, has left of a damaged run."""
    run_dir = state_dir / "runs" / run_id
    for path in (*run_dir.glob("*.tmp"), run_dir / "bell", state_dir / "active" / run_id):
        path.unlink(missing_ok=True)


def three_runs(servers: Servers) -> list[str]:
    """Three runs that are over, and no server any more; oldest first."""
    client = servers.connect()
    run_ids = [client.run_to_end(f"echo {n}; exit {n % 2}")["runId"] for n in range(3)]
    client.close()
    return run_ids


class Ward:
    """One run for each mode of damage, a good one before and after them, and no server."""

    def __init__(self, servers: Servers, state_dir: Path, modes: Iterable[str]) -> None:
        self.runs_dir = state_dir / "runs"
        client = servers.connect()
        self.first = client.run_to_end("echo first")["runId"]
        launched = {mode: client.launch(f"echo {mode}", label=mode)["runId"] for mode in modes}
        client.wait_over(*launched.values())
        self.last = client.run_to_end("false")["runId"]
        client.close()
        self.damaged: dict[str, str] = launched

    def damage(self, *names: str) -> None:
        """Do to these files of each run what its mode says."""
        for mode, run_id in self.damaged.items():
            for name in names:
                DAMAGES[mode](self.runs_dir / run_id / name)

    def state(self) -> dict[str, dict[str, str]]:
        """What there is of each damaged run, by mode."""
        return {mode: fingerprint(self.runs_dir / run_id) for mode, run_id in self.damaged.items()}

    def assert_others_are_listed(self, listed: dict[str, Any]) -> None:
        """The good ones are there, in their order; nothing can be said of the damaged ones."""
        ids = [run["runId"] for run in listed["runs"]]
        assert [run_id for run_id in ids if run_id not in self.damaged.values()] == [
            self.last,
            self.first,
        ]


def test_a_damaged_status(servers: Servers, state_dir: Path) -> None:
    ward = Ward(servers, state_dir, DAMAGES)
    ward.damage("status.json")
    before = ward.state()

    client = servers.connect()
    listed = client.call("run/list", {"scope": "all"})
    ward.assert_others_are_listed(listed)
    assert len(listed["runs"]) == 2
    problems = {str(problem["path"]): problem for problem in listed["problems"]}
    for mode, run_id in ward.damaged.items():
        told = [problem for path, problem in problems.items() if run_id in path]
        assert len(told) == 1, (mode, listed["problems"])
        assert told[0]["error"]
        for method in ("run/get", "run/stop", "run/dismiss"):
            error = client.refusal(method, {"runId": run_id})
            assert error["code"] == -32803
            assert error["data"]["code"] not in ("internal", "not-found"), (mode, method, error)
    assert client.run_to_end("true")["state"] == "complete"
    assert len(client.list(scope="all")) == 3
    assert ward.state() == before
    for run_id in ward.damaged.values():
        tidy_up(state_dir, run_id)


def test_every_other_file_damaged(servers: Servers, state_dir: Path) -> None:
    # The status is good, so the run is still there; what cannot be read is refused, not invented.
    ward = Ward(servers, state_dir, DAMAGES)
    ward.damage(*FILES)
    before = ward.state()

    client = servers.connect()
    listed = client.call("run/list", {"scope": "all"})
    ward.assert_others_are_listed(listed)
    for mode, run_id in ward.damaged.items():
        assert run_id in str(listed)
        for method in ("run/result", "run/events", "run/output", "run/get"):
            message = client.answer(client.post(method, {"runId": run_id}))
            code = message.get("error", {}).get("data", {}).get("code")
            assert code != "internal", (mode, method, message)
    assert client.call("run/result", {"runId": ward.first})["state"] == "complete"
    assert ward.state() == before
    for run_id in ward.damaged.values():
        tidy_up(state_dir, run_id)


def test_a_damaged_dismissal(servers: Servers, state_dir: Path) -> None:
    ward = Ward(servers, state_dir, ["half", "zero", "missing", "directory", "foreign", "loop"])
    client = servers.connect()
    for run_id in ward.damaged.values():
        client.call("run/dismiss", {"runId": run_id})
    client.close()
    ward.damage("dismissed.json")

    client = servers.connect()
    listed = client.call("run/list", {"scope": "all", "includeDismissed": True})
    ward.assert_others_are_listed(listed)
    for mode, run_id in ward.damaged.items():
        assert run_id in str(listed), mode
        message = client.answer(client.post("run/get", {"runId": run_id}))
        assert message.get("error", {}).get("data", {}).get("code") != "internal", mode


def test_what_does_not_belong_there_is_named_or_ignored_and_left_alone(
    servers: Servers, state_dir: Path
) -> None:
    first, second, last = three_runs(servers)
    runs = state_dir / "runs"
    (runs / "a file").write_text("hello")
    (runs / "not-a-run-id").mkdir()
    (runs / "0198c0de-0000-7000-8000-000000000000").mkdir()
    (runs / "0198c0de-0000-7000-8000-000000000001").write_text("")
    (runs / "dangling").symlink_to("nowhere")
    (state_dir / "active" / "not-a-run-id").write_text("")
    (state_dir / "doorbells" / "not-a-socket").write_text("")
    before = fingerprint(state_dir)
    client = servers.connect()
    listed = client.call("run/list", {"scope": "all"})
    assert [run["runId"] for run in listed["runs"]] == [last, second, first]
    run = client.run_to_end("true")
    assert run["state"] == "complete"
    after = fingerprint(state_dir)
    assert {name: after.get(name) for name in before if name.startswith("runs/")} == {
        name: content for name, content in before.items() if name.startswith("runs/")
    }
    (state_dir / "active" / "not-a-run-id").unlink(missing_ok=True)


@each(
    "tail",
    [
        b"Traceback (most recent call last):\n  dir(parent)\n",
        b'{"format":1,"seq":99',
        b"\0" * 4096,
        b'{"type":"late","text":"caf\xc3',
        b"\n\n\n",
        b"[]\n17\nnull\n",
    ],
)
def test_a_log_with_a_foreign_tail_is_still_read(
    client: SidecarClient, state_dir: Path, tail: bytes
) -> None:
    run_id = client.run_to_end("true")["runId"]
    before = client.call("run/events", {"runId": run_id})
    log = state_dir / "runs" / run_id / "events.jsonl"
    with log.open("ab") as file:
        file.write(tail)
    content = log.read_bytes()
    assert client.call("run/events", {"runId": run_id}) == before
    assert log.read_bytes() == content


def test_an_event_that_is_written_in_two_pieces_is_seen_once_and_whole(
    client: SidecarClient, state_dir: Path
) -> None:
    run_id = client.run_to_end("true")["runId"]
    whole = client.call("run/events", {"runId": run_id})
    log = state_dir / "runs" / run_id / "events.jsonl"
    content = log.read_bytes()
    cut = content.rstrip(b"\n").rfind(b"\n") + 20
    log.write_bytes(content[:cut])
    first = client.call("run/events", {"runId": run_id})
    assert first["events"] == whole["events"][:-1]
    log.write_bytes(content)
    after = client.call("run/events", {"runId": run_id, "afterSeq": first["lastSeq"]})
    assert after["events"] == whole["events"][-1:]


def kill_all_of(client: SidecarClient, run_id: str) -> None:
    """SIGKILL runner, warden and agent at once: nobody is left to write anything."""
    agent = client.agent(run_id)
    warden = parent_of(agent)
    runner = parent_of(warden)
    for pid in (runner, warden):
        os.kill(pid, signal.SIGSTOP)
    for pid in (runner, warden, agent):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("damage", ["torn", "foreign"])
def test_numbers_go_on_after_a_damaged_log(
    servers: Servers, state_dir: Path, tmp_path: Path, damage: str
) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(gate.wait)["runId"]
    kill_all_of(client, run_id)
    client.kill()
    log = state_dir / "runs" / run_id / "events.jsonl"
    content = log.read_bytes()
    if damage == "torn":
        log.write_bytes(content + content.splitlines(keepends=True)[-1][:25])
    else:
        log.write_bytes(content + b"Traceback (most recent call last):\n")

    after = servers.connect()
    run = after.wait_over(run_id)[0]
    assert (run["state"], run["reason"]) == ("failed", "runner-lost")
    events = after.call("run/events", {"runId": run_id})
    numbers = [event["seq"] for event in events["events"]]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
    assert run["revision"] >= numbers[-1]
    assert "runner-started" in [event["kind"] for event in events["events"][2:]]
    after.unread("run/notice")
    tidy_up(state_dir, run_id)


def test_damaged_runs_that_nobody_leads_are_not_repaired_into_nothing(
    servers: Servers, state_dir: Path
) -> None:
    client = servers.connect()
    modes = ("half", "zero", "missing", "directory")
    damaged = {mode: client.launch("exec sleep 600")["runId"] for mode in modes}
    for run_id in damaged.values():
        kill_all_of(client, run_id)
    client.kill()

    def kept() -> dict[str, dict[str, str]]:
        found = {mode: fingerprint(state_dir / "runs" / run) for mode, run in damaged.items()}
        for files in found.values():
            files.pop("runner.log", None)
        return found

    for mode, run_id in damaged.items():
        DAMAGES[mode](state_dir / "runs" / run_id / "status.json")
    before = kept()
    after = servers.connect()
    # Longer than a caretaker waits before it would adopt.
    assert after.run_to_end("sleep 5")["state"] == "complete"
    listed = after.call("run/list", {"scope": "all"})
    assert all(run_id in str(listed.get("problems")) for run_id in damaged.values())
    assert kept() == before
    after.unread("run/notice")
    for run_id in damaged.values():
        tidy_up(state_dir, run_id)


def test_a_live_run_whose_status_is_damaged_heals_by_its_own_writer(
    servers: Servers, state_dir: Path, tmp_path: Path
) -> None:
    client, gate = servers.connect(), Gate(tmp_path / "gate")
    run_id = client.launch(gate.wait)["runId"]
    client.agent(run_id)
    (state_dir / "runs" / run_id / "status.json").write_bytes(b"")
    other = servers.connect()
    assert run_id in str(other.call("run/list", {"scope": "all"})["problems"])
    gate.open()
    wait_until(
        lambda: [run["runId"] for run in other.list(scope="all", states=["complete"])] == [run_id],
        what="the run to be whole again",
    )


def test_a_whole_tree_of_damage_does_not_end_a_server(servers: Servers, state_dir: Path) -> None:
    run_ids = three_runs(servers)
    for run_id in run_ids:
        for path in (state_dir / "runs" / run_id).rglob("*.json*"):
            path.write_bytes(b"\xff" * 100)
    client = servers.connect()
    listed: dict[str, Any] = client.call("run/list", {"scope": "all"})
    assert listed["runs"] == []
    assert len(listed["problems"]) == 3
    assert client.run_to_end("true")["state"] == "complete"


def test_a_state_directory_that_vanishes_under_a_server(servers: Servers, state_dir: Path) -> None:
    client = servers.connect()
    client.run_to_end("true")
    shutil.rmtree(state_dir)
    assert client.list(scope="all") == []
    message = client.answer(
        client.post("run/launch", {"step": {"agent": "command", "shell": "true"}})
    )
    if "result" in message:
        assert client.wait_over(message["result"]["run"]["runId"])[0]["state"] == "complete"
    else:
        assert message["error"]["data"]["code"] == "storage"
