"""A runner that is refused what it needs when it begins waits for it, and does not die of it."""

import resource
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sidecar.core.states import RunState
from sidecar.procs import spawn, warden
from tests.support.runs import Runs
from tests.support.wait import wait_until

FEW = 8
"""The standard ones, the lease, and not enough for a warden's pipes and socket."""


class WithFew:
    """A spawner whose runners may open next to nothing."""

    def __init__(self) -> None:
        self.runner: subprocess.Popen[bytes] | None = None

    def spawn_runner(self, run_dir: str, lease_fd: int, env: Mapping[str, str], /) -> int:
        """Start the real runner, with a limit that can be raised later."""
        begin = f'exec 3<&{lease_fd} {lease_fd}<&-; ulimit -Sn {FEW}; exec "$@"'
        argv = warden.boot_argv("run", run_dir, spawn.package_paths())
        with Path(run_dir, "runner.log").open("ab") as log:
            self.runner = subprocess.Popen(
                ["bash", "-c", begin, "bash", *argv],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lease_fd,),
                start_new_session=True,
            )
        return self.runner.pid

    def spawn_adopter(self, run_dir: str, env: Mapping[str, str], /) -> int:
        """Start the real one."""
        return spawn.spawn_adopter(run_dir, env)

    def reap(self, pid: int, /) -> int | None:
        """Collect the runner."""
        assert self.runner is not None
        return self.runner.poll() if pid == self.runner.pid else 0


@pytest.fixture
def spawner(state_dir: Path, nothing_left: None) -> Iterator[WithFew]:
    found = WithFew()
    yield found
    assert found.runner is not None
    found.runner.wait(20)


def test_the_agent_is_started_once_there_are_descriptors(state_dir: Path, spawner: WithFew) -> None:
    runs = Runs(state_dir, spawner=spawner)
    run_id = runs.launch("echo", "at last")
    assert spawner.runner is not None
    wait_until(
        lambda: "EMFILE" in runs.story(run_id), what=lambda: f"a refusal in {runs.story(run_id)!r}"
    )
    assert spawner.runner.poll() is None
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.prlimit(spawner.runner.pid, resource.RLIMIT_NOFILE, (min(hard, 256), hard))
    assert runs.wait(run_id).state is RunState.COMPLETE
    assert runs.stdout(run_id) == b"at last\n"
    assert (runs.path(run_id) / "runner.log").stat().st_size < 4096
