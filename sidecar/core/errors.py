"""Every error that sidecar raises on purpose, as one tree.

    SidecarError
    |- CallerError            the caller asked for something that cannot be
    |  |- InvalidParams         invalid-params
    |  |- NotFound              not-found
    |  |- AmbiguousId           ambiguous-id      (lists candidates)
    |  |- OtherSession          other-session
    |  |- RunLive               run-live
    |  |- RunOver               run-over
    |  |- AlreadyResolved       already-resolved
    |  |- AgentUnavailable      agent-unavailable
    |  `- LimitReached          limit-reached
    |- StorageError           the system refused: disk, descriptors, rights      (storage)
    |- SpawnRefused           the system refused: no process could be started    (spawn-failed)
    |- DamagedRun             what lies on disk cannot be trusted; isolated, never touched
    |                         (corrupt, foreign, future-format, unreadable)
    `- Bug                    we are wrong                                        (internal)

The codes are part of the wire contract: they never change, texts may.  A failed *agent* is a
value (an ``Outcome``), never an exception.  This module must never import anything of sidecar.

Messages have no trailing period and name the offending value last, after a colon.
"""

from typing import ClassVar, Literal


class SidecarError(Exception):
    """Base of the tree.

    ``code`` is stable kebab-case; ``field`` names the offending request field (dotted path);
    ``hint`` says what to do about it; ``run_id`` is the run concerned.
    """

    code: ClassVar[str] = "internal"

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        hint: str | None = None,
        run_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.hint = hint
        self.run_id = run_id


class CallerError(SidecarError):
    """The request cannot be carried out as asked; nothing was changed."""


class InvalidParams(CallerError):
    """A parameter is missing, unknown, of the wrong type or out of range."""

    code = "invalid-params"


class NotFound(CallerError):
    """No run has this id or prefix."""

    code = "not-found"


class AmbiguousId(CallerError):
    """A prefix fits more than one run; ``candidates`` lists some of them."""

    code = "ambiguous-id"

    def __init__(self, message: str, *, candidates: tuple[str, ...]) -> None:
        super().__init__(message, field="runId", hint="give more characters of the id")
        self.candidates = candidates


class OtherSession(CallerError):
    """Acting on a run of another session needs ``anySession``."""

    code = "other-session"


class RunLive(CallerError):
    """The operation is for runs that are over."""

    code = "run-live"


class RunOver(CallerError):
    """The operation is for runs that are not over."""

    code = "run-over"


class AlreadyResolved(CallerError):
    """A precondition of the request no longer holds."""

    code = "already-resolved"


class AgentUnavailable(CallerError):
    """There is no such agent, or it cannot be started here."""

    code = "agent-unavailable"


class LimitReached(CallerError):
    """A limit of ``core.policy`` refuses the request."""

    code = "limit-reached"


class StorageError(SidecarError):
    """The file system or the descriptor table refused; ``errno_name`` as in errno(3)."""

    code = "storage"

    def __init__(self, message: str, *, errno_name: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.errno_name = errno_name


class SpawnRefused(SidecarError):
    """The system would not start one of our own processes (EAGAIN, ENOMEM, ...)."""

    code = "spawn-failed"


Damage = Literal["corrupt", "foreign", "future-format", "unreadable"]


class DamagedRun(SidecarError):
    """A run directory that cannot be trusted.  It is told, isolated, and never written to."""

    code = "corrupt"

    def __init__(self, message: str, *, path: str, damage: Damage) -> None:
        super().__init__(message)
        self.path = path
        self.damage = damage


class Bug(SidecarError):
    """A thing that cannot happen happened.  Carries the story; fatal in tests."""

    code = "internal"
