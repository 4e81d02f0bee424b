"""Asking a run to end.

The command is durable in the inbox of the run before anybody is answered, so that it survives the
caller, the runner and the machine; a run that nobody leads is ended by whoever adopts it.

This module must never signal a process and never write a status: the answer only shows what the
runner will make of the command.
"""

from dataclasses import replace

from sidecar.control import ownership, read
from sidecar.control.context import Context, Snapshot
from sidecar.core import lifecycle, policy
from sidecar.core.commands import StopCommand
from sidecar.core.errors import InvalidParams
from sidecar.core.events import StopRequested
from sidecar.core.states import Run, StopCause
from sidecar.store import inbox
from sidecar.store.doorbell import Bells

REASON_MAX = 1000
"""Characters: a sentence or two for people, carried in every status."""


def stop(  # noqa: PLR0913 - one keyword for each thing that is recorded of a stop
    ctx: Context,
    ref: str,
    *,
    reason: str | None = None,
    grace_ms: int | None = None,
    any_session: bool = False,
    cause: StopCause = StopCause.USER,
) -> Snapshot:
    """Asks a run to end, with ``grace_ms`` from TERM to KILL; a second one can only hasten.

    The answer has ``stopping`` set, with the revision that the run has on disk.  A run that is over
    is answered as it is.  Raises ``InvalidParams``, ``OtherSession``, ``StorageError``, and as
    ``read.get`` does.
    """
    grace_ms = _grace(grace_ms)
    if reason is not None and len(reason) > REASON_MAX:
        raise InvalidParams(
            f"a reason of {len(reason)} characters", field="reason", hint=f"at most {REASON_MAX}"
        )
    snapshot = read.get(ctx, ref)
    run = snapshot.run
    ownership.check(ctx, run, any_session=any_session)
    command = StopCommand(
        cause=cause,
        client=ctx.caller.client,
        reason=reason,
        grace_ms=grace_ms,
        at=ctx.now_ms(),
    )
    projected = _projected(run, command)
    if projected is run:
        return snapshot  # over, or ended at least as soon as that by an earlier stop
    run_dir = ctx.layout.run_dir(run.run_id)
    order = f"{command.at:015d}-{ctx.random_bytes(8).hex()}"
    inbox.post(run_dir, command.kind, command, order=order)
    bells = Bells(ctx.layout)
    try:
        bells.ring_run(run_dir)
    finally:
        bells.close()
    return replace(snapshot, run=projected)


def _projected(run: Run, command: StopCommand) -> Run:
    """``run`` as being stopped, which is all that is promised; the same if it changes nothing."""
    event = StopRequested(
        cause=command.cause,
        client=command.client,
        reason=command.reason,
        grace_ms=command.grace_ms,
        command_id=None,
    )
    after, _ = lifecycle.step(run, event, command.at)
    return run if after is run else replace(run, stopping=after.stopping)


def _grace(grace_ms: int | None) -> int:
    if grace_ms is None:
        return policy.GRACE_MS
    if not 0 <= grace_ms <= policy.GRACE_MAX_MS:
        raise InvalidParams(
            f"out of range: {grace_ms}",
            field="graceMs",
            hint=f"0 to {policy.GRACE_MAX_MS} milliseconds",
        )
    return grace_ms
