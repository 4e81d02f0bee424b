"""The second opinion on what is gone must itself find everything, and nothing else."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.procs import assert_no_processes, kill_processes, processes_of
from tests.support.wait import DeadlineMissedError, wait_until

# Reads its standard input to the end: it lives as long as the test wants it to.
PROGRAM = "import sys; sys.stdin.read()"


@contextlib.contextmanager
def child(
    *words: str, env: dict[str, str] | None = None, cwd: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that ends with the block."""
    argv = [sys.executable, "-I", "-S", "-c", PROGRAM, *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env=env, cwd=cwd) as proc:
        yield proc


def found(state_dir: Path) -> dict[int, tuple[str, ...]]:
    return {process.pid: process.mentioned_in for process in processes_of(state_dir)}


def test_finds_by_command_line_environment_directory_and_open_file(state_dir: Path) -> None:
    log = (state_dir / "log").open("w")
    with (
        child(str(state_dir / "runs" / "r1"), env={}) as by_argv,
        child(env={"SIDECAR_STATE_DIR": str(state_dir)}) as by_env,
        child(env={}, cwd=state_dir) as by_cwd,
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=log,
            env={},
        ) as by_file,
    ):
        expected = {
            by_argv.pid: ("command line",),
            by_env.pid: ("environment",),
            by_cwd.pid: ("working directory",),
            by_file.pid: ("open files",),
        }
        # Between fork and exec a child still looks like us.
        wait_until(lambda: found(state_dir) == expected, what=lambda: str(found(state_dir)))
    log.close()
    assert_no_processes(state_dir)


def test_does_not_mistake_a_sibling_directory_for_it(state_dir: Path) -> None:
    sibling = state_dir.with_name("state-2")
    with child(env={"SIDECAR_STATE_DIR": str(sibling)}) as proc:
        wait_until(lambda: proc.pid in found(sibling), what="the child to be found")
        assert found(state_dir) == {}


def test_names_what_is_left(state_dir: Path) -> None:
    with (
        child(str(state_dir), env={}) as proc,
        pytest.raises(DeadlineMissedError, match=rf"{proc.pid} \[.*by its command line"),
    ):
        assert_no_processes(state_dir, deadline_s=0.5)


def test_kills_what_is_left_and_says_what_it_was(state_dir: Path) -> None:
    with child(str(state_dir), env={}) as proc:
        wait_until(lambda: proc.pid in found(state_dir), what="the child to be found")
        assert [process.pid for process in kill_processes(state_dir)] == [proc.pid]
        assert proc.wait() == -signal.SIGKILL
    assert_no_processes(state_dir)
