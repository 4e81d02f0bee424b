"""The loop that leads one run, from its first attempt to its last word.

One loop, one queue: an event comes from a source, ``lifecycle.step`` says what becomes of the run
and what is to be done, the effects are done in order.  A live run and an adopted one are led by
the same loop.

This module must never decide what becomes of a run, and must stay light: it is imported while the
agent already runs.
"""

import contextlib
import os
import select
import sys
from collections import deque
from collections.abc import Callable, Collection
from typing import assert_never

from sidecar.core import diagnose, lifecycle, policy
from sidecar.core.effects import (
    AppendEvent,
    ClearDeadlines,
    Dismiss,
    Effect,
    EndTree,
    FinishCommand,
    Leave,
    ReleaseMarker,
    SetDeadline,
    StartAttempt,
    StoreResult,
    WatchDrain,
    WriteStatus,
)
from sidecar.core.errors import (
    AgentUnavailable,
    DamagedRun,
    NotFound,
    SidecarError,
    SpawnRefused,
    StorageError,
)
from sidecar.core.events import (
    Event,
    ResultStored,
    SpawnFailed,
    StopRequested,
)
from sidecar.core.ids import ProcId
from sidecar.core.states import Failure, Outcome, Run, StopCause
from sidecar.procs import clock, identity
from sidecar.procs.handle import WardenHandle
from sidecar.procs.inherit import become_subreaper
from sidecar.procs.wakeup import Wakeup, reap
from sidecar.runner import start
from sidecar.runner.attempt import LiveAttempt
from sidecar.runner.inbox import InboxSource
from sidecar.runner.journal import Journal
from sidecar.runner.timers import Deadlines
from sidecar.store.layout import Layout
from sidecar.store.restore import restore
from sidecar.store.rundir import LeasedRunDir


def whoami() -> ProcId:
    """This process."""
    pid = os.getpid()
    ticks = identity.start_ticks(pid)
    return ProcId(pid=pid, start_ticks=ticks or 0, boot_id=identity.boot_id())


def log(message: str) -> None:
    """One line to runner.log, which is our stderr; a full disk loses it, and nothing else."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{clock.wall_ms()} {message}\n")
        sys.stderr.flush()


class Runner:
    """The leader of one run, as long as it holds the lease.

    ``run`` is the newest state.  ``after_effect`` is called after each effect that was done: the
    crash tests end the process there.
    """

    def __init__(
        self,
        run: Run,
        run_dir: LeasedRunDir,
        paths: list[str],
        *,
        booted: WardenHandle | None = None,
        after_effect: Callable[[Effect], None] = lambda _: None,
    ) -> None:
        self.run = run
        self._dir = run_dir
        self._paths = paths
        self._booted = booted
        self._after_effect = after_effect
        self._boot_id = identity.boot_id()
        self._queue: deque[tuple[Event, int | None]] = deque()
        self._live: dict[tuple[int, int], LiveAttempt] = {}
        self._deadlines = Deadlines()
        self._wakeup = Wakeup()
        self._wardens: set[int] = set()
        self._to_start: set[tuple[int, int]] = set()
        self._start_at: int | None = None
        self._leave_at: int | None = None
        self._last_words = ""
        become_subreaper()
        self._layout = Layout(os.path.dirname(os.path.dirname(run_dir.path)))
        self._inbox = InboxSource(run_dir.path)
        self._journal = Journal(
            layout=self._layout,
            run_dir=run_dir,
            newest=lambda: self.run,
            stored=self._result_stored,
            done=after_effect,
        )

    # --- the loop --------------------------------------------------------------------------------

    def lead(self) -> None:
        """Until the run is over and nothing of it is left in this process."""
        while True:
            self.settle_queue()
            now = clock.now_ms()
            self._journal.flush(now)
            if self._queue:
                continue
            if self._journal.is_lost or self._inbox.is_lost:
                self._restore_if_deleted()
            if self._journal.left and self._may_leave(now):
                break
            self._poll(now)
        self._inbox.close()
        self._dir.close()

    def finish(self) -> None:
        """Writes what follows an end that the log tells already: status, marker, doorbells."""
        for effect in lifecycle.epilogue(self.run):
            self._perform(effect, clock.now_ms())
        self.lead()

    def _restore_if_deleted(self) -> None:
        """The run lives, so it has a directory: one that somebody deleted is made anew."""
        if os.path.lexists(self._dir.path):
            return
        try:
            anew = restore(self._layout, self.run, self._live)
        except SidecarError as exc:
            self._log_once(f"the run directory was deleted and cannot be made anew for now: {exc}")
            return
        self._dir.close()
        self._dir.lease.release()
        self._dir = anew
        self._inbox.close()
        self._inbox = InboxSource(anew.path)
        self._journal.move(anew)
        for live in self._live.values():
            live.move(anew)
        self._journal.ring("status")

    def _may_leave(self, now: int) -> bool:
        """All is written; the wardens, who have said all, are waited for a moment."""
        if self._leave_at is None:
            self._leave_at = now + policy.LEAVE_WAIT_MS
        return not self._wardens or now >= self._leave_at

    @property
    def led(self) -> Collection[tuple[int, int]]:
        """The (step, attempt) that have a warden of this process."""
        return self._live.keys()

    def feed(self, *events: Event, at: int | None = None) -> None:
        """Adds what happened, at ``at`` (ms since the epoch) or now, to the queue."""
        self._queue.extend((event, at) for event in events)

    def take_inbox(self) -> None:
        """Looks into the inbox now, for an adopter to whom a stop matters before any start."""
        self.feed(*self._inbox.turn(clock.now_ms(), is_woken=True))

    def settle_queue(self) -> None:
        """Takes every event that is known by now to its effects."""
        while self._queue:
            event, at = self._queue.popleft()
            self.run, effects = lifecycle.step(self.run, event, at or clock.wall_ms())
            for effect in effects:
                self._perform(effect, clock.now_ms())

    def _poll(self, now: int) -> None:
        poll = select.poll()
        poll.register(self._wakeup.fd, select.POLLIN)
        if self._inbox.fd is not None:
            poll.register(self._inbox.fd, select.POLLIN)
        for live in self._live.values():
            for fd in live.descriptors():
                poll.register(fd, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(self._timeout_ms(now))}
        self._take(ready, clock.now_ms())

    def _timeout_ms(self, now: int) -> int:
        times = [self._journal.due_at, self._deadlines.next_at, self._inbox.next_at]
        times += [self._start_at, self._leave_at]
        times += [live.next_at() for live in self._live.values()]
        due = min((at for at in times if at is not None), default=now + policy.INBOX_SCAN_MS)
        return max(0, due - now)

    def _take(self, ready: set[int], now: int) -> None:
        """Turns what is ready into events."""
        if self._wakeup.fd in ready:
            if self._wakeup.take():
                self.feed(self._terminated())
            self._wardens -= {pid for pid in self._wardens if reap(pid)}
        if self._start_at is not None and now >= self._start_at:
            self._start_again()
        for live in list(self._live.values()):
            for event, at in live.turn(now, clock.wall_ms()):
                self.feed(event, at=at)
            if live.is_time_to_ring(now):
                self._journal.ring("output")
        self.feed(*self._inbox.turn(now, is_woken=self._inbox.fd in ready))
        for story in self._inbox.take_refused():
            log(f"not a command: {story}")
        self.feed(*self._deadlines.passed(now))

    def _terminated(self) -> StopRequested:
        """TERM: our parent run ends its tree, or the machine goes down.  Both want us to end."""
        nested = self.run.parent_run_id is not None
        return StopRequested(
            cause=StopCause.PARENT if nested else StopCause.SIGNAL,
            client=None,
            reason="the parent run ended" if nested else "the runner was told to terminate",
            grace_ms=policy.NESTED_GRACE_MS if nested else policy.GRACE_MS,
            command_id=None,
        )

    # --- the effects -----------------------------------------------------------------------------

    def _perform(self, effect: Effect, now: int) -> None:
        match effect:
            case (
                AppendEvent()
                | WriteStatus()
                | StoreResult()
                | FinishCommand()
                | ReleaseMarker()
                | Leave()
            ):
                if isinstance(effect, StoreResult):
                    self._inbox.close()  # the outcome is decided: nobody can ask for more
                self._journal.take(effect, now)
                return  # it is done when it is on disk: the journal tells
            case StartAttempt(step=step, attempt=attempt):
                self._start(step, attempt, now)
            case EndTree(step=step, attempt=attempt, grace_ms=grace_ms):
                # Why it is ended comes first: if we die in between, its death must not look like
                # its own doing.  A disk that refuses delays no stop.
                self._journal.flush(now)
                live = self._live.get((step, attempt))
                if live is not None:
                    live.end_tree(grace_ms, self._wardens, now)
            case WatchDrain(step=step, attempt=attempt):
                live = self._live.get((step, attempt))
                if live is not None:
                    live.drain(now)
            case Dismiss(step=step, attempt=attempt):
                live = self._live.pop((step, attempt), None)
                if live is not None:
                    live.close()
            case SetDeadline():
                self._deadlines.set(effect, now)
            case ClearDeadlines():
                self._deadlines.clear()
            case _:
                assert_never(effect)
        self._after_effect(effect)

    def _start(self, step: int, attempt: int, now: int) -> None:
        """Gives the attempt a warden, unless it has, or had, one (then adopt knows its story)."""
        booted, self._booted = self._booted, None
        if booted is None:
            if start.has_record(self._dir, step, attempt):
                return
            try:
                booted = start.warden_for(self._dir, step, attempt, self._paths)
            except (StorageError, SpawnRefused, NotFound) as exc:
                self._log_once(f"attempt {attempt} of step {step} has to wait: {exc}")
                self._to_start.add((step, attempt))
                self._start_at = now + policy.STORAGE_RETRY_MS
                return
            except (DamagedRun, AgentUnavailable) as exc:
                # What was asked for is not known any more, and trying again will not tell it.
                self._refuse_start(step, attempt, Failure(code="spawn-failed", message=exc.message))
                return
        self._wardens.add(booted.pid)
        self._live[step, attempt] = LiveAttempt(
            step=step, number=attempt, run_dir=self._dir, warden=booted, boot_id=self._boot_id
        )

    def _start_again(self) -> None:
        """Tries once more what the machine refused, unless the run is being stopped by now."""
        waiting, self._to_start, self._start_at = self._to_start, set(), None
        for step, attempt in sorted(waiting):
            if self.run.stopping is None:
                self._start(step, attempt, clock.now_ms())
            else:
                self._refuse_start(step, attempt, diagnose.NEVER_STARTED)

    def _refuse_start(self, step: int, attempt: int, failure: Failure) -> None:
        self.feed(SpawnFailed(step=step, attempt=attempt, failure=failure))

    def _log_once(self, message: str) -> None:
        """What is tried again and again is told when it is new."""
        if message != self._last_words:
            self._last_words = message
            log(message)

    def _result_stored(self, outcome: Outcome) -> None:
        self.feed(ResultStored(outcome=outcome))
