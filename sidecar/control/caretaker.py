"""Seeing to it that no run stays without a leader, and that nothing lies about that nobody needs.

Whoever has time (a server, a waiting command) tends the state directory now and then.  A run that
is not over and whose lease is free has lost its runner, and an adopter is started on it; several
caretakers may do so at once, since the lease decides who leads.  A run that is led, and one of
which that cannot be said, is left alone: unknown is never treated as dead.

This module must never write a status or signal a process, and one directory that it cannot deal
with must never keep it from the others.
"""

import time
from dataclasses import dataclass, field, replace

from sidecar.control import read, stop
from sidecar.control.context import Context
from sidecar.control.read import Problem
from sidecar.core import policy
from sidecar.core.errors import (
    CallerError,
    DamagedRun,
    NotFound,
    SpawnRefused,
    StorageError,
)
from sidecar.core.states import Run, StopCause, run_proof
from sidecar.store import markers, staging, tokens
from sidecar.store.lease import Holding, probe

TEND_BUDGET_MS = 1000
"""How long one call may take about runs: what is left is the next call's, so that a slow disk
delays the repairs and not whoever tends."""

TOKEN_SWEEP_MS = 3_600_000
"""Tokens of removed runs are a few bytes each, and looked at one by one: once an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tended:
    """What was done: adopters started, markers removed, nested runs told to end, dead launches
    swept (run ids each); and what could not be dealt with."""

    adopting: tuple[str, ...]
    released: tuple[str, ...]
    stopped: tuple[str, ...]
    swept: tuple[str, ...]
    problems: tuple[Problem, ...]


@dataclass(slots=True, kw_only=True)
class _Doing:
    """A ``Tended`` in the making."""

    adopting: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    swept: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Tries:
    """How often in a row an adopter was started on a run, and when the next one may be."""

    count: int
    next_at: int


class Caretaker:
    """One caretaker, with its memory of what it saw.  Not for two threads at once."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._free_since: dict[str, int] = {}
        self._tries: dict[str, _Tries] = {}
        self._expected: set[str] = set()
        self._told_to_end: set[str] = set()
        self._adopters: set[int] = set()
        self._resume_after = ""
        self._tokens_due: int | None = None

    def expect(self, run_id: str) -> None:
        """Says that the runner of this run was seen to die: no need to wait before adopting."""
        self._expected.add(run_id)

    def tend(self, now_monotonic_ms: int) -> Tended:
        """Looks at every active run, within a budget, and does what is due.  Never raises for what
        it finds; call it about every ``policy.SCAN_MS``."""
        doing = _Doing()
        self._reap()
        if read.has_state_dir(self._ctx):
            self._sweep(doing, now_monotonic_ms)
            self._look_around(doing, now_monotonic_ms)
        return Tended(
            adopting=tuple(doing.adopting),
            released=tuple(doing.released),
            stopped=tuple(doing.stopped),
            swept=tuple(doing.swept),
            problems=tuple(doing.problems),
        )

    def _look_around(self, doing: _Doing, now: int) -> None:
        try:
            active = markers.active_ids(self._ctx.layout)
        except StorageError as exc:
            path = self._ctx.layout.active
            doing.problems.append(Problem(path=path, error=exc.message, damage=None))
            return
        self._forget_others(active)
        self._look_at_all(active, doing, now)

    def _look_at_all(self, active: list[str], doing: _Doing, now: int) -> None:
        """From where the last call ended, so that a budget that is too small starves nobody."""
        ends_at = time.monotonic() + TEND_BUDGET_MS / 1000
        later = [run_id for run_id in active if run_id > self._resume_after]
        for run_id in later + active[: len(active) - len(later)]:
            if time.monotonic() >= ends_at:
                return
            self._resume_after = run_id
            try:
                self._look_at(run_id, doing, now)
            except NotFound:
                continue  # its launch is under way, or it was removed
            except (DamagedRun, StorageError) as exc:
                doing.problems.append(read.problem_of(self._ctx, run_id, exc))
            except SpawnRefused as exc:
                path = self._ctx.layout.run_dir(run_id)
                doing.problems.append(Problem(path=path, error=exc.message, damage=None))

    def _look_at(self, run_id: str, doing: _Doing, now: int) -> None:
        run = read.snapshot_of(self._ctx, run_id).run
        if run.is_over:
            self._forget(run_id)
            if self._is_marker_done(run):
                markers.remove(self._ctx.layout, run_id)
                doing.released.append(run_id)
            return
        self._end_with_parent(run, doing)
        holding = probe(self._ctx.layout.run_dir(run_id))
        if holding is not Holding.FREE:
            self._forget(run_id)
            if holding is Holding.HELD and run_id in self._tries:
                self._tries[run_id] = replace(self._tries[run_id], count=0)
            return
        since = self._free_since.setdefault(run_id, now)
        is_due = run_id in self._expected or now - since >= policy.ADOPT_DELAY_MS
        tries = self._tries.get(run_id, _Tries(0, now))
        if is_due and now >= tries.next_at and len(doing.adopting) < policy.ADOPT_AT_ONCE:
            pause_ms = min(policy.ADOPT_RETRY_MS << tries.count, policy.ADOPT_RETRY_MAX_MS)
            self._tries[run_id] = _Tries(tries.count + 1, now + pause_ms)
            self._expected.discard(run_id)
            self._adopt(run_id)
            doing.adopting.append(run_id)

    def _adopt(self, run_id: str) -> None:
        ctx = self._ctx
        self._adopters.add(ctx.spawner.spawn_adopter(ctx.layout.run_dir(run_id), ctx.runner_env))

    def _is_marker_done(self, run: Run) -> bool:
        """By proof; by age where a proof can never be had."""
        if run_proof(run).state in read.GONE:
            return True
        ended_at = run.ended_at if run.ended_at is not None else run.updated_at
        return self._ctx.now_ms() - ended_at >= policy.MARKER_AGE_MS

    def _end_with_parent(self, run: Run, doing: _Doing) -> None:
        """A nested run ends with its parent.  Mostly it lies below the parent's warden, which ends
        it; one that was launched from elsewhere has nobody else to tell it."""
        if run.parent_run_id is None or run.stopping is not None:
            return
        if run.run_id in self._told_to_end:
            return
        try:
            if not read.snapshot_of(self._ctx, run.parent_run_id).run.is_over:
                return
        except NotFound:
            pass  # removed, so it was over
        except (DamagedRun, StorageError):
            return  # the parent's trouble, which is told with the parent
        try:
            stop.stop(
                self._ctx,
                run.run_id,
                reason="the parent run ended",
                any_session=True,
                cause=StopCause.PARENT,
            )
        except CallerError:
            return  # gone in the meantime
        self._told_to_end.add(run.run_id)
        doing.stopped.append(run.run_id)

    def _sweep(self, doing: _Doing, now: int) -> None:
        layout = self._ctx.layout
        try:
            doing.swept += staging.sweep(layout)
        except StorageError as exc:
            doing.problems.append(Problem(path=layout.staging, error=exc.message, damage=None))
        if self._tokens_due is None:
            self._tokens_due = now + TOKEN_SWEEP_MS
        if now < self._tokens_due:
            return
        self._tokens_due = now + TOKEN_SWEEP_MS
        try:
            tokens.sweep(layout)
        except StorageError as exc:
            doing.problems.append(Problem(path=layout.tokens, error=exc.message, damage=None))

    def _reap(self) -> None:
        self._adopters = {pid for pid in self._adopters if self._ctx.spawner.reap(pid) is None}

    def _forget(self, run_id: str) -> None:
        self._free_since.pop(run_id, None)
        self._expected.discard(run_id)

    def _forget_others(self, active: list[str]) -> None:
        """What is no longer active is nobody's concern, and must not be kept for ever."""
        still = set(active)
        self._expected &= still
        self._told_to_end &= still
        self._free_since = {key: at for key, at in self._free_since.items() if key in still}
        self._tries = {key: tries for key, tries in self._tries.items() if key in still}
