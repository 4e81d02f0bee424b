"""The memory of one conversation: everything that came, checked as it came, and what was read.

Each message is checked for what holds of every message (JSON-RPC, answers only to what was asked,
the promises about statuses); at the end whatever nobody has read is a failure. It must not move
bytes: that is ``tests.support.rpc``.
"""

import time
from dataclasses import dataclass
from typing import Any

from tests.support.expectations import Expectation, StatusMonitor, Verdict
from tests.support.framing import FramingError

SHOWN = 300  # characters of a message in the log
LOG_TAIL = 60  # lines of the log in a failure

# Told whether a test looks or not: the monitor reads them, so they never count as unread.
MONITORED = ("run/status",)


class RpcDeadlineError(AssertionError):
    """What was waited for did not come in time."""


class ServerGoneError(AssertionError):
    """The server ended, or closed its output, while something was waited for."""


class UnmeetableError(AssertionError):
    """What was waited for can no longer come."""


class UnreadError(AssertionError):
    """The server said something that nobody had asked for, or waited for."""


class RefusedError(AssertionError):
    """A request that should have been carried out was answered with an error."""

    def __init__(self, method: str, error: dict[str, Any], log: str) -> None:
        super().__init__(f"{method} was refused: {error}\n{log}")
        self.error = error


@dataclass(slots=True)
class Note:
    """A notification, or a request of the server, in its place among all that came."""

    method: str
    params: dict[str, Any]
    number: int
    request_id: int | str | None = None
    is_read: bool = False

    @property
    def subject(self) -> tuple[str, object]:
        """What it is about: a run, or a progress token; earlier news of the same are outdated."""
        run = self.params.get("run", self.params)
        return self.method, run.get("runId", self.params.get("token"))


@dataclass(slots=True)
class Answer:
    """The answer to one request, in its place among all that came."""

    message: dict[str, Any]
    number: int
    is_read: bool = False


class Conversation:
    """What came over one connection, in its order."""

    def __init__(self) -> None:
        self.monitor = StatusMonitor()
        self.notes: list[Note] = []
        self.answers: dict[int | str, list[Answer]] = {}
        self.orphans: list[Answer] = []
        """Answers without an id: to what could not be understood."""
        self.asked: set[float | str] = set()
        self._came = 0
        self._log: list[str] = []
        self._started_at = time.monotonic()

    def take(self, message: Any) -> Note | None:
        """Take what came; returns it if it is a request of the server, who waits for an answer."""
        self.note_down("<-", message)
        self._came += 1
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise FramingError(f"not JSON-RPC 2.0: {message!r}")
        if "method" in message:
            note = self._take_note(message)
            return note if note.request_id is not None else None
        if ("result" in message) == ("error" in message) or "id" not in message:
            raise FramingError(f"neither result nor error, or both, or no id: {message!r}")
        answer = Answer(message=message, number=self._came)
        request_id = message["id"]
        if request_id is None:
            self.orphans.append(answer)
            return None
        if request_id not in self.asked:
            raise UnreadError(f"an answer to nothing: {message!r}")
        self.answers.setdefault(request_id, []).append(answer)
        return None

    def find(self, expectation: Expectation, begin: int) -> tuple[Note | None, int]:
        """The first unread note from number ``begin`` on that meets it, and where to go on."""
        for index in range(begin, len(self.notes)):
            note = self.notes[index]
            if note.is_read or note.method != expectation.method:
                continue
            verdict = expectation.judge(note.params)
            if verdict is Verdict.MET:
                for earlier in self.notes[: index + 1]:
                    earlier.is_read |= earlier.subject == note.subject
                return note, index + 1
            if verdict is Verdict.UNMEETABLE:
                raise UnmeetableError(f"not {expectation.what}: {note.params}")
        return None, len(self.notes)

    def unread(self) -> list[str]:
        """What came and was not read, and what came too often; for a failure."""
        found = [f"answer {item.message}" for item in self.orphans if not item.is_read]
        for request_id, answers in self.answers.items():
            if len(answers) > 1:
                found.append(f"{len(answers)} answers to {request_id!r}")
            found += [f"answer {item.message}" for item in answers if not item.is_read]
        found += [
            f"{note.method} {note.params}"
            for note in self.notes
            if not note.is_read and note.method not in MONITORED
        ]
        return [text[:SHOWN] for text in found]

    def note_down(self, arrow: str, message: object) -> None:
        """Put one message into the log."""
        at_s = time.monotonic() - self._started_at
        self._log.append(f"{at_s:8.3f} {arrow} {str(message)[:SHOWN]}")

    def tail(self) -> list[str]:
        """The end of the log."""
        return self._log[-LOG_TAIL:]

    def _take_note(self, message: dict[str, Any]) -> Note:
        params = message.get("params") or {}
        if not isinstance(params, dict):
            raise FramingError(f"params that are no object: {message!r}")
        note = Note(
            method=message["method"],
            params=params,
            number=len(self.notes) + 1,
            request_id=message.get("id"),
        )
        self.notes.append(note)
        if note.method == "run/status":
            self.monitor.see(params["run"])
        return note
