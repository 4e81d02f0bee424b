"""Launching and watching runs in tests without any server: control on a private state directory.

What is said of a run comes from its files as the store reads them; nothing here repairs or decides.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from sidecar.control.context import Caller, Context, Spawner
from sidecar.control.launch import launch
from sidecar.core.asked import Asked
from sidecar.core.plan import Mode, StepRequest
from sidecar.core.states import Run
from sidecar.procs import spawn
from sidecar.store.layout import open_state_dir
from sidecar.store.rundir import RunDir
from tests.support.wait import DEADLINE_S, wait_until

SESSION = "tests"


class Runs:
    """Runs of one state directory, launched in this process.  ``close`` reaps their runners."""

    def __init__(self, state_dir: Path, *, spawner: Spawner = spawn) -> None:
        self.layout = open_state_dir(str(state_dir))
        path = os.environ.get("PATH", os.defpath)
        self.ctx = Context(
            layout=self.layout,
            caller=Caller(session_id=SESSION, client="test"),
            base_env=(("PATH", path), ("HOME", str(state_dir))),
            runner_env={"PATH": path},
            parent_run_id=None,
            now_ms=lambda: time.time_ns() // 1_000_000,
            random_bytes=os.urandom,
            spawner=spawner,
        )
        self._runners: set[int] = set()

    def launch(
        self,
        *command: str,
        prompt: str | None = None,
        timeout_ms: int | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Launches a command and returns the run's id."""
        asked = Asked(
            run_id=None,
            label=None,
            session_id=None,
            cwd=str(cwd or self.layout.state_dir),
            env=tuple((env or {}).items()),
            timeout_ms=timeout_ms,
            parent_run_id=None,
            client_token=None,
            meta=None,
            steps=(StepRequest(agent="command", command=command, prompt=prompt),),
            mode=Mode.SINGLE,
        )
        launched = launch(self.ctx, asked)
        assert launched.runner_pid is not None
        self._runners.add(launched.runner_pid)
        self.runner_pid = launched.runner_pid
        return launched.snapshot.run.run_id

    def path(self, run_id: str) -> Path:
        """The run's directory."""
        return Path(self.layout.run_dir(run_id))

    def dir(self, run_id: str) -> RunDir:
        """The run's directory as a reader has it."""
        return RunDir(self.layout.run_dir(run_id))

    def read(self, run_id: str) -> Run:
        """The run as its status says."""
        return self.dir(run_id).read_status()

    def wait(self, run_id: str, *, deadline_s: float = DEADLINE_S) -> Run:
        """The run once it is over."""
        wait_until(
            lambda: self.read(run_id).is_over,
            what=lambda: f"the run over, but it is {self.read(run_id)}; {self.story(run_id)}",
            deadline_s=deadline_s,
        )
        return self.read(run_id)

    def wait_running(self, run_id: str) -> int:
        """The agent's pid, once it is known."""
        pids: list[int] = []

        def is_known() -> bool:
            attempt = self.read(run_id).steps[0].attempt
            if attempt is not None and attempt.agent is not None:
                pids.append(attempt.agent.pid)
            return bool(pids)

        wait_until(is_known, what=lambda: f"an agent of {self.read(run_id)}")
        return pids[0]

    def story(self, run_id: str) -> str:
        """The runner's own log, for a failed test's message."""
        return self.dir(run_id).runner_log_tail(8192).decode(errors="replace")

    def stdout(self, run_id: str) -> bytes:
        """All that the first attempt printed."""
        return (self.path(run_id) / "steps/0/1/stdout.log").read_bytes()

    def close(self) -> None:
        """Reaps every runner that was started here, waiting for its end."""
        wait_until(self._is_reaped, what="every runner ended")

    def _is_reaped(self) -> bool:
        self._runners = {pid for pid in self._runners if spawn.reap(pid) is None}
        return not self._runners
