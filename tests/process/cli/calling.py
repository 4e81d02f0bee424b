"""Calling the command line as a person or a script does, on a state directory of its own."""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.wait import wait_until

SESSION = "test-session"
ENDED_S = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a call said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """stdout, which has to be one JSON document."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def run_id(self) -> str:
        """stdout, which has to be one run id."""
        (run_id,) = self.out.splitlines()
        assert len(run_id) == 36
        return run_id


@dataclass(slots=True, kw_only=True)
class Cli:
    """One caller: its state directory, its directory, its environment."""

    state_dir: Path
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)

    def call(self, *words: str, stdin: bytes = b"") -> Said:
        """Call and wait for the end; a traceback is never right."""
        done = subprocess.run(
            self.argv(*words),
            cwd=self.cwd,
            env=self.environ,
            input=stdin,
            capture_output=True,
            timeout=ENDED_S,
            check=False,
        )
        err = done.stderr.decode()
        assert "Traceback" not in err, err
        return Said(code=done.returncode, out=done.stdout.decode(errors="replace"), err=err)

    def ok(self, *words: str, stdin: bytes = b"") -> Said:
        """Call, with exit code 0."""
        said = self.call(*words, stdin=stdin)
        assert said.code == 0, said
        return said

    def run_of(self, ref: str) -> dict[str, Any]:
        """The run, as ``show --json`` tells it."""
        run: dict[str, Any] = self.ok("show", ref, "--json").document["run"]
        return run

    def launch(self, script: str, *words: str) -> str:
        """Launch a shell script; the run's id."""
        return self.ok("launch", *words, "--", "sh", "-c", script).run_id

    def wait_state(self, run_id: str, state: str) -> dict[str, Any]:
        """Wait until the run is in this state; the run."""
        wait_until(lambda: self.run_of(run_id)["state"] == state, what=f"{run_id} is {state}")
        return self.run_of(run_id)

    def ended(self, *words: str) -> str:
        """Launch and wait for the end; the run's id."""
        return self.call("launch", "--wait", *words).run_id

    @contextlib.contextmanager
    def started(
        self, *words: str, stdout: int = subprocess.PIPE
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A call that goes on meanwhile, in a process group of its own."""
        call = subprocess.Popen(
            self.argv(*words),
            cwd=self.cwd,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=_hear_interrupts,  # noqa: PLW1509 - no threads here
        )
        with call:
            try:
                yield call
            finally:
                call.kill()

    def in_terminal(self, *words: str, columns: int = 100, **env: str) -> str:
        """What a person sees of a call in a terminal, escape sequences and all."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        call = subprocess.Popen(
            self.argv(*words),
            cwd=self.cwd,
            env={**self.environ, "TERM": "xterm-256color", **env},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        try:
            return _read_all(master).decode().replace("\r\n", "\n")
        finally:
            call.kill()
            call.wait()
            os.close(master)

    def argv(self, *words: str) -> list[str]:
        """The whole command line."""
        return [sys.executable, "-m", "sidecar", *words]

    @property
    def environ(self) -> dict[str, str]:
        """The whole environment."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.cwd),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "SIDECAR_STATE_DIR": str(self.state_dir),
            "SIDECAR_SESSION": SESSION,
            **self.env,
        }


def read_line(call: subprocess.Popen[bytes]) -> bytes:
    """The next line of its stdout."""
    assert call.stdout is not None
    return call.stdout.readline()


def _hear_interrupts() -> None:
    # A shell's background job is started with SIGINT ignored, and so is all that comes of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _read_all(master: int) -> bytes:
    found = b""
    while select.select([master], [], [], ENDED_S)[0]:
        try:
            data = os.read(master, 65536)
        except OSError:  # EIO: nobody has the terminal open any more
            return found
        found += data
    raise AssertionError(f"the terminal never closed; it showed {found!r}")
