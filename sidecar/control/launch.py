"""Launching a run: from what was asked for to a runner at work, or to nothing at all.

The order is the promise.  A run is built aside with its lease held, shown by one rename, and its
runner is started with the lease in its hand; so whoever is killed wherever in between leaves either
nothing that could be taken for a run, or a run that an adopter can start.  Whatever is refused on
the way is taken back by the launcher itself, which holds the lease all the time.

This module must never start an agent, nor answer before the run is durable.
"""

import contextlib
import os
from dataclasses import dataclass

from sidecar.control import parents, read, resolve
from sidecar.control.context import Context, Snapshot
from sidecar.core import ids, lifecycle
from sidecar.core.asked import Asked
from sidecar.core.dismissal import NEVER
from sidecar.core.errors import AgentUnavailable, InvalidParams, NotFound, SidecarError
from sidecar.core.events import PlannedStep, RunLaunched
from sidecar.core.plan import Launch
from sidecar.core.states import Run
from sidecar.drivers import base, registry
from sidecar.procs import order
from sidecar.store import attempts, staging
from sidecar.store.doorbell import STATUS, Bells
from sidecar.store.layout import open_state_dir
from sidecar.store.rundir import LeasedRunDir
from sidecar.store.tokens import TokenLock

FIRST_STEP, FIRST_ATTEMPT = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The run.  ``created`` is false if an earlier launch with the same token had made it.

    ``runner_pid`` is a child of this process if this call started it; it is the caller's to reap.
    """

    snapshot: Snapshot
    runner_pid: int | None
    created: bool


def launch(ctx: Context, asked: Asked) -> Launched:
    """Launches a run; it is durable, visible to everybody and led when this returns.

    Raises ``InvalidParams``, ``AgentUnavailable``, ``NotFound`` or ``RunOver`` (the parent run),
    ``LimitReached``, ``StorageError``, ``SpawnRefused``: nothing is left then.
    """
    draft = resolve.draft(ctx, asked)
    layout = open_state_dir(ctx.layout.state_dir)
    if asked.client_token is None:
        return _launch(ctx, asked, draft, None)
    # Two retries of one launch come one after the other from here on, in whatever processes.
    with TokenLock(layout, ids.token_name(draft.session_id, asked.client_token)) as token:
        earlier = _earlier(ctx, asked, token.run_id)
        if earlier is not None:
            return Launched(snapshot=earlier, runner_pid=None, created=False)
        return _launch(ctx, asked, draft, token)


def _earlier(ctx: Context, asked: Asked, bound: str | None) -> Snapshot | None:
    """The run that the token stands for.  One that was bound but never shown stands for none."""
    if bound is None:
        return None
    try:
        earlier = read.snapshot_of(ctx, bound)
    except NotFound:
        return None
    if asked.run_id not in (None, bound):
        raise InvalidParams(
            f"the client token stands for another run: {bound}",
            field="clientToken",
            hint="one launch, one token",
        )
    return earlier


def _launch(ctx: Context, asked: Asked, draft: Launch, token: TokenLock | None) -> Launched:
    parent_run_id = parents.parent_of(ctx, asked)
    run_id = asked.run_id or ids.new_run_id(ctx.now_ms(), ctx.random_bytes(10))
    whole = resolve.complete(ctx, asked, draft, run_id=run_id, parent_run_id=parent_run_id)
    first = _first_order(ctx, whole)
    if token is not None:
        token.bind(run_id)
    if asked.run_id is not None and os.path.lexists(ctx.layout.staging_dir(run_id)):
        staging.sweep(ctx.layout)  # perhaps of a launcher that died: its retry must not fail
    run_dir, lease = staging.stage(ctx.layout, run_id)
    try:
        run = _write(run_dir, whole, first)
        staging.commit(ctx.layout, run_id)
        pid = ctx.spawner.spawn_runner(ctx.layout.run_dir(run_id), lease.fd, ctx.runner_env)
    except Exception:
        _take_back(ctx, run_id)
        raise
    finally:
        # A runner has its own copy of the lease: the run is its business, whatever becomes of us.
        # Interrupted by a person, it is left as it is: staged to be swept, or shown to be adopted.
        run_dir.close()
        lease.release()
    _ring(ctx, run)
    snapshot = Snapshot(run=run, dismissal=NEVER)
    return Launched(snapshot=snapshot, runner_pid=pid, created=True)


def _first_order(ctx: Context, whole: Launch) -> bytes:
    """What the boot path starts: the first attempt of the first step."""
    step = whole.steps[FIRST_STEP]
    driver = registry.find(step.agent)
    if driver is None:
        raise AgentUnavailable(f"no such agent: {step.agent}", field="step.agent")
    how = driver.order(step, whole)
    env = base.environment(whole, step, ctx.layout.state_dir)
    return order.encode(
        [os.fsencode(arg) for arg in how.argv],
        [os.fsencode(f"{name}={value}") for name, value in env],
        os.fsencode(step.cwd or whole.cwd),
        how.stdin.value,
    )


def _write(run_dir: LeasedRunDir, whole: Launch, first: bytes) -> Run:
    """Fills the directory; nothing of it counts before the commit."""
    run_dir.write_request(whole)
    event = RunLaunched(
        run_id=whole.run_id,
        mode=whole.mode,
        session_id=whole.session_id,
        cwd=whole.cwd,
        label=whole.label,
        parent_run_id=whole.parent_run_id,
        timeout_ms=whole.timeout_ms,
        steps=tuple(
            PlannedStep(
                id=f"step-{number}", agent=step.agent, label=step.label, timeout_ms=step.timeout_ms
            )
            for number, step in enumerate(whole.steps, start=1)
        ),
    )
    run, recorded = lifecycle.launched(event, whole.created_at)
    run_dir.append(recorded)
    run_dir.write_status(run, durable=True)
    prompt = whole.steps[FIRST_STEP].prompt
    attempts.write_order(run_dir, FIRST_STEP, FIRST_ATTEMPT, order=first, prompt=prompt)
    return run


def _take_back(ctx: Context, run_id: str) -> None:
    """Leaves nothing, while the lease is held.  What cannot be removed now is swept later."""
    with contextlib.suppress(SidecarError):  # the first refusal is the one to tell
        staging.withdraw(ctx.layout, run_id)


def _ring(ctx: Context, run: Run) -> None:
    bells = Bells(ctx.layout)
    try:
        bells.ring(STATUS, run.run_id, run.seq)
    finally:
        bells.close()
