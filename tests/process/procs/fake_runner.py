"""A runner that decides nothing: it writes down what its warden says and does what a test says.

It stands in for ``sidecar.runner.main`` and is entered by the real boot path, with its flags: only
the standard library and ``sidecar.procs`` can be imported. Commands come by a FIFO, one a line.
"""

import fcntl
import json
import os
import select
import signal
import time
from pathlib import Path

from sidecar.procs import inherit, pump, scopes, tree, warden
from sidecar.procs.handle import WardenHandle


class Stream:
    """One of the agent's outputs on its way into its log."""

    def __init__(self, fd: int, log: Path) -> None:
        self.fd = fd
        self.pump = pump.Pump(fd, os.open(log, os.O_WRONLY | os.O_CREAT, 0o600))
        self.state = pump.OPEN


class FakeRunner:
    """One warden at a time, its output pumped unless the test holds it back."""

    handle: WardenHandle

    def __init__(self, run_dir: str, paths: list[str], lease_fd: int) -> None:
        self.run_dir = run_dir
        self.paths = paths
        self.lease_fd = lease_fd
        self.is_listening = False
        self.streams: list[Stream] = []
        self.inherited: inherit.EndInherited | None = None
        self.is_pumping = not Path(run_dir, "hold-output").exists()
        self.commands_fd = os.open(f"{run_dir}/commands", os.O_RDWR | os.O_NONBLOCK)
        self.unread = b""

    def hear(self, *fact: object) -> None:
        with Path(self.run_dir, "heard.jsonl").open("a", encoding="utf-8") as heard:
            heard.write(json.dumps(fact) + "\n")

    def take(self, handle: WardenHandle, attempt: str) -> None:
        self.handle = handle
        self.is_listening = True
        folder = Path(self.run_dir, "steps", "0", attempt)
        self.streams = [
            Stream(handle.stdout_fd, folder / "stdout.log"),
            Stream(handle.stderr_fd, folder / "stderr.log"),
        ]

    def open_streams(self) -> list[Stream]:
        return [each for each in self.streams if self.is_pumping and each.state == pump.OPEN]

    def serve(self) -> None:
        while True:
            poll = select.poll()
            poll.register(self.commands_fd, select.POLLIN)
            if self.is_listening:
                poll.register(self.handle.sock_fd, select.POLLIN)
            for stream in self.open_streams():
                poll.register(stream.fd, select.POLLIN)
            ready = dict(poll.poll(20 if self.inherited else None))
            if self.commands_fd in ready:
                self.obey()
            for stream in self.open_streams():
                stream.state = stream.pump.step()
                if stream.state == pump.EOF:
                    self.hear("drained", stream.pump.size)
            self.listen()
            self.follow()

    def listen(self) -> None:
        if not self.is_listening:
            return
        for fact in self.handle.read_messages():
            self.hear(*fact)
        if self.handle.is_over:
            self.is_listening = False
            _, status = os.waitpid(self.handle.pid, 0)
            self.hear("warden-ended", *tree.exit_of(status))

    def follow(self) -> None:
        if self.inherited is None:
            return
        self.inherited.advance(now_ms())
        for exited in self.inherited.exits:
            self.hear("inherited-exit", *exited)
        self.inherited.exits.clear()
        if self.inherited.result is not None:
            self.hear("inherited-result", *self.inherited.result)
            self.inherited = None

    def obey(self) -> None:
        self.unread += os.read(self.commands_fd, 65536)
        *lines, self.unread = self.unread.split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            getattr(self, "do_" + word)(rest)

    def do_end(self, grace_ms: str) -> None:
        self.handle.send_end(int(grace_ms))

    def do_signal(self, number: str) -> None:
        self.handle.send_signal(int(number))

    def do_bye(self, _: str) -> None:
        self.handle.bye()

    def do_close(self, _: str) -> None:
        """Vanish for the warden, without dying."""
        os.close(self.handle.sock_fd)
        self.is_listening = False

    def do_pump(self, _: str) -> None:
        self.is_pumping = True

    def do_write(self, text: str) -> None:
        assert self.handle.stdin_fd is not None
        os.write(self.handle.stdin_fd, text.encode() + b"\n")

    def do_end_input(self, _: str) -> None:
        self.handle.close_stdin()

    def do_kill_warden(self, _: str) -> None:
        os.kill(self.handle.pid, signal.SIGKILL)

    def do_inherit(self, grace_ms: str) -> None:
        self.inherited = inherit.EndInherited(now_ms(), int(grace_ms))

    def do_start(self, attempt: str) -> None:
        folder = f"{self.run_dir}/steps/0/{attempt}"
        self.take(warden.start(self.run_dir, folder, self.lease_fd, paths=self.paths), attempt)

    def do_start_group(self, attempt: str) -> None:
        folder = f"{self.run_dir}/steps/0/{attempt}"
        mechanism = scopes.PROCESS_GROUP
        handle = warden.start(
            self.run_dir, folder, self.lease_fd, paths=self.paths, mechanism=mechanism
        )
        self.take(handle, attempt)

    def do_exit(self, status: str) -> None:
        os._exit(int(status))

    def do_raise(self, text: str) -> None:
        raise RuntimeError(text)


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def run(
    run_dir: str, paths: list[str], *, started_at: int, lease_fd: int, warden: WardenHandle | None
) -> None:
    """Enter from the boot path."""
    del started_at
    runner = FakeRunner(run_dir, paths, lease_fd)
    fds = sorted(int(link.name) for link in Path("/proc/self/fd").iterdir())
    runner.hear("started", os.getpid(), fds)
    if warden is not None:
        runner.take(warden, "1")
    runner.serve()


def adopt(run_dir: str, paths: list[str]) -> None:
    """Enter from the boot path in adopt mode: say so, and leave."""
    with Path(run_dir, "adopted.jsonl").open("a", encoding="utf-8") as adopted:
        adopted.write(json.dumps([os.getpid(), os.getsid(0), paths, held_records(run_dir)]) + "\n")


def held_records(run_dir: str) -> list[str]:
    """Name the attempts whose record is still locked by a warden."""
    held = []
    for record in Path(run_dir, "steps", "0").glob("*/warden"):
        with record.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(record.parent.name)
    return held
