"""What anybody may ask of a run, through its inbox: a closed set, one file each.

A command is durable before its sender is answered, and is consumed only after it took effect, so
that a stop request survives every crash.  Its ``command_id`` is the name of its file.
"""

from dataclasses import dataclass
from typing import ClassVar

from sidecar.core.states import StopCause


@dataclass(frozen=True, slots=True, kw_only=True)
class StopCommand:
    """End the run.  ``client`` is who asks (an editor's name), ``reason`` what they said."""

    kind: ClassVar[str] = "stop"
    cause: StopCause
    client: str | None
    reason: str | None
    grace_ms: int
    at: int


Command = StopCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A command with its place in the inbox."""

    command_id: str
    command: Command
