"""What the server tells without being asked.

Each is a hint: whoever misses one finds the same, and more, by ``run/get``.

This module must never define what is inside a run: that is ``wire.views``.
"""

from enum import StrEnum
from typing import Annotated

from sidecar.wire.fields import RunId, View, doc
from sidecar.wire.params import LogStream
from sidecar.wire.views import RunView


class NoticeKind(StrEnum):
    """What a ``run/notice`` is about."""

    ATTENTION = "attention"
    REPAIRED = "repaired"
    STORAGE = "storage"


class RunStatusNotification(View, frozen=True, kw_only=True):
    """A run as it is now: the whole of it, never a difference."""

    run: RunView


class RunOutputNotification(View, frozen=True, kw_only=True):
    """New output of a run that was subscribed to, as plain text."""

    run_id: RunId
    step: int
    stream: LogStream
    offset: Annotated[int, doc("Byte of the log at which this text begins.")]
    next_offset: Annotated[int, doc("And at which it ends; not to be had from its length.")]
    text: str
    dropped: Annotated[
        int | None,
        doc("Bytes before offset that were left out, because the client did not keep up."),
    ] = None


class RunNoticeNotification(View, frozen=True, kw_only=True):
    """Something about a run that a person should know now."""

    run_id: RunId
    kind: NoticeKind
    message: Annotated[str, doc("For people; one line.")]
    step: int | None = None
    request_id: Annotated[str | None, doc("If it can be answered: by which id.")] = None
