"""A lot of output: complete on disk, bounded in memory, and told in a handful of statuses."""

from pathlib import Path

import pytest

from tests.support.each import each
from tests.support.marks import parent_of
from tests.support.rpc import peak_kib
from tests.support.serving import Gate, SidecarClient
from tests.support.wait import wait_until

MIB = 1 << 20

# Above its size at rest, for which the interpreter and not the output is to blame.
MAY_GROW_KIB = 16 * 1024


def high_water_kib(pid: int) -> int:
    """The most memory that this process ever held."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise LookupError(pid)


def supervisors(client: SidecarClient, run_id: str) -> list[int]:
    """The warden and the runner of a live run: the parent of the agent, and its parent."""
    agent = client.agent(run_id)
    warden = parent_of(agent)
    return [warden, parent_of(warden)]


def flood(client: SidecarClient, tmp_path: Path, shell: str, size: int) -> tuple[str, list[int]]:
    """Run ``shell`` between two gates; how much memory its supervisors took for its output."""
    gates = [Gate(tmp_path / name) for name in ("before", "after")]
    run_id: str = client.launch(f"{gates[0].wait}; {shell}; {gates[1].wait}")["runId"]
    pids = supervisors(client, run_id)
    before = [high_water_kib(pid) for pid in pids]
    gates[0].open()
    log = tmp_path / "state" / "runs" / run_id / "steps" / "0" / "1" / "stdout.log"
    wait_until(lambda: log.stat().st_size == size, what="all its output")
    grown = [high_water_kib(pid) - at_first for pid, at_first in zip(pids, before, strict=True)]
    gates[1].open()
    assert client.wait_over(run_id)[0]["state"] == "complete"
    return run_id, grown


def test_lines_that_never_end(client: SidecarClient, tmp_path: Path) -> None:
    # One of 3 MiB with its end, one of 10 MiB without.
    at_first = peak_kib(client)
    run_id, grown = flood(
        client,
        tmp_path,
        f"head -c {3 * MIB} /dev/zero | tr '\\0' a; echo; "
        f"head -c {10 * MIB} /dev/zero | tr '\\0' b",
        13 * MIB + 1,
    )
    assert max(grown) < MAY_GROW_KIB
    assert len(client.get(run_id)["steps"][0]["answerPreview"]) <= 160
    page = client.call("run/output", {"runId": run_id, "offset": 3 * MIB - 1, "limit": 3})
    assert page["text"] == "a\nb"
    assert page["truncated"] is True
    tail = client.call("run/output", {"runId": run_id, "offset": -5})
    assert (tail["text"], tail["eof"]) == ("bbbbb", True)
    result = client.call("run/result", {"runId": run_id})
    assert result["steps"][0]["answerTruncated"] is True
    assert len(result["steps"][0]["answer"]) <= 200 * 1024
    assert peak_kib(client) - at_first < 2 * MAY_GROW_KIB


@each("size", [65535, 65536, 65537, MIB])
def test_lines_around_the_limits_of_readers(client: SidecarClient, size: int) -> None:
    run = client.run_to_end(f"head -c {size} /dev/zero | tr '\\0' x; echo; echo after")
    assert client.text(run["runId"]) == "x" * size + "\nafter\n"
    assert run["steps"][0]["answerPreview"] == "after"


@pytest.mark.slow
def test_two_hundred_thousand_lines_are_not_two_hundred_thousand_writes(
    client: SidecarClient, state_dir: Path
) -> None:
    program = 'i=0; seq -f \'{"type":"event","n":%.0f}\' 0 199999; echo \'{"type":"result"}\''
    run = client.run_to_end(program)
    assert run["state"] == "complete"
    assert run["steps"][0]["answerPreview"] == '{"type":"result"}'
    # What is counted: the changes that were ever written, told, or recorded.
    last = client.call("run/events", {"runId": run["runId"]})["lastSeq"]
    assert last < 60
    assert run["revision"] < 60
    told = [note for note in client.notes if note.method == "run/status"]
    assert len(told) < 60
    run_dir = state_dir / "runs" / run["runId"]
    sizes = {path: path.stat().st_size for path in run_dir.rglob("*") if path.is_file()}
    log = run_dir / "steps" / "0" / "1" / "stdout.log"
    # The answer in the result is a copy of its beginning; nothing else may grow with the output.
    assert sum(sizes.values()) - sizes[log] < 300 * 1024


def test_the_last_state_told_is_the_last_state_stored(client: SidecarClient) -> None:
    # A burst right before the end: what is coalesced must not hide what came last.
    for _ in range(5):
        run = client.run_to_end("seq 20000; exit 7")
        client.sync()
        assert client.monitor.newest[run["runId"]] == client.get(run["runId"])
        assert run["steps"][0]["outputBytes"]["stdout"] == 108_894


def test_a_chatty_stderr_and_a_silent_stdout(client: SidecarClient) -> None:
    run = client.run_to_end("seq 50000 >&2; exit 9")
    assert run["steps"][0]["outputBytes"] == {"stdout": 0, "stderr": 288_894}
    result = client.call("run/result", {"runId": run["runId"]})
    assert result["steps"][0]["stderrTail"].endswith("50000\n")
    assert len(result["steps"][0]["stderrTail"]) <= 4096


def test_a_flood_that_kills_itself_is_told_by_its_signal(client: SidecarClient) -> None:
    run = client.run_to_end("seq 200000; kill -9 $$")
    assert (run["state"], run["steps"][0]["signal"]) == ("failed", 9)
    assert client.text(run["runId"]).endswith("200000\n")


def test_both_streams_at_once(client: SidecarClient) -> None:
    run = client.run_to_end("seq 100000 & seq 100000 >&2; wait")
    assert run["steps"][0]["outputBytes"] == {"stdout": 588_895, "stderr": 588_895}


@pytest.mark.slow
def test_a_flood_does_not_grow_with_its_length(client: SidecarClient, tmp_path: Path) -> None:
    size = 200 * MIB
    _, grown = flood(client, tmp_path, f"head -c {size} /dev/zero", size)
    assert max(grown) < MAY_GROW_KIB
