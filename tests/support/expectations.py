"""What a test expects to be told: each expectation judges one notification at a time.

A verdict is met, unmet (wait on) or unmeetable (what was seen excludes it: fail at once and say
why, rather than wait for a deadline). ``StatusMonitor`` holds what is promised of every
``run/status``, and is fed with each of them whether a test looks at it or not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

LIVE_STATES = ("queued", "running", "paused")
TERMINAL_STATES = ("complete", "failed", "stopped", "rejected")


class Verdict(Enum):
    """What one notification means for an expectation."""

    MET = "met"
    UNMET = "unmet"
    UNMEETABLE = "unmeetable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A thing to wait for: the method that can tell of it, and the judge of its params."""

    what: str
    method: str
    judge: Callable[[dict[str, Any]], Verdict]


def status(run_id: str, state: str) -> Expectation:
    """``run_id`` is told to be in ``state``; once it is over in another way, it cannot be."""

    def judge(params: dict[str, Any]) -> Verdict:
        run = params["run"]
        if run["runId"] != run_id:
            return Verdict.UNMET
        if run["state"] == state:
            return Verdict.MET
        return Verdict.UNMEETABLE if run["state"] in TERMINAL_STATES else Verdict.UNMET

    return Expectation(what=f"{run_id} told to be {state}", method="run/status", judge=judge)


def over(run_id: str) -> Expectation:
    """``run_id`` is told to be over, however it ended."""

    def judge(params: dict[str, Any]) -> Verdict:
        run = params["run"]
        ended = run["runId"] == run_id and run["state"] in TERMINAL_STATES
        return Verdict.MET if ended else Verdict.UNMET

    return Expectation(what=f"{run_id} told to be over", method="run/status", judge=judge)


def told(run_id: str) -> Expectation:
    """Anything at all is told of ``run_id``."""

    def judge(params: dict[str, Any]) -> Verdict:
        return Verdict.MET if params["run"]["runId"] == run_id else Verdict.UNMET

    return Expectation(what=f"something told of {run_id}", method="run/status", judge=judge)


def notification(method: str, **fields: object) -> Expectation:
    """A notification of ``method`` whose params have these ``fields``, and maybe others."""

    def judge(params: dict[str, Any]) -> Verdict:
        same = all(params.get(name) == value for name, value in fields.items())
        return Verdict.MET if same else Verdict.UNMET

    return Expectation(what=f"{method} with {fields}", method=method, judge=judge)


@dataclass(slots=True)
class StatusMonitor:
    """Of each run: revisions only grow, and nothing follows the end but a change of hiding."""

    newest: dict[str, dict[str, Any]] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)

    def see(self, run: dict[str, Any]) -> None:
        """Take one status, as it comes; raises ``AssertionError`` where a promise is broken."""
        run_id = run["runId"]
        before = self.newest.get(run_id)
        self.newest[run_id] = run
        is_over = run["state"] in TERMINAL_STATES
        if before is not None:
            story = f"{run_id}: {_summary(before)} was followed by {_summary(run)}"
            assert run["revision"] > before["revision"], f"revisions only grow; {story}"
            if before["state"] in TERMINAL_STATES:
                assert run["state"] == before["state"], f"an end is final; {story}"
                hidden_again = run.get("dismissedAt") != before.get("dismissedAt")
                assert hidden_again, f"an end is told once; {story}"
                return
            if before["state"] != "queued":
                assert run["state"] != "queued", f"states only go forward; {story}"
        if is_over:
            self.ends[run_id] = self.ends.get(run_id, 0) + 1


def _summary(run: dict[str, Any]) -> str:
    return f"{run['state']} (revision {run['revision']}, dismissed {run.get('dismissedAt')})"
