"""A client of the test's own: a server's process, the pipes to it, and a memory of all that came.

One thread and no callbacks: bytes move only while a test waits for something, so a test decides
what is read when, and a client that is not asked is a client that does not read. Everything that
comes is checked (framing, JSON-RPC, statuses), and at ``close`` nothing may be left unread.

It must not use sidecar's own code. It never waits for time to pass: every wait is for a message,
with a deadline that only ends a test that would hang.
"""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from tests.support.conversation import (
    Conversation,
    Note,
    RefusedError,
    RpcDeadlineError,
    ServerGoneError,
    UnreadError,
)
from tests.support.expectations import Expectation
from tests.support.framing import Frames, FramingError, decode, frame
from tests.support.wait import DEADLINE_S, wait_until

T = TypeVar("T")

READ_SIZE = 1 << 16


class Client:
    """One server process and the conversation with it."""

    def __init__(self, proc: subprocess.Popen[bytes], *, name: str, stderr: Path | None) -> None:
        assert proc.stdout is not None
        self.proc = proc
        self.name = name
        self._talk = Conversation()
        self.monitor = self._talk.monitor
        self.notes = self._talk.notes
        self.answers = self._talk.answers
        self.orphans = self._talk.orphans
        self.is_reading = True
        self.read_size = READ_SIZE
        self.is_eof = False
        self._stderr = stderr
        self._stdin = proc.stdin.fileno() if proc.stdin is not None else None
        self._stdout = proc.stdout.fileno()
        if self._stdin is not None:
            os.set_blocking(self._stdin, False)
        self._outgoing = bytearray()
        self._frames = Frames()
        self._last_id = 0
        self.is_closed = False

    @property
    def is_open(self) -> bool:
        """Whether the conversation goes on: neither closed in order nor given up."""
        return not self.is_closed

    # --- sending ---------------------------------------------------------------------------------

    def send(self, data: bytes, *, deadline_s: float = DEADLINE_S) -> None:
        """Write these bytes, all of them; what comes meanwhile is read, if this client reads."""
        self._outgoing += data
        self._until(lambda: not self._outgoing, "the server to take what was written", deadline_s)

    def send_json(self, message: object) -> None:
        """Write one message as it is, however odd."""
        self._talk.note_down("->", message)
        self.send(frame(message))

    def post(self, method: str, params: object = None, *, request_id: int | str = "") -> int | str:
        """Send a request without waiting for its answer; returns its id."""
        if request_id == "":
            self._last_id += 1
            request_id = self._last_id
        self._talk.asked.add(request_id)
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send_json(message if params is None else message | {"params": params})
        return request_id

    def post_ascii(self, method: str, params: object) -> int | str:
        """Send a request with every character beyond ASCII escaped: lone surrogates, too."""
        self._last_id += 1
        self._talk.asked.add(self._last_id)
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.send(frame(json.dumps(message).encode()))
        return self._last_id

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        self.send_json(message if params is None else message | {"params": params})

    def new_id(self) -> str:
        """A fresh id for a request that the test sends as bytes; its answer is expected."""
        self._last_id += 1
        request_id = f"own-{self._last_id}"
        self._talk.asked.add(request_id)
        return request_id

    def expect_answers_to(self, *request_ids: float | str) -> None:
        """Say that these requests were sent as bytes, so that their answers are not unasked for."""
        self._talk.asked.update(request_ids)

    # --- waiting ---------------------------------------------------------------------------------

    def answer(self, request_id: int | str, *, deadline_s: float = DEADLINE_S) -> dict[str, Any]:
        """Wait for the answer to a request; the whole message."""
        came = self._until(
            lambda: self.answers.get(request_id), f"the answer to {request_id!r}", deadline_s
        )
        came[0].is_read = True
        return came[0].message

    def orphan(self) -> dict[str, Any]:
        """Wait for an answer without an id; the whole message."""
        fresh = self._until(
            lambda: [item for item in self.orphans if not item.is_read], "an answer without an id"
        )
        fresh[0].is_read = True
        return fresh[0].message

    def call(self, method: str, params: object = None, *, deadline_s: float = DEADLINE_S) -> Any:
        """Send a request and return its result; raises ``RefusedError`` for an error."""
        return self.result(self.post(method, params), deadline_s=deadline_s)

    def result(self, request_id: int | str, *, deadline_s: float = DEADLINE_S) -> Any:
        """Wait for the result of a posted request; raises ``RefusedError`` for an error."""
        message = self.answer(request_id, deadline_s=deadline_s)
        if "error" in message:
            raise RefusedError(f"request {request_id}", message["error"], self.log())
        return message["result"]

    def refusal(self, method: str, params: object = None) -> dict[str, Any]:
        """Send a request and return the error that it must be answered with."""
        message = self.answer(self.post(method, params))
        assert "error" in message, f"{method} should have been refused: {message}"
        return dict(message["error"])

    def expect(self, expectation: Expectation, *, deadline_s: float = DEADLINE_S) -> dict[str, Any]:
        """Wait for a notification; older ones about the same run or token count as read."""
        begin = 0

        def look() -> Note | None:
            nonlocal begin
            found, begin = self._talk.find(expectation, begin)
            return found

        return self._until(look, expectation.what, deadline_s).params

    def unread(self, method: str) -> list[dict[str, Any]]:
        """Take all notifications of ``method`` that came and were not read; does not wait."""
        taken = [note for note in self.notes if note.method == method and not note.is_read]
        for note in taken:
            note.is_read = True
        return [note.params for note in taken]

    def read_until(self, condition: Callable[[], T | Literal[False] | None], what: str) -> T:
        """Read until ``condition`` holds; for what no other method here waits for."""
        return self._until(condition, what)

    def sync(self) -> None:
        """Read all that the server wrote before it answered this: an order, not a delay."""
        self.call("server/status", {})

    # --- ending ----------------------------------------------------------------------------------

    def hang_up(self) -> None:
        """Close the server's input, as an editor does that is gone."""
        if self.proc.stdin is not None:
            self._stdin = None
            self._outgoing.clear()
            with contextlib.suppress(BrokenPipeError):
                self.proc.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """Send the server's process a signal."""
        self.proc.send_signal(number)

    def wait_end(self) -> int:
        """Wait for the server's end, reading what it still says; returns its exit status."""
        self.is_reading = True
        self._until(lambda: self.is_eof, "the server to close its output", alive=False)
        return self._reap()

    def kill(self) -> None:
        """SIGKILL the server and forget the conversation."""
        self.proc.kill()
        self.proc.wait()
        self._finish()

    def close(self) -> None:
        """Part in order (shutdown, exit, status 0) and check that nothing was left unread."""
        if self.is_closed:
            return
        if self.proc.poll() is None and self._stdin is not None and not self.is_eof:
            self.is_reading = True
            self.call("shutdown")
            self.notify("exit")
            code = self.wait_end()
            assert code == 0, f"exit after shutdown: status {code}\n{self.log()}"
        else:
            self.wait_end()
        self.assert_all_read()
        self._finish()

    def abandon(self) -> None:
        """End the server without any check: the test has failed already."""
        if not self.is_closed:
            self.kill()

    def assert_all_read(self) -> None:
        """Fail if anything came that nobody read, or that nobody had asked for."""
        unread = self._talk.unread()
        if unread:
            shown = "\n".join(unread[:20])
            raise UnreadError(f"{len(unread)} unread:\n{shown}\n{self.log()}")
        complaint = self.stderr()
        assert "Traceback" not in complaint, f"{self.name} complains:\n{complaint[-4000:]}"

    # --- for people ------------------------------------------------------------------------------

    def stderr(self) -> str:
        """All that the server wrote to its standard error."""
        return self._stderr.read_text(errors="replace") if self._stderr is not None else ""

    def log(self) -> str:
        """The end of the conversation, for a failure."""
        lines = [f"--- conversation with {self.name} (pid {self.proc.pid})", *self._talk.tail()]
        lines += [f"--- the process: {state_of(self.proc.pid)}"]
        complaint = self.stderr().strip()
        if complaint:
            lines += ["--- its standard error", complaint[-2000:]]
        return "\n".join(lines)

    # --- moving bytes ----------------------------------------------------------------------------

    def _until(
        self,
        condition: Callable[[], T | Literal[False] | None],
        what: str,
        deadline_s: float = DEADLINE_S,
        *,
        alive: bool = True,
    ) -> T:
        ends_at = time.monotonic() + deadline_s
        while True:
            found = condition()
            if found:
                return found
            left_s = ends_at - time.monotonic()
            if left_s <= 0:
                raise RpcDeadlineError(f"not within {deadline_s:g} s: {what}\n{self.log()}")
            if self.is_eof and alive:
                raise ServerGoneError(f"the server is gone; {what}\n{self.log()}")
            self._turn(left_s)

    def _turn(self, longest_s: float) -> None:
        """Write what is owed, read what has come, or wait until one of both is possible."""
        poll = select.poll()
        if self._outgoing and self._stdin is not None:
            poll.register(self._stdin, select.POLLOUT)
        if self.is_reading and not self.is_eof:
            poll.register(self._stdout, select.POLLIN)
        for descriptor, _ in poll.poll(longest_s * 1000):
            if descriptor == self._stdout:
                self._read()
            else:
                self._write()

    def _write(self) -> None:
        assert self._stdin is not None
        try:
            written = os.write(self._stdin, memoryview(self._outgoing)[: 1 << 20])
        except BlockingIOError:
            return
        except BrokenPipeError:
            # Whatever waits for an answer is told that the server is gone; a test that only
            # writes looks for the end of the server itself.
            written = len(self._outgoing)
        del self._outgoing[:written]

    def _read(self) -> None:
        data = os.read(self._stdout, self.read_size)
        if not data:
            self.is_eof = True
            if self._frames.rest:
                raise FramingError(f"half a message at the end: {self._frames.rest[:200]!r}")
            return
        for body in self._frames.feed(data):
            asked = self._talk.take(decode(body))
            if asked is not None:
                # What servers ask of editors (a progress token) is always granted.
                self._outgoing += frame({"jsonrpc": "2.0", "id": asked.request_id, "result": None})

    def _reap(self) -> int:
        # Output closed and process gone are two events; the second is waited for like the first.
        wait_until(lambda: self.proc.poll() is not None, what=f"the end of {self.name}")
        return int(self.proc.returncode)

    def _finish(self) -> None:
        self.is_closed = True
        self.hang_up()
        if self.proc.stdout is not None:
            self.proc.stdout.close()


@contextlib.contextmanager
def not_reading(client: Client) -> Iterator[None]:
    """Inside, ``client`` writes but does not read, as an editor does that hangs."""
    client.is_reading = False
    try:
        yield
    finally:
        client.is_reading = True


def state_of(pid: int) -> str:
    """What a process is doing, by the kernel's own words."""
    try:
        place = Path(f"/proc/{pid}")
        state = (place / "stat").read_text().rpartition(")")[2].split()[0]
        return f"state {state}, waits in {(place / 'wchan').read_text()}"
    except OSError as exc:
        return f"not to be seen: {exc.strerror}"


def peak_kib(client: Client) -> int:
    """The most memory (KiB) that the server ever held, by the kernel's own count."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{client.proc.pid}/status").read_text())
    assert found is not None
    return int(found.group(1))
