"""A launch as somebody asked for it, before ids, session and directory are resolved.

Every face (server, command line, client library) turns its own form of a launch into an ``Asked``;
``control`` resolves what is left open and makes a ``plan.Launch`` of it.  What is ``None`` was not
said, and is decided by whoever resolves it.

This module must never resolve or check anything: that is ``control`` and ``plan.check``.
"""

from dataclasses import dataclass

from sidecar.core.plan import Mode, StepRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a caller wants to have run.

    ``env`` holds only what the caller adds to the environment.  ``timeout_ms`` counts from the
    start of the run.  The same ``client_token`` in the same session is the same run.  ``meta`` is
    the caller's own and is carried through untouched.  ``repr`` hides what may be secret.
    """

    mode: Mode
    steps: tuple[StepRequest, ...]
    run_id: str | None = None
    label: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    timeout_ms: int | None = None
    parent_run_id: str | None = None
    client_token: str | None = None
    meta: dict[str, object] | None = None

    def __repr__(self) -> str:
        return f"Asked(run_id={self.run_id!r}, label={self.label!r}, steps={self.steps!r})"
