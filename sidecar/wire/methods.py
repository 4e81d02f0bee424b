"""The registry: every request that is answered and every notification that is sent.

This is the only list of methods.  The server's table of handlers, the ``workspace/executeCommand``
mirror, the capabilities, the JSON Schema and protocol.md are all made from it.

This module must never hold behaviour: what a method does stands in its handler.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from sidecar.wire import notifications, params, results
from sidecar.wire.fields import Params, View
from sidecar.wire.views import AgentView

PROTOCOL_VERSION = "1"
COMMAND_PREFIX = "sidecar."


class Direction(StrEnum):
    """Who sends it."""

    CLIENT_TO_SERVER = "clientToServer"
    SERVER_TO_CLIENT = "serverToClient"


class Access(StrEnum):
    """What a request does to runs."""

    NONE = "none"
    """It is about no run that exists."""
    READS = "reads"
    """It looks at runs, of whatever session."""
    ACTS = "acts"
    """It changes a run; one of another session only with ``anySession``."""


class Stability(StrEnum):
    """What may become of it."""

    STABLE = "stable"
    EXPERIMENTAL = "experimental"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A method that is answered.

    ``errors`` are the codes that it gives beside those that every request can give (see
    ``COMMON_ERRORS``).  ``since`` is a version of the protocol.
    """

    name: str
    params: type[Params]
    result: type[View]
    access: Access
    errors: tuple[str, ...]
    summary: str
    since: str = PROTOCOL_VERSION
    stability: Stability = Stability.STABLE
    direction: Direction = Direction.CLIENT_TO_SERVER

    @property
    def command(self) -> str:
        """Its name as a command of ``workspace/executeCommand``."""
        return COMMAND_PREFIX + self.name.replace("/", ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A method that is only told."""

    name: str
    params: type[View]
    summary: str
    since: str = PROTOCOL_VERSION
    stability: Stability = Stability.STABLE
    direction: Direction = Direction.SERVER_TO_CLIENT


COMMON_ERRORS = ("invalid-params", "storage", "internal")
"""What every request can be refused with."""

_BY_ID = ("not-found", "ambiguous-id")
_DAMAGED = ("corrupt", "foreign", "future-format", "unreadable")
_READING = (*_BY_ID, *_DAMAGED)
_ACTING = (*_READING, "other-session")
_LAUNCHING = (
    "agent-unavailable",
    "not-found",
    "run-over",
    "limit-reached",
    "spawn-failed",
)

REQUESTS = (
    Request(
        name="run/launch",
        params=params.RunLaunchParams,
        result=results.RunLaunchResult,
        access=Access.NONE,
        errors=_LAUNCHING,
        summary="Launch a run; it is durable and visible to every server before the answer.",
    ),
    Request(
        name="run/get",
        params=params.RunGetParams,
        result=results.RunGetResult,
        access=Access.READS,
        errors=_READING,
        summary="Show a run as it is now.",
    ),
    Request(
        name="run/list",
        params=params.RunListParams,
        result=results.RunListResult,
        access=Access.READS,
        errors=(),
        summary="List runs, newest first; what is damaged is told beside them.",
    ),
    Request(
        name="run/wait",
        params=params.RunWaitParams,
        result=results.RunWaitResult,
        access=Access.READS,
        errors=_READING,
        summary="Answer once one or all of the runs are over; can be cancelled.",
    ),
    Request(
        name="run/stop",
        params=params.RunStopParams,
        result=results.RunStopResult,
        access=Access.ACTS,
        errors=_ACTING,
        summary="End a run. Twice, or when it is over, is not an error.",
    ),
    Request(
        name="run/dismiss",
        params=params.RunDismissParams,
        result=results.RunDismissResult,
        access=Access.ACTS,
        errors=(*_ACTING, "run-live"),
        summary="Hide a run that is over from lists; it ends nothing and deletes nothing.",
    ),
    Request(
        name="run/undismiss",
        params=params.RunUndismissParams,
        result=results.RunUndismissResult,
        access=Access.ACTS,
        errors=_ACTING,
        summary="Show a dismissed run again.",
    ),
    Request(
        name="run/events",
        params=params.RunEventsParams,
        result=results.RunEventsResult,
        access=Access.READS,
        errors=_READING,
        summary="Give a page of a run's history.",
    ),
    Request(
        name="run/output",
        params=params.RunOutputParams,
        result=results.RunOutputResult,
        access=Access.READS,
        errors=_READING,
        summary="Give a page of a log, live or not.",
    ),
    Request(
        name="run/result",
        params=params.RunResultParams,
        result=results.RunResultResult,
        access=Access.READS,
        errors=(*_READING, "run-live"),
        summary="Give the result of a run that is over.",
    ),
    Request(
        name="run/subscribe",
        params=params.RunSubscribeParams,
        result=results.RunSubscribeResult,
        access=Access.READS,
        errors=_READING,
        summary="Follow a run's output by run/output notifications.",
    ),
    Request(
        name="run/unsubscribe",
        params=params.RunUnsubscribeParams,
        result=results.RunUnsubscribeResult,
        access=Access.READS,
        errors=_READING,
        summary="Follow it no longer.",
    ),
    Request(
        name="run/remove",
        params=params.RunRemoveParams,
        result=results.RunRemoveResult,
        access=Access.ACTS,
        errors=(*_ACTING, "run-live"),
        summary="Delete the files of a run that is over and proven gone.",
    ),
    Request(
        name="agent/list",
        params=params.AgentListParams,
        result=results.AgentListResult,
        access=Access.NONE,
        errors=(),
        summary="Look for the agents, and say why one is not available.",
    ),
    Request(
        name="server/status",
        params=params.ServerStatusParams,
        result=results.ServerStatusResult,
        access=Access.NONE,
        errors=(),
        summary="Tell how the server is.",
    ),
)

NOTIFICATIONS = (
    Notification(
        name="run/status",
        params=notifications.RunStatusNotification,
        summary="A run of the session changed: the whole run as it is now.",
    ),
    Notification(
        name="run/output",
        params=notifications.RunOutputNotification,
        summary="New output of a run that this client follows.",
    ),
    Notification(
        name="run/notice",
        params=notifications.RunNoticeNotification,
        summary="Something about a run that a person should know now.",
    ),
)

LATER_REQUESTS = (
    "run/steer",
    "run/recall",
    "run/interrupt",
    "run/resume",
    "run/append",
    "run/decide",
)
"""Requests of the contract that this version does not know: ``-32601``, with a hint."""

BY_NAME = {request.name: request for request in REQUESTS}
BY_COMMAND = {request.command: request for request in REQUESTS}


def capabilities(agents: Iterable[AgentView]) -> results.SidecarCapabilities:
    """What ``initialize`` tells as ``capabilities.experimental.sidecar``."""
    return results.SidecarCapabilities(
        protocol_version=PROTOCOL_VERSION,
        methods=tuple(BY_NAME),
        notifications=tuple(notification.name for notification in NOTIFICATIONS),
        agents=tuple(agents),
    )
