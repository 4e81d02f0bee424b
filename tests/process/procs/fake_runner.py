"""A runner that decides nothing: it writes down what its warden says and does what a test says.

It stands in for ``sidecar.runner.main`` and is entered by the real boot path, with its flags: only
the standard library and ``sidecar.procs`` can be imported. Commands come by a FIFO, one a line.
"""

import json
import os
import select
import time

from sidecar.procs import inherit, pump, scopes, tree, warden

HEARD = "heard.jsonl"
COMMANDS = "commands"


class FakeRunner:
    """One warden at a time, its output pumped unless the test holds it back."""

    def __init__(self, run_dir, paths, lease_fd):
        self.run_dir = run_dir
        self.paths = paths
        self.lease_fd = lease_fd
        self.handle = None
        self.pumps = []
        self.inherited = None
        self.pumping = not os.path.exists(f"{run_dir}/hold-output")
        self.commands_fd = os.open(f"{run_dir}/{COMMANDS}", os.O_RDWR | os.O_NONBLOCK)
        self.unread = b""

    def hear(self, *fact):
        with open(f"{self.run_dir}/{HEARD}", "a", encoding="utf-8") as heard:
            heard.write(json.dumps(fact) + "\n")

    def take(self, handle, attempt):
        self.handle = handle
        folder = f"{self.run_dir}/steps/0/{attempt}"
        self.pumps = []
        for name, fd in (("stdout.log", handle.stdout_fd), ("stderr.log", handle.stderr_fd)):
            log_fd = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT, 0o600)
            self.pumps.append([fd, pump.Pump(fd, log_fd), pump.OPEN])

    def serve(self):
        while True:
            poll = select.poll()
            poll.register(self.commands_fd, select.POLLIN)
            if self.handle is not None and not self.handle.is_over:
                poll.register(self.handle.sock_fd, select.POLLIN)
            for fd, _, state in self.pumps:
                if self.pumping and state == pump.OPEN:
                    poll.register(fd, select.POLLIN)
            for fd, _ in poll.poll(20 if self.inherited else None):
                if fd == self.commands_fd:
                    self.obey()
            for entry in self.pumps if self.pumping else ():
                if entry[2] == pump.OPEN:
                    entry[2] = entry[1].step()
                    if entry[2] == pump.EOF:
                        self.hear("drained", entry[1].size)
            self.follow()

    def follow(self):
        if self.handle is not None and not self.handle.is_over:
            for fact in self.handle.read_messages():
                self.hear(*fact)
            if self.handle.is_over:
                _, status = os.waitpid(self.handle.pid, 0)
                self.hear("warden-ended", *tree.exit_of(status))
        if self.inherited is not None:
            self.inherited.advance(now_ms())
            for pid, how, number in self.inherited.exits:
                self.hear("inherited-exit", pid, how, number)
            self.inherited.exits.clear()
            if self.inherited.result is not None:
                self.hear("inherited-result", *self.inherited.result)
                self.inherited = None

    def obey(self):
        self.unread += os.read(self.commands_fd, 65536)
        *lines, self.unread = self.unread.split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            getattr(self, "do_" + word)(rest)

    def do_end(self, grace_ms):
        self.handle.send_end(int(grace_ms))

    def do_signal(self, number):
        self.handle.send_signal(int(number))

    def do_bye(self, _):
        self.handle.bye()

    def do_close(self, _):
        """Vanish for the warden, without dying."""
        os.close(self.handle.sock_fd)
        self.handle = None

    def do_pump(self, _):
        self.pumping = True

    def do_write(self, text):
        os.write(self.handle.stdin_fd, text.encode() + b"\n")

    def do_end_input(self, _):
        self.handle.close_stdin()

    def do_kill_warden(self, _):
        self.handle.kill()

    def do_inherit(self, grace_ms):
        self.inherited = inherit.EndInherited(now_ms(), int(grace_ms))

    def do_start(self, attempt):
        folder = f"{self.run_dir}/steps/0/{attempt}"
        self.take(warden.start(self.run_dir, folder, self.lease_fd, paths=self.paths), attempt)

    def do_start_group(self, attempt):
        folder = f"{self.run_dir}/steps/0/{attempt}"
        mechanism = scopes.PROCESS_GROUP
        handle = warden.start(
            self.run_dir, folder, self.lease_fd, paths=self.paths, mechanism=mechanism
        )
        self.take(handle, attempt)

    def do_exit(self, status):
        os._exit(int(status))

    def do_raise(self, text):
        raise RuntimeError(text)


def now_ms():
    return time.monotonic_ns() // 1_000_000


def run(run_dir, paths, *, lease_fd, warden):
    """What the boot path calls."""
    runner = FakeRunner(run_dir, paths, lease_fd)
    fds = sorted(int(fd) for fd in os.listdir("/proc/self/fd"))
    runner.hear("started", os.getpid(), fds)
    if warden is not None:
        runner.take(warden, 1)
    runner.serve()


def adopt(run_dir, paths):
    """What the boot path calls in adopt mode: say so, and leave."""
    with open(f"{run_dir}/adopted.jsonl", "a", encoding="utf-8") as adopted:
        adopted.write(json.dumps([os.getpid(), os.getsid(0), paths]) + "\n")
