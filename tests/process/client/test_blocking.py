"""A plain script launches, watches, stops and cleans up, from one thread or many."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sidecar.client.blocking import Client
from sidecar.client.errors import ClientClosed, WaitTimedOut
from sidecar.client.options import ClientOptions
from sidecar.core.errors import InvalidParams, NotFound, OtherSession, RunLive
from sidecar.core.states import ProofState, RunState, StopCause
from sidecar.procs import serving
from tests.support.serving import Gate
from tests.support.tree import ROOT
from tests.support.wait import DEADLINE_S, wait_until

DEADLINE_MS = int(DEADLINE_S * 1000)


@pytest.fixture
def client(options: ClientOptions) -> Iterator[Client]:
    """Give an open client."""
    with Client(**(options | {"name": "the script"})) as client:
        yield client


def text_of(client: Client, run_id: str) -> str:
    """The whole output of a run that is over."""
    return "".join(page.text for page in client.output(run_id))


def test_from_launch_to_result(client: Client, tmp_path: Path) -> None:
    (tmp_path / "project" / "sub").mkdir()
    run = client.launch(
        ["sh", "-c", 'pwd; cat; echo " $WORD"; echo oops >&2; exit 3'],
        prompt="read me",
        cwd="sub",
        env={"WORD": "told"},
        label="a label",
        timeout_ms=DEADLINE_MS,
    )
    assert (run.state, run.label) == (RunState.QUEUED, "a label")
    ended = client.wait(run)
    assert (ended.run_id, ended.state) == (run.run_id, RunState.FAILED)
    assert ended.steps[0].exit_code == 3
    assert ended.proof.state is ProofState.OBSERVED
    assert client.get(run.run_id[:20]) == ended
    said = f"{tmp_path}/project/sub\nread me told\n"
    result = client.result(run)
    assert (result.state, result.steps[0].answer) == (RunState.FAILED, said)
    assert text_of(client, run.run_id) == said
    assert b"".join(client.output_bytes(run, stream="stderr")) == b"oops\n"
    events = list(client.events(run))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert list(client.events(run, after_seq=len(events) - 1)) == events[-1:]


def test_refusals_are_what_they_are(client: Client, options: ClientOptions, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run = client.launch(shell=gate.wait)
    with pytest.raises(NotFound) as no_run:
        client.get("ffff-ffff")
    assert (no_run.value.code, no_run.value.field) == ("not-found", "runId")
    with pytest.raises(InvalidParams) as no_directory:
        client.launch(["true"], cwd="nowhere")
    assert no_directory.value.field == "cwd"
    with pytest.raises(RunLive):
        client.result(run)
    with pytest.raises(RunLive):
        client.dismiss(run)
    with Client(**(options | {"session_id": "another"})) as stranger:
        with pytest.raises(OtherSession):
            stranger.stop(run)
        assert stranger.stop(run, any_session=True).stopping is not None
    client.wait(run)


def test_stop(client: Client) -> None:
    run = client.launch(["sleep", "600"])
    stopped = client.stop(run, reason="enough", grace_ms=100, wait_ms=DEADLINE_MS)
    assert stopped.state is RunState.STOPPED
    assert stopped.stopped_by is not None
    assert stopped.stopped_by.cause is StopCause.USER
    assert (stopped.stopped_by.client, stopped.stopped_by.reason) == ("the script", "enough")
    assert client.stop(run).state is RunState.STOPPED


def test_lists_dismissals_and_the_end_of_files(client: Client) -> None:
    runs = [client.launch(["true"]) for _ in range(3)]
    client.wait_for(runs)
    newest_first = [run.run_id for run in reversed(runs)]
    assert [run.run_id for run in client.list(scope="session").runs] == newest_first
    assert [run.run_id for run in client.list(scope="session", limit=2).runs] == newest_first[:2]
    assert client.list(scope="session", states=["failed"]).runs == ()
    assert client.dismiss(runs[0]).dismissed_at is not None
    assert len(client.list(scope="session").runs) == 2
    assert len(client.list(scope="session", include_dismissed=True).runs) == 3
    assert client.undismiss(runs[0]).dismissed_at is None
    client.remove(runs[0])
    assert [run.run_id for run in client.list(scope="all").runs] == newest_first[:2]
    with pytest.raises(NotFound):
        client.remove(runs[0])
    assert client.list().runs == ()


def test_waiting_for_some_time(client: Client, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    slow, quick = client.launch(shell=gate.wait), client.launch(["true"])
    with pytest.raises(WaitTimedOut) as missed:
        client.wait(slow, timeout_ms=20)
    assert missed.value.run_id == slow.run_id
    waited = client.wait_for((slow, quick), until="any", timeout_ms=DEADLINE_MS)
    assert not waited.timed_out
    gate.open()
    assert {run.run_id for run in client.wait_for().runs} <= {slow.run_id}
    assert client.wait(slow, timeout_ms=DEADLINE_MS).state is RunState.COMPLETE


def test_agents_and_the_server(client: Client, state_dir: Path) -> None:
    assert [agent.name for agent in client.agents()] == ["command"]
    status = client.server_status()
    assert (status.pid, status.state_dir) == (client.server_pid, str(state_dir))
    assert status.session_id == client.session_id


def test_updates_end_with_what_they_were_told_last(client: Client) -> None:
    updates = client.updates()
    run = client.launch(["true"])
    seen = []
    for update in updates:
        seen.append(update)
        if update.ended_at is not None:
            break
    assert {update.run_id for update in seen} == {run.run_id}
    revisions = [update.revision for update in seen]
    assert revisions == sorted(set(revisions))
    assert seen[-1] == client.get(run)


def test_another_thread_may_close_it(options: ClientOptions, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    with Client(**options) as client:
        run = client.launch(shell=gate.wait)
        updates, notices = client.updates(), client.notices()
        with ThreadPoolExecutor() as pool:
            told = pool.submit(lambda: [update.run_id for update in updates])
            noticed = pool.submit(lambda: list(notices))
            waiting = pool.submit(client.wait, run)
            following = pool.submit(lambda: list(client.output(run, follow=True)))
            # The waiting one, the subscription, and this very question.
            wait_until(
                lambda: (
                    client.server_status().queues.requests >= 2
                    and client.server_status().counts.subscriptions == 1
                ),
                what="somebody who waits and somebody who follows",
            )
            client.close()
            for failing in (waiting, following):
                with pytest.raises(ClientClosed):
                    failing.result(DEADLINE_S)
            assert run.run_id in told.result(DEADLINE_S)
            assert noticed.result(DEADLINE_S) == []
        with pytest.raises(ClientClosed):
            client.get(run)
    gate.open()


def test_many_threads_at_once(client: Client) -> None:
    def work(number: int) -> str:
        run = client.launch(["echo", str(number)])
        assert client.wait(run).state is RunState.COMPLETE
        return text_of(client, run.run_id)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(16))) == [f"{number}\n" for number in range(16)]


def test_an_interrupt_ends_the_wait_and_not_the_run(client: Client, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run = client.launch(shell=gate.wait)

    def interrupt() -> None:
        wait_until(lambda: client.server_status().queues.requests == 2, what="the wait")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    helper = threading.Thread(target=interrupt)
    helper.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            client.wait(run)
    finally:
        signal.signal(signal.SIGINT, before)
        helper.join()
    # The server has been told that nobody waits any more.
    wait_until(lambda: client.server_status().queues.requests == 1, what="no wait any more")
    gate.open()
    assert client.wait(run).state is RunState.COMPLETE


def test_an_iterator_that_is_dropped_follows_no_longer(client: Client, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run = client.launch(shell=f"echo first; {gate.wait}")
    for page in client.output(run, follow=True):
        assert page.text == "first\n"
        break
    assert client.server_status().counts.subscriptions == 0
    gate.open()
    client.wait(run)


def test_it_is_opened_once_and_closed_as_often_as_one_likes(options: ClientOptions) -> None:
    client = Client(**options)
    with pytest.raises(ClientClosed):
        client.agents()
    with client:
        with pytest.raises(ClientClosed):
            client.open()
        pid = client.server_pid
        assert pid is not None
        # A Ctrl-C in the terminal is for the script, not for its server.
        assert os.getsid(pid) == pid
    client.close()
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(ClientClosed):
        client.open()


def test_a_child_process_opens_its_own(client: Client) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            client.agents()
        except ClientClosed:
            client.close()
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert client.agents()


def test_a_script_that_forgets_to_close_ends_all_the_same(
    options: ClientOptions, state_dir: Path, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    script = (
        "import sys\n"
        "from sidecar.client.blocking import Client\n"
        "client = Client()\n"
        "client.open()\n"
        "print(client.launch(shell=sys.argv[1]).run_id, client.session_id)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", script, gate.wait],
        env=options["env"],
        cwd=options["cwd"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    run_id, session_id = ended.stdout.split()
    # The session of the directory is the one that the command line has there, too.
    listed = subprocess.run(
        [*serving.own_command()[:-1], "list", "--all", "--json"],
        env=options["env"],
        cwd=options["cwd"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run_id in listed.stdout
    with Client(**(options | {"session_id": session_id})) as client:
        gate.open()
        assert client.wait(run_id).state is RunState.COMPLETE


def test_the_example_of_the_readme(options: ClientOptions) -> None:
    readme = (ROOT / "README.md").read_text()
    (example,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        if "Client()" in block
    ]
    ended = subprocess.run(
        [sys.executable, "-c", example.replace('"make", "-j2"', '"echo", "built"')],
        env=options["env"],
        cwd=options["cwd"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "built\ncomplete 0\n"), ended.stderr
