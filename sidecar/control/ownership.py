"""Whether a caller may act on a run: its own session's, or any if it says that it means it.

Reading needs no such permission: all runs belong to one user.  This module must never be asked
about reading, and must never take silence for consent.
"""

from sidecar.control.context import Context
from sidecar.core.errors import OtherSession
from sidecar.core.states import Run


def check(ctx: Context, run: Run, *, any_session: bool) -> None:
    """Raises ``OtherSession`` if the run belongs to another session and that is not meant."""
    if any_session or run.session_id == ctx.caller.session_id:
        return
    raise OtherSession(
        f"this run belongs to another session: {run.session_id}",
        field="runId",
        hint="say that any session is meant (anySession, --any-session)",
        run_id=run.run_id,
    )
