"""A run directory with a fake runner in it, started through the real boot path, and its story.

Everything a test of wardens needs: launch, command, read what was said, kill whom it likes. What it
says of processes comes from /proc and from files, never from the code under test.
"""

import fcntl
import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import sidecar
from sidecar.procs import order, spawn
from tests.support.procs import kill_processes, processes_of
from tests.support.wait import DEADLINE_S, wait_until

RUNNER_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nowhere"}

# For agents written in Python: no site, no environment of ours.
PYTHON = (sys.executable, "-I", "-S", "-c")


class Rig:
    """One run; ``close`` kills whatever mentions its directory."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.dir = base / "run"
        self.runner_pid = 0
        self.lease_fd = -1
        (self.dir / "steps" / "0").mkdir(parents=True, mode=0o700)
        os.mkfifo(self.dir / "commands")
        self._commands_fd = os.open(self.dir / "commands", os.O_RDWR | os.O_NONBLOCK)
        self._shadow = self._make_shadow()

    def _make_shadow(self) -> Path:
        """Make a sidecar that is the real one, but for its runner."""
        real = Path(sidecar.__path__[0]).resolve()
        shadow = self.base / "shadow"
        (shadow / "sidecar" / "runner").mkdir(parents=True)
        (shadow / "sidecar" / "__init__.py").write_text('"""Stands in."""\n')
        (shadow / "sidecar" / "runner" / "__init__.py").write_text('"""Stands in."""\n')
        for package in ("core", "procs"):
            (shadow / "sidecar" / package).symlink_to(real / package)
        fake = Path(__file__).with_name("fake_runner.py")
        shutil.copyfile(fake, shadow / "sidecar" / "runner" / "main.py")
        return shadow

    def attempt(self, number: int = 1) -> Path:
        """The directory of an attempt."""
        return self.dir / "steps" / "0" / str(number)

    def write_order(
        self,
        argv: Sequence[str | bytes],
        *,
        attempt: int = 1,
        env: Mapping[str, str] | None = None,
        cwd: str | bytes = "/",
        stdin: str | bytes = order.STDIN_NULL,
    ) -> None:
        """Write a spawn order; ``stdin`` is its kind, or as bytes the content of the file."""
        folder = self.attempt(attempt)
        folder.mkdir(mode=0o700)
        kind = stdin if isinstance(stdin, str) else order.STDIN_FILE
        if isinstance(stdin, bytes):
            (folder / "stdin").write_bytes(stdin)
        values = {"PATH": "/usr/local/bin:/usr/bin:/bin", "RIG": str(self.dir)} | dict(env or {})
        data = order.encode(
            [os.fsencode(word) for word in argv],
            [os.fsencode(f"{name}={value}") for name, value in values.items()],
            os.fsencode(cwd),
            kind,
        )
        (folder / "spawn").write_bytes(data)

    def start(self) -> "Rig":
        """Start the fake runner, which has the order carried out at once."""
        self.lease_fd = os.open(self.dir / "lease", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.lease_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            with mock.patch.object(spawn, "package_paths", return_value=[str(self._shadow)]):
                self.runner_pid = spawn.spawn_runner(str(self.dir), self.lease_fd, RUNNER_ENV)
        finally:
            os.close(self.lease_fd)
        self.hears("started")
        return self

    def launch(self, argv: Sequence[str | bytes], **how: Any) -> "Rig":
        """Write the order and start."""
        self.write_order(argv, **how)
        return self.start()

    def python(self, program: str, *words: str, **how: Any) -> "Rig":
        """Launch an agent written in Python."""
        return self.launch([*PYTHON, program, *words], **how)

    def say(self, command: str) -> None:
        """Command the fake runner; see ``fake_runner``."""
        os.write(self._commands_fd, command.encode() + b"\n")

    def heard(self) -> list[list[Any]]:
        """What the runner has heard so far."""
        path = self.dir / "heard.jsonl"
        if not path.exists():
            return []
        text, _, _ = path.read_text().rpartition("\n")
        return [json.loads(line) for line in text.splitlines()]

    def hears(self, *start: object, deadline_s: float = DEADLINE_S) -> list[Any]:
        """Wait until the runner has heard a fact that begins so; the last such one."""

        def found() -> list[list[Any]]:
            return [fact for fact in self.heard() if tuple(fact[: len(start)]) == start]

        return wait_until(
            found,
            what=lambda: f"heard {start}, but only {self.heard()}; log: {self.log()}",
            deadline_s=deadline_s,
        )[-1]

    def ends(self, grace_ms: int = 10_000, *, deadline_s: float = DEADLINE_S) -> list[Any]:
        """Ask for the end of the tree; the proof."""
        self.say(f"end {grace_ms}")
        return self.hears("proof", deadline_s=deadline_s)

    def says_bye(self) -> None:
        """Let the warden go, and wait until it has gone."""
        self.say("bye")
        assert self.hears("warden-ended") == ["warden-ended", "code", 0]

    def kill_runner(self) -> None:
        """SIGKILL, and collect."""
        os.kill(self.runner_pid, signal.SIGKILL)
        os.waitpid(self.runner_pid, 0)
        self.runner_pid = 0

    def record(self, attempt: int = 1) -> list[str]:
        """The lines of the warden's record."""
        path = self.attempt(attempt) / "warden"
        return path.read_text().splitlines() if path.exists() else []

    def records(self, start: str, attempt: int = 1) -> str:
        """Wait until the record has a line that begins so; that line."""
        return wait_until(
            lambda: next((line for line in self.record(attempt) if line.startswith(start)), ""),
            what=lambda: f"{start} on record, but {self.record(attempt)}; log: {self.log()}",
        )

    def log(self) -> str:
        """What the runner, its wardens and its adopters complained about."""
        path = self.dir / "runner.log"
        return path.read_text() if path.exists() else ""

    def output(self, attempt: int = 1, name: str = "stdout.log") -> bytes:
        """The log of an attempt so far."""
        path = self.attempt(attempt) / name
        return path.read_bytes() if path.exists() else b""

    def prints(self, line: bytes, attempt: int = 1) -> None:
        """Wait until the agent has printed this line."""
        wait_until(
            lambda: line in self.output(attempt).splitlines(),
            what=lambda: f"{line!r} printed, but {self.output(attempt)[-200:]!r}; {self.log()}",
        )

    def printed_fields(self, word: bytes, n_fields: int) -> list[list[bytes]]:
        """Wait for so many lines that begin with a word; their other fields."""

        def lines() -> list[list[bytes]]:
            found = [line.split() for line in self.output().splitlines()]
            return [fields[1:] for fields in found if fields[:1] == [word]]

        def enough() -> list[list[bytes]]:
            found = lines()
            return found if len(found) >= n_fields else []

        return wait_until(enough, what=lambda: f"{n_fields} times {word!r}, but {lines()}")

    def adopted(self) -> list[Any]:
        """Wait until an adopter has been started; what it says."""
        path = self.dir / "adopted.jsonl"
        wait_until(
            lambda: path.exists() and path.read_text().endswith("\n"),
            what=lambda: f"adopted; record {self.record()}; log: {self.log()}",
        )
        return [json.loads(line) for line in path.read_text().splitlines()]

    def agents(self) -> list[int]:
        """Every process that has to do with this run but runner, wardens and this one."""
        found = processes_of(self.dir)
        return [each.pid for each in found if not any("boot.py" in word for word in each.argv)]

    def wardens(self) -> list[int]:
        """Every warden and runner of this run."""
        found = processes_of(self.dir)
        return [each.pid for each in found if any("boot.py" in word for word in each.argv)]

    def assert_nobody_left(self) -> None:
        """No agent of this run is there, now; not soon: a proof has been given."""
        assert self.agents() == []

    def close(self) -> None:
        """Kill and collect."""
        kill_processes(self.dir)
        if self.runner_pid:
            os.waitpid(self.runner_pid, 0)
        os.close(self._commands_fd)
