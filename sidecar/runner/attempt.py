"""One living attempt: its warden, its output, and how both come to an end.

Turns what the warden says, and what comes through the pipes, into events, and nothing else: what
follows from an event is decided in ``core.lifecycle``.

This module must never signal a process (``procs.tree`` does), and never wait: every call returns
at once.  Times are monotonic milliseconds but for those the warden recorded itself.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, assert_never

from sidecar.core import policy
from sidecar.core.events import (
    AgentExited,
    AgentSpawned,
    Event,
    OutputDrained,
    OutputSeen,
    SpawnFailed,
    TreeEnded,
    WardenLost,
)
from sidecar.core.ids import ProcId
from sidecar.core.states import AgentExit, Failure, Proof, ProofState
from sidecar.procs.handle import WardenHandle
from sidecar.procs.inherit import EndInherited
from sidecar.runner import report
from sidecar.runner.output import Output
from sidecar.store import layout
from sidecar.store.rundir import RunDir

if TYPE_CHECKING:
    from sidecar.procs.lines import Fact, ProofObserved, ProofUnknown

Dated = tuple[Event, int]
"""What happened, and when (ms since the epoch)."""


class LiveAttempt:
    """An attempt between its warden's fork and its settlement."""

    def __init__(
        self, *, step: int, number: int, run_dir: RunDir, warden: WardenHandle, boot_id: str
    ) -> None:
        self.step = step
        self.number = number
        self.warden = warden
        self._run_dir = run_dir
        self._boot_id = boot_id
        attempt_dir = layout.attempt_dir(run_dir.path, step, number)
        self._output = Output(attempt_dir, warden.stdout_fd, warden.stderr_fd)
        self._has_exited = False
        self._is_proven = False
        self._agent_pid: int | None = None
        self._inherited: EndInherited | None = None
        self._inherited_at: int | None = None
        self._seen_total = 0
        self._seen_at: int | None = None
        self._rung_total = 0
        self._rung_at = 0

    # --- what it waits for -----------------------------------------------------------------------

    def descriptors(self) -> Iterator[int]:
        """The descriptors to poll for reading."""
        if not self.warden.is_over:
            yield self.warden.sock_fd
        yield from self._output.descriptors()

    def next_at(self) -> int | None:
        """When ``turn`` has something to do although no descriptor is ready."""
        times = [self._output.next_at(), self._inherited_at]
        if self._output.total > self._seen_total and not self._output.is_done:
            times.append((self._seen_at or 0) + policy.OUTPUT_SEEN_MS)
        if self.has_news:
            times.append(self._rung_at + policy.OUTPUT_BELL_MS)
        return min((at for at in times if at is not None), default=None)

    # --- what it says ----------------------------------------------------------------------------

    def turn(self, now: int, wall_at: int) -> list[Dated]:
        """Takes what is there, the warden's word first, and says what happened, and when.

        ``wall_at`` (ms since the epoch) is now; what the warden tells is dated by itself.
        """
        told = self._hear(wall_at)
        events: list[Event] = []
        events += self._follow_inherited(now, wall_at)
        drained = self._output.step(now)
        if drained:
            events.append(self._drained())
        elif self._is_worth_telling(now):
            self._seen_at, self._seen_total = now, self._output.total
            events.append(
                OutputSeen(
                    step=self.step,
                    attempt=self.number,
                    stdout_bytes=self._output.stdout_bytes,
                    stderr_bytes=self._output.stderr_bytes,
                )
            )
        return told + [(event, wall_at) for event in events]

    def _is_worth_telling(self, now: int) -> bool:
        """At once when the first bytes come, then once a second."""
        if self._output.is_done or self._output.total == self._seen_total:
            return False
        return self._seen_at is None or now >= self._seen_at + policy.OUTPUT_SEEN_MS

    def _drained(self) -> OutputDrained:
        return OutputDrained(
            step=self.step,
            attempt=self.number,
            stdout_bytes=self._output.stdout_bytes,
            stderr_bytes=self._output.stderr_bytes,
            complete=self._output.is_complete,
            preview=report.preview(self._run_dir, self.step, self.number),
        )

    def _hear(self, wall_at: int) -> list[Dated]:
        was_over = self.warden.is_over
        told = [dated for fact in self.warden.read_messages() for dated in self._events_of(fact)]
        if self.warden.is_over and not (was_over or self._is_proven):
            told.append((WardenLost(step=self.step, attempt=self.number), wall_at))
        return told

    def _events_of(self, fact: "Fact") -> list[Dated]:
        step, attempt = self.step, self.number
        match fact:
            case ("running", pid, ticks, at):
                self._agent_pid = pid
                agent = ProcId(pid=pid, start_ticks=ticks, boot_id=self._boot_id)
                return [(AgentSpawned(step=step, attempt=attempt, agent=agent), at)]
            case ("spawn-failed", _, at, detail):
                self._is_proven = True
                failure = Failure(code="spawn-failed", message=detail)
                return [(SpawnFailed(step=step, attempt=attempt, failure=failure), at)]
            case ("exited", how, number, at):
                return [(self._exited(how, number), at)]
            case ("proof", "observed", _, _, at) | ("proof", "unknown", _, at, _):
                return [(self._proven(fact_proof(fact)), at)]
            case ("spawning", *_) | ("runner-vanished", _):
                return []  # only ever recorded, never said
            case _:
                assert_never(fact)

    def _proven(self, proof: Proof) -> TreeEnded:
        # An agent that could not be ended lives on below its warden, who will tell of its end.
        self._is_proven = self._has_exited or proof.state is ProofState.OBSERVED
        return TreeEnded(step=self.step, attempt=self.number, proof=proof)

    # --- what it is told -------------------------------------------------------------------------

    def end_tree(self, grace_ms: int, wardens: Collection[int], now: int) -> None:
        """Has the tree ended: by the warden, or here if the warden left it to us.

        ``wardens`` are the living wardens of this runner, whose trees are left alone.
        """
        if not self.warden.is_over:
            self.warden.send_end(grace_ms)
            self.warden.wake()
        elif self._inherited is None:
            self._inherited = EndInherited(now, grace_ms, wardens)
            self._inherited_at = now
        elif not self._is_proven:
            self._inherited.shorten(now, grace_ms)
            self._inherited_at = now

    def move(self, run_dir: RunDir) -> None:
        """Goes on in a run directory that was made anew."""
        self._run_dir = run_dir
        self._output.move(layout.attempt_dir(run_dir.path, self.step, self.number))

    def drain(self, now: int) -> None:
        """The agent is gone: what is left of its output is taken, bounded."""
        self._output.drain(now)

    def _follow_inherited(self, now: int, wall_at: int) -> list[Event]:
        """Goes down the ladder, if the tree was left to us; finds the agent's exit on the way."""
        if self._inherited is None or self._is_proven:
            return []
        self._inherited_at = self._inherited.advance(now)
        events: list[Event] = [
            self._exited(how, number)
            for pid, how, number in self._inherited.exits
            if pid == self._agent_pid
        ]
        self._inherited.exits.clear()
        if self._inherited.result is not None:
            events.append(self._proven(proof_of(self._inherited.result, wall_at)))
        return events

    def _exited(self, how: str, number: int) -> AgentExited:
        self._has_exited = True
        ending = AgentExit(code=number) if how == "code" else AgentExit(signal=number)
        return AgentExited(step=self.step, attempt=self.number, exit=ending)

    # --- the output's followers ------------------------------------------------------------------

    @property
    def has_news(self) -> bool:
        """Whether the logs have grown since followers were woken."""
        return self._output.total > self._rung_total

    def is_time_to_ring(self, now: int) -> bool:
        """Whether followers are to be woken now; counts as done."""
        if not self.has_news or now < self._rung_at + policy.OUTPUT_BELL_MS:
            return False
        self._rung_at, self._rung_total = now, self._output.total
        return True

    def close(self) -> None:
        """Lets the warden go and closes everything."""
        self._output.close()
        self.warden.bye()
        self.warden.close()


def fact_proof(fact: "ProofObserved | ProofUnknown") -> Proof:
    """The proof that a warden told."""
    if fact[1] == "observed":
        _, _, mechanism, killed, at = fact
        return proof_of(("observed", mechanism, killed), at)
    _, _, reason, at, detail = fact
    return proof_of(("unknown", reason, detail), at)


def proof_of(result: tuple[str, str, int] | tuple[str, str, str], at: int) -> Proof:
    """What ``procs.tree`` concluded at ``at`` (ms since the epoch), as a proof."""
    _, what, detail = result
    if isinstance(detail, int):
        return Proof(state=ProofState.OBSERVED, mechanism=what, verified_at=at, killed=detail)
    return Proof(state=ProofState.UNKNOWN, reason=what, detail=detail)
