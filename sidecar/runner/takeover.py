"""Taking over a run that nobody leads: adopt.

Whoever gets the lease gathers evidence, and feeds what ``core.diagnose`` concludes to the same
loop as a live runner: there is no second set of rules for repair.  Who does not get it leaves
quietly: somebody else leads the run.

This module must never conclude anything from silence or age.
"""

import os
import select
from collections.abc import Collection

from sidecar.core import diagnose, policy
from sidecar.core.diagnose import AttemptEvidence
from sidecar.core.events import Event, ResultStored, RunnerStarted
from sidecar.core.ids import ProcId
from sidecar.core.states import (
    AgentExit,
    Attempt,
    AttemptState,
    Failure,
    Proof,
    Run,
    RunState,
    Step,
)
from sidecar.procs import clock, identity, orphans, records
from sidecar.procs.records import WardenRecord
from sidecar.runner import report, start
from sidecar.runner.attempt import fact_proof, proof_of
from sidecar.runner.loop import Runner, log, whoami
from sidecar.store import layout
from sidecar.store.lease import Lease
from sidecar.store.rundir import LeasedRunDir

_POLL_MS = 25


def live_attempts(run: Run) -> list[tuple[Step, Attempt]]:
    """The attempts whose end this run still owes."""
    return [
        (step, step.attempt)
        for step in run.steps
        if step.attempt is not None and step.attempt.state is not AttemptState.SETTLED
    ]


def gather(
    run_dir: LeasedRunDir, run: Run, step: int, attempt: Attempt, now: int
) -> AttemptEvidence:
    """What can be found of one attempt; waits, bounded, for a warden that is still at work.

    ``now`` is the wall clock, for the proof of a search of our own.
    """
    attempt_dir = layout.attempt_dir(run_dir.path, step, attempt.number)
    record = _final_record(os.path.join(attempt_dir, layout.WARDEN))
    if record is None and attempt.state is AttemptState.STARTING:
        return AttemptEvidence(has_record=False)
    if record is None:  # the log tells of a start: the record was deleted
        record = WardenRecord(is_alive=None)
    agent = attempt.agent
    if record.agent is not None and record.warden is not None:
        agent = ProcId(pid=record.agent[0], start_ticks=record.agent[1], boot_id=record.warden[2])
    proof = None
    if record.proof is not None:
        proof = fact_proof(record.proof)
    elif record.spawn_failed is None:
        proof = _search(run.run_id, agent, now)
    return AttemptEvidence(
        has_record=True,
        agent=agent,
        spawn_failure=_spawn_failure(record),
        exit=_exit(record),
        runner_vanished=record.runner_vanished_at is not None,
        exit_before_loss=record.has_exited_unprompted,
        proof=proof,
        stdout_bytes=report.log_size(run_dir, step, attempt.number, "stdout"),
        stderr_bytes=report.log_size(run_dir, step, attempt.number, "stderr"),
        preview=report.preview(run_dir, step, attempt.number),
        runner_log=report.runner_log_tail(run_dir),
    )


def _final_record(path: str) -> WardenRecord | None:
    """The record once its warden has ended, or as it is when waiting has lasted too long.

    Where there are no locks nobody can say whether it lives, and it is waited for as well.
    """
    until = clock.now_ms() + policy.WARDEN_WAIT_MS
    while True:
        try:
            record = records.read_record(path)
        except OSError:  # something else has its name, or it may not be read: it tells nothing
            record = WardenRecord(is_alive=None)
        if record is None or record.is_alive is False:
            return record
        if record.is_alive is None and record.proof is not None:
            return record
        if clock.now_ms() >= until:
            log(f"the warden is still at work after {policy.WARDEN_WAIT_MS} ms: {path}")
            return record
        select.poll().poll(_POLL_MS)


def _search(run_id: str, agent: ProcId | None, now: int) -> Proof:
    """Ends what can be found of an attempt that left no proof."""
    known = None
    if agent is not None and agent.boot_id == identity.boot_id():
        known = (agent.pid, agent.start_ticks)
    return proof_of(orphans.end_orphans(run_id, known, policy.GRACE_MS), now)


def _spawn_failure(record: WardenRecord) -> Failure | None:
    if record.spawn_failed is None:
        return None
    return Failure(code="spawn-failed", message=record.spawn_failed[2])


def _exit(record: WardenRecord) -> AgentExit | None:
    if record.exit is None:
        return None
    how, number, _ = record.exit
    return AgentExit(code=number) if how == "code" else AgentExit(signal=number)


def events(
    run_dir: LeasedRunDir, run: Run, now: int, *, but: Collection[tuple[int, int]] = ()
) -> list[Event]:
    """What is to be told to the machine about every live attempt of ``run``.

    ``but`` are the (step, attempt) that this process itself has just started: they have a leader.
    """
    found: list[Event] = []
    for step, attempt in live_attempts(run):
        if (step.index, attempt.number) in but:
            continue
        evidence = gather(run_dir, run, step.index, attempt, now)
        found += diagnose.attempt_events(
            step.index, attempt, evidence, is_stopping=run.stopping is not None
        )
    return found


def lead(run_dir: str, paths: list[str], lease: Lease) -> None:
    """Leads the run in ``run_dir``, whose lease was free until now, to its end.

    One whose log already tells the end only lacks what is written after it.
    """
    leased = LeasedRunDir(run_dir, lease)
    state = leased.read_current()
    runner = Runner(state, leased, paths)
    if state.is_over:
        runner.finish()
        return
    result = leased.read_result()
    if result is not None:
        runner.feed(ResultStored(outcome=result.outcome))
    else:
        _begin(runner, has_begun=start.has_record(leased, 0, 1))
        # What the machine has just had started is alive, and no dead runner's.
        runner.feed(*events(leased, runner.run, clock.wall_ms(), but=runner.led))
    runner.lead()


def _begin(runner: Runner, *, has_begun: bool) -> None:
    """Takes the lead, and every stop that somebody was promised while nobody led.

    The stop comes first, so that nothing is started that is to be ended; unless the first attempt
    is under way but not in the log yet, which has to know it before it can be stopped.
    """
    started = RunnerStarted(runner=whoami(), adopted=True)
    if runner.run.state is RunState.QUEUED and has_begun:
        runner.feed(started)
        runner.take_inbox()
    else:
        runner.take_inbox()
        runner.feed(started)
    runner.settle_queue()
