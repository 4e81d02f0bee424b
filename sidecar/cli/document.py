"""What ``--json`` prints: one document, in the shapes of the wire.

This module must never invent a shape where the wire has one.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import orjson

from sidecar.core import text
from sidecar.core.errors import AmbiguousId, SidecarError

if TYPE_CHECKING:
    from sidecar.control.agents import AgentInfo
    from sidecar.control.context import Snapshot
    from sidecar.control.read import OutputPage, Page
    from sidecar.control.waiting import Waited
    from sidecar.core.events import Recorded
    from sidecar.store.events import EventsPage


def encode(value: dict[str, Any], *, indent: bool = False) -> bytes:
    """``value`` as one document that ends its line; ``indent`` is for people."""
    option = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if indent else 0)
    return orjson.dumps(value, option=option)


def of_error(error: SidecarError) -> bytes:
    """The error object; what is not known is left out."""
    told: dict[str, Any] = {
        "code": error.code,
        "message": text.plain(error.message),
        "field": error.field,
        "hint": error.hint,
        "runId": error.run_id,
    }
    if isinstance(error, AmbiguousId):
        told["candidates"] = list(error.candidates)
    return encode({"error": {name: value for name, value in told.items() if value is not None}})


def of_run(snapshot: "Snapshot") -> dict[str, Any]:
    """A run as the wire shows it."""
    from sidecar.wire import convert

    return convert.to_object(convert.run_view(snapshot.run, snapshot.dismissal))


def of_page(page: "Page") -> dict[str, Any]:
    """A list of runs as ``run/list`` answers it."""
    from sidecar.wire import convert
    from sidecar.wire.results import RunListResult
    from sidecar.wire.views import ProblemView

    problems = tuple(
        ProblemView(
            path=convert.shown_path(problem.path),
            error=text.plain(problem.error),
            code=problem.damage or "unreadable",
        )
        for problem in page.problems
    )
    return convert.to_object(
        RunListResult(
            runs=tuple(convert.run_view(found.run, found.dismissal) for found in page.snapshots),
            next_cursor=page.next_cursor,
            problems=problems or None,
        )
    )


def of_agents(agents: "tuple[AgentInfo, ...]") -> dict[str, Any]:
    """The agents as ``agent/list`` answers it."""
    from sidecar.wire import convert
    from sidecar.wire.results import AgentListResult

    return convert.to_object(
        AgentListResult(agents=tuple(convert.agent_view(agent) for agent in agents))
    )


def of_runs(snapshots: "Iterable[Snapshot]") -> dict[str, Any]:
    """Several runs."""
    return {"runs": [of_run(snapshot) for snapshot in snapshots]}


def of_waited(waited: "Waited") -> dict[str, Any]:
    """Runs as ``run/wait`` answers them."""
    from sidecar.wire import convert
    from sidecar.wire.results import RunWaitResult

    runs = tuple(convert.run_view(found.run, found.dismissal) for found in waited.snapshots)
    return convert.to_object(RunWaitResult(runs=runs, timed_out=waited.timed_out))


def of_output(page: "OutputPage", *, raw: bool) -> dict[str, Any]:
    """A page of a log as ``run/output`` answers it."""
    from sidecar.wire import convert
    from sidecar.wire.results import RunOutputResult

    return convert.to_object(
        RunOutputResult(
            text=convert.shown_bytes(page.data, raw=raw),
            offset=page.offset,
            next_offset=page.next_offset,
            eof=page.eof,
            truncated=page.truncated,
        )
    )


def of_event(recorded: "Recorded") -> dict[str, Any]:
    """One entry of a run's history."""
    from sidecar.wire import convert, convert_events

    return convert.to_object(convert_events.event_view(recorded))


def of_events(page: "EventsPage") -> dict[str, Any]:
    """A run's history as ``run/events`` answers it."""
    return {
        "events": [of_event(recorded) for recorded in page.events],
        "lastSeq": page.last_seq,
    }
