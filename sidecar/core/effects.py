"""Everything a runner may be told to do: a closed set of orders, performed one after the other.

Deciding (``core.lifecycle``) and doing (``runner.perform``) are apart, so that a test can kill the
doer after the k-th effect.  Each effect must therefore be harmless when it is done twice.
"""

from dataclasses import dataclass
from enum import StrEnum

from sidecar.core.events import Recorded
from sidecar.core.states import Outcome


class Urgency(StrEnum):
    """How soon a status must be on disk."""

    COALESCED = "coalesced"
    """Within ``policy.STATUS_COALESCE_MS``, together with whatever comes until then."""
    IMMEDIATE = "immediate"
    """Now; a person waits for it."""
    DURABLE = "durable"
    """Now, and through a power cut: terminal states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendEvent:
    """Append to events.jsonl.  Always the first effect of a step."""

    recorded: Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStatus:
    """Replace status.json by the newest state, then ring the doorbells."""

    urgency: Urgency


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAttempt:
    """See to it that this attempt has a warden.  An attempt that has one is left alone."""

    step: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTree:
    """End the attempt's tree; a shorter grace shortens a longer one.

    The warden does it, or, where the warden has vanished, the runner that inherited the tree.
    """

    step: int
    attempt: int
    grace_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchDrain:
    """The agent is gone: take what is left of its output, bounded, then say ``OutputDrained``."""

    step: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismiss:
    """The attempt is settled: let its warden go and close everything that belongs to it."""

    step: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDeadline:
    """Say ``DeadlinePassed`` (for ``step``, or the run) in ``delay_ms``; replaces the former."""

    step: int | None
    delay_ms: int
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearDeadlines:
    """Forget every deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishCommand:
    """The inbox command took effect: move its file into ``done``."""

    command_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreResult:
    """Write result.json durably, then say ``ResultStored`` with this outcome."""

    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseMarker:
    """Remove the active marker: the run is over and proven gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Nothing is left to do: the runner may end, and the lease falls."""


Effect = (
    AppendEvent
    | WriteStatus
    | StartAttempt
    | EndTree
    | WatchDrain
    | Dismiss
    | SetDeadline
    | ClearDeadlines
    | FinishCommand
    | StoreResult
    | ReleaseMarker
    | Leave
)
