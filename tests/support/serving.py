"""Starting servers and speaking to them of runs: what almost every black-box test begins with.

The command is whatever ``--server-command`` says. A server finds its state directory by the
environment, gets a home of its own and a small environment, and writes its standard error to a
file, so that a test never waits for a pipe that nobody reads.
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.expectations import TERMINAL_STATES
from tests.support.rpc import Client
from tests.support.wait import DEADLINE_S, wait_until

SIDECAR = (sys.executable, "-m", "sidecar")
OURS = (*SIDECAR, "serve")
SESSION = "the-session"

# What a server may inherit of the test's own environment; all else would make tests differ.
INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


def server_command(config: pytest.Config) -> tuple[str, ...]:
    """The command under test: ours, unless the command line names another."""
    given = config.getoption("server_command", default=None)
    return tuple(shlex.split(given)) if given else OURS


def environment(state_dir: Path, extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """A small environment; ``extra`` adds to it, and takes away with ``None``."""
    home = state_dir.parent / "home"
    home.mkdir(exist_ok=True)
    env: dict[str, str | None] = {
        name: os.environ[name] for name in INHERITED if name in os.environ
    }
    env |= {"HOME": str(home), "SIDECAR_STATE_DIR": str(state_dir)}
    env |= extra or {}
    return {name: value for name, value in env.items() if value is not None}


class SidecarClient(Client):
    """A client that knows the vocabulary of runs."""

    def initialize(
        self,
        *,
        session: str | None = SESSION,
        capabilities: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Shake hands; ``options`` go into ``initializationOptions``, ``params`` beside them."""
        asked = self.post_initialize(session, capabilities, params, **options)
        result: dict[str, Any] = self.result(asked)
        self.notify("initialized", {})
        return result

    def post_initialize(
        self,
        session: str | None = SESSION,
        capabilities: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
        **options: Any,
    ) -> int | str:
        """Send ``initialize`` without waiting for the answer; the id of the request."""
        if session is not None:
            options["sessionId"] = session
        request: dict[str, Any] = {
            "processId": os.getpid(),
            "rootUri": None,
            "capabilities": capabilities or {},
            "initializationOptions": options,
        }
        return self.post("initialize", request | (params or {}))

    def launch(
        self, shell: str | None = None, *, command: Sequence[str] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Launch a command as a run; ``fields`` go into the launch, beside the step."""
        run: dict[str, Any] = self.call("run/launch", launch_of(shell, command, **fields))["run"]
        return run

    def get(self, run_id: str) -> dict[str, Any]:
        """The run as it is now."""
        run: dict[str, Any] = self.call("run/get", {"runId": run_id})["run"]
        return run

    def wait_over(self, *run_ids: str) -> list[dict[str, Any]]:
        """Wait, by the server's own means, until all these runs are over."""
        params = {"runIds": list(run_ids), "until": "all", "timeoutMs": int(DEADLINE_S * 1000)}
        waited = self.call("run/wait", params, deadline_s=DEADLINE_S + 5)
        assert not waited["timedOut"], f"not over in time: {waited['runs']}"
        by_id = {run["runId"]: run for run in waited["runs"]}
        runs = [by_id[run_id] for run_id in run_ids]
        assert all(run["state"] in TERMINAL_STATES for run in runs), runs
        return runs

    def run_to_end(
        self, shell: str | None = None, *, command: Sequence[str] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Launch and wait; the run as it ended."""
        run = self.launch(shell, command=command, **fields)
        return self.wait_over(run["runId"])[0]

    def stop(self, run_id: str, **params: Any) -> dict[str, Any]:
        """Stop a run and wait until it is over, proof included."""
        wait_ms = int(DEADLINE_S * 1000)
        request = {"runId": run_id, "waitMs": wait_ms} | params
        run: dict[str, Any] = self.call("run/stop", request, deadline_s=DEADLINE_S + 5)["run"]
        return run

    def text(self, run_id: str, **params: Any) -> str:
        """The whole output of a run, page by page."""
        text, offset = "", 0
        while True:
            request = {"runId": run_id, "offset": offset} | params
            page = self.call("run/output", request)
            text += str(page["text"])
            if page["eof"]:
                return text
            assert page["nextOffset"] > offset, f"a page that leads nowhere: {page}"
            offset = page["nextOffset"]

    def agent(self, run_id: str) -> int:
        """Wait until the run's agent has been started; its pid."""
        wait_until(
            lambda: "pid" in self.get(run_id)["steps"][0], what=f"the agent of {run_id} to be there"
        )
        return int(self.get(run_id)["steps"][0]["pid"])

    def wait_text(self, run_id: str, text: str) -> None:
        """Wait until the agent has written exactly this, as its sign of being where it should."""
        wait_until(
            lambda: self.text_now(run_id) == text,
            what=lambda: f"{text!r} of {run_id}, not {self.text_now(run_id)!r}",
        )

    def text_now(self, run_id: str, **params: Any) -> str:
        """The first page of a run's output, as far as it has come."""
        page: dict[str, Any] = self.call("run/output", {"runId": run_id} | params)
        return str(page["text"])

    def list(self, **params: Any) -> list[dict[str, Any]]:
        """The runs that ``run/list`` tells of; a single page."""
        listed: dict[str, Any] = self.call("run/list", params)
        return list(listed["runs"])


def launch_of(
    shell: str | None = None,
    command: Sequence[str] | None = None,
    *,
    step: Mapping[str, object] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The params of a launch of one command; ``step`` adds to its only step."""
    what = {"shell": shell} if command is None else {"command": list(command)}
    return {"step": {"agent": "command", **what, **(step or {})}, **fields}


class Servers:
    """All servers of one test. On the way out: all closed in order, or killed and told about."""

    def __init__(self, command: Sequence[str], state_dir: Path) -> None:
        self.command = tuple(command)
        self.state_dir = state_dir
        self._clients: list[SidecarClient] = []

    def start(
        self,
        *,
        env: Mapping[str, str | None] | None = None,
        wrapper: Sequence[str] = (),
        arguments: Sequence[str] = (),
        cwd: Path | None = None,
        new_session: bool = False,
    ) -> SidecarClient:
        """Start a server and nothing more; ``wrapper`` is a command that execs the server's."""
        _hear_signals()
        name = f"server {len(self._clients) + 1}"
        stderr = self.state_dir.parent / f"{name.replace(' ', '-')}.stderr"
        with stderr.open("wb") as sink:
            proc = subprocess.Popen(
                [*wrapper, *self.command, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=environment(self.state_dir, env),
                cwd=cwd or self.state_dir.parent,
                start_new_session=new_session,
            )
        client = SidecarClient(proc, name=name, stderr=stderr)
        self._clients.append(client)
        return client

    def connect(
        self,
        *,
        session: str | None = SESSION,
        capabilities: dict[str, Any] | None = None,
        env: Mapping[str, str | None] | None = None,
        **options: Any,
    ) -> SidecarClient:
        """Start a server and shake hands with it."""
        client = self.start(env=env)
        client.initialize(session=session, capabilities=capabilities, **options)
        return client

    def part(self, *, in_order: bool) -> None:
        """Close every server and check it, or (not ``in_order``) just end them all."""
        failures: list[AssertionError] = []
        for client in self._clients:
            if in_order and not failures:
                try:
                    client.close()
                except AssertionError as failure:
                    failures.append(failure)
            client.abandon()
            # Shown by pytest if, and only if, the test failed.
            print(client.log())
        if failures:
            raise failures[0]


@contextmanager
def serving(request: pytest.FixtureRequest, state_dir: Path) -> Iterator[Servers]:
    """The servers of one test, for a fixture; a test that has failed parts from nobody."""
    failed_before = request.session.testsfailed
    servers = Servers(server_command(request.config), state_dir)
    try:
        yield servers
    finally:
        servers.part(in_order=request.session.testsfailed == failed_before)


def cli(
    state_dir: Path, *arguments: str, env: Mapping[str, str | None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end; its output is text."""
    return subprocess.run(
        [*SIDECAR, *arguments],
        env=environment(state_dir, {"SIDECAR_SESSION": SESSION} | dict(env or {})),
        cwd=state_dir.parent,
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S * 2,
    )


class Gate:
    """A pipe in the file system, in front of which a child waits until the test lets it through."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    @property
    def wait(self) -> str:
        """The shell command with which a child waits; as many children as like."""
        return f"read -r _ < {shlex.quote(str(self.path))}"

    def open(self) -> None:
        """Let one waiting child through, once there is one."""
        wait_until(self._try_open, what=f"a child that waits at {self.path.name}")

    def _try_open(self) -> bool:
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # ENXIO: nobody reads yet
            return False
        os.write(descriptor, b"go\n")
        os.close(descriptor)
        return True


def _hear_signals() -> None:
    """Undo what a shell does to its background jobs: an ignored signal is inherited by servers."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def lines_of(path: Path) -> list[str]:
    """The whole lines of a file that may not exist yet."""
    if not path.exists():
        return []
    return path.read_text(errors="replace").splitlines()
