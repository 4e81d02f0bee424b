"""Reading runs: one, many, their events, their output and their results.

Anybody may read all runs of the user.  Every read is of files as they are; a run directory that
cannot be read is told as a ``Problem`` beside the others, and never hides one.

Output is read as bytes, in pages that end where a character ends: logs keep every byte, and what of
it may be shown to a person is for ``core.text``.

This module must never write, repair, wait, or hold a whole log in memory.
"""

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from sidecar.control.context import Context, Snapshot
from sidecar.core import ids, policy, text
from sidecar.core.errors import DamagedRun, InvalidParams, NotFound, RunLive, StorageError
from sidecar.core.plan import COMMAND_AGENT
from sidecar.core.result import RunResult
from sidecar.core.states import ProofState, Run, RunState, Step, run_proof
from sidecar.store import index, markers
from sidecar.store.events import EventsPage, read_events
from sidecar.store.layout import EVENTS, RESULT
from sidecar.store.rundir import OutputBytes, RunDir
from sidecar.store.rundir import Stream as Log

EXAMINED_MAX = 2000
"""Runs looked at for one page of a filtered list: some 40 us each, so that no list takes longer
than a person waits, however few of the runs fit.  The page then ends early, with a cursor."""

LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8: a smaller page of output might never hold one."""

_FIRST_CONTINUATION, _LAST_CONTINUATION = 0x80, 0xBF

GONE = frozenset({ProofState.OBSERVED, ProofState.NOT_STARTED})
"""What proves that nothing of a run is left."""


class Scope(StrEnum):
    """Which runs a list is of."""

    ACTIVE = "active"
    """Those that are not over, or not proven gone."""
    SESSION = "session"
    """All of the caller's session."""
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A run that could not be read: where it lies, why, and (if it is not the disk's refusal of
    the moment) what kind of damage it is."""

    path: str
    error: str
    damage: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some runs, newest first.  ``next_cursor`` is where the next page begins, if there is one."""

    snapshots: tuple[Snapshot, ...]
    next_cursor: str | None
    problems: tuple[Problem, ...]


class Stream(StrEnum):
    """What can be read of a step."""

    STDOUT = "stdout"
    STDERR = "stderr"
    ANSWER = "answer"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPage:
    """Some bytes of a log.  What comes next is to be asked for at ``next_offset``.

    ``eof``: nothing comes after this page, ever: the run is over.  ``truncated``: the page was cut
    by its limit, and there is more to be had now.
    """

    run_id: str
    step: int
    data: bytes
    offset: int
    next_offset: int
    eof: bool
    truncated: bool


def get(ctx: Context, ref: str) -> Snapshot:
    """The run with this id, or whose id alone begins with ``ref``.

    Raises ``InvalidParams``, ``NotFound``, ``AmbiguousId``, ``DamagedRun``, ``StorageError``.
    """
    return snapshot_of(ctx, _run_id(ctx, ref))


def has_state_dir(ctx: Context) -> bool:
    """Whether there is a state directory at all; without one there are no runs, and no trouble.

    Also where there can be none: what a launch tells clearly, a list need not fail for.
    """
    try:
        os.stat(ctx.layout.state_dir)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # whoever goes on finds out why it cannot be looked at
    return True


def snapshot_of(ctx: Context, run_id: str) -> Snapshot:
    """The run with exactly this id, which has been parsed.  Raises as ``get`` does."""
    run_dir = RunDir(ctx.layout.run_dir(run_id))
    run = run_dir.read_status()
    return Snapshot(run=run, dismissal=run_dir.read_dismissal())


def is_active(run: Run) -> bool:
    """Whether a run belongs into the list of active ones: not over, or not proven gone."""
    return not run.is_over or run_proof(run).state not in GONE


def list_runs(  # noqa: PLR0913 - one keyword for each thing a list can be asked for
    ctx: Context,
    *,
    scope: Scope | str = Scope.ACTIVE,
    states: frozenset[RunState] | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    include_dismissed: bool = False,
) -> Page:
    """A page of runs, newest first; ``cursor`` is the ``next_cursor`` of the page before.

    The active scope costs only the active runs, whatever the history.  A page may be shorter than
    ``limit`` although there is a next one (``EXAMINED_MAX``).  Raises ``InvalidParams``,
    ``StorageError``.
    """
    scope = _scope(scope)
    limit = _within(limit, policy.LIST_LIMIT, policy.LIST_LIMIT_MAX, "limit")
    if cursor is not None:
        ids.parse_run_id(cursor, field="cursor")
    candidates, has_older, problems = _candidates(ctx, scope, cursor)
    found: list[Snapshot] = []
    last = None
    for run_id in candidates:
        if len(found) == limit:
            has_older = True
            break
        last = run_id
        try:
            snapshot = snapshot_of(ctx, run_id)
        except NotFound:
            continue  # removed since it was listed, or its launch is under way
        except (DamagedRun, StorageError) as exc:
            problems.append(problem_of(ctx, run_id, exc))
            continue
        if _is_wanted(ctx, snapshot, scope, states, include_dismissed=include_dismissed):
            found.append(snapshot)
    return Page(
        snapshots=tuple(found),
        next_cursor=last if has_older else None,
        problems=tuple(problems),
    )


def events(ctx: Context, ref: str, after_seq: int = 0, limit: int | None = None) -> EventsPage:
    """What happened to a run after event ``after_seq``, oldest first.  Raises as ``get`` does."""
    limit = _within(limit, policy.EVENTS_LIMIT, policy.EVENTS_LIMIT_MAX, "limit")
    if after_seq < 0:
        raise InvalidParams(f"event numbers count from 1: {after_seq}", field="afterSeq")
    run_id = _run_id(ctx, ref)
    return read_events(f"{ctx.layout.run_dir(run_id)}/{EVENTS}", after_seq, limit)


def output(  # noqa: PLR0913 - a page has an address: run, step, stream, offset, length
    ctx: Context,
    ref: str,
    step: int | None = None,
    stream: Stream | str = Stream.ANSWER,
    offset: int = 0,
    limit: int | None = None,
    *,
    exact: bool = False,
) -> OutputPage:
    """At most ``limit`` bytes of a step's log from ``offset`` on; a negative one is from the end.

    ``step`` is an index; left out, it is the newest one that was started.  The page ends with a
    whole character unless it is the last, and one from the end begins with one; where it begins is
    said in the answer.  ``exact`` is for bytes: nothing is cut or added for characters' sake.
    Raises ``InvalidParams``, and as ``get`` does.
    """
    limit = _within(limit, policy.OUTPUT_LIMIT, policy.OUTPUT_LIMIT_MAX, "limit")
    # Read in this order: once a status says that the run is over, its logs are complete.
    run = get(ctx, ref).run
    chosen = _step(run, step)
    log = _log(chosen, stream)
    attempt = chosen.attempt
    if attempt is None:
        found = OutputBytes(data=b"", offset=0, next_offset=0, size=0)
    else:
        run_dir = RunDir(ctx.layout.run_dir(run.run_id))
        at_least = limit if exact else max(limit, LONGEST_CHARACTER)
        found = run_dir.output(chosen.index, attempt.number, log, offset, at_least)
    data, start = found.data, found.offset
    if offset < 0 and not exact:
        cut = _continuation(data)
        data, start = data[cut:], start + cut
    if not exact:
        data = data[: _whole_characters(data, limit, is_last=_is_last(run, found))]
    return OutputPage(
        run_id=run.run_id,
        step=chosen.index,
        data=data,
        offset=start,
        next_offset=start + len(data),
        eof=run.is_over and start + len(data) == found.size,
        truncated=start + len(data) < found.size,
    )


def _is_last(run: Run, found: OutputBytes) -> bool:
    """Whether nothing comes after these bytes, ever: then half a character is all there is."""
    return run.is_over and found.next_offset == found.size


def _whole_characters(data: bytes, limit: int, *, is_last: bool) -> int:
    """How much of ``data`` fits into ``limit`` without cutting a character; one in any case.

    Half a character is one if nothing can follow it.
    """
    if is_last and len(data) <= limit:
        return len(data)
    fitting = text.complete_prefix(data[:limit])
    # Bytes that only look like the beginning of a character are told as such by what follows them.
    longer = (text.complete_prefix(data[:n]) for n in range(limit + 1, len(data) + 1))
    return fitting or next(filter(None, longer), len(data) if is_last else 0)


def result(ctx: Context, ref: str) -> RunResult:
    """What is left of a run that is over.  Raises ``RunLive`` while it is not, else as ``get``."""
    run = get(ctx, ref).run
    if not run.is_over:
        raise RunLive(
            f"no result before its end: the run is {run.state}",
            field="runId",
            hint="wait for its end (run/wait)",
            run_id=run.run_id,
        )
    path = ctx.layout.run_dir(run.run_id)
    found = RunDir(path).read_result()
    if found is None:
        # The result is durable before a status says that the run is over.
        raise DamagedRun(f"missing: {path}/{RESULT}", path=path, damage="corrupt")
    return found


def problem_of(ctx: Context, run_id: str, error: DamagedRun | StorageError) -> Problem:
    """A run that could not be read, as lists tell it."""
    if isinstance(error, DamagedRun):
        return Problem(path=error.path, error=error.message, damage=error.damage)
    return Problem(path=ctx.layout.run_dir(run_id), error=error.message, damage=None)


def _run_id(ctx: Context, ref: str) -> str:
    if not has_state_dir(ctx):
        raise NotFound(f"no run has this id: {ids.parse_prefix(ref)}", field="runId")
    return index.resolve(ctx.layout, ref)


def _candidates(
    ctx: Context, scope: Scope, cursor: str | None
) -> tuple[list[str], bool, list[Problem]]:
    """Ids, newest first; whether there are older ones; what lies among the runs and is none."""
    if not has_state_dir(ctx):
        return [], False, []
    if scope is Scope.ACTIVE:
        active = markers.active_ids(ctx.layout)
        return [run_id for run_id in reversed(active) if not cursor or run_id < cursor], False, []
    page = index.history_page(ctx.layout, EXAMINED_MAX, cursor)
    problems = [
        Problem(path=found.path, error=found.message, damage=found.damage)
        for found in page.problems
    ]
    return list(page.ids), page.next_cursor is not None, problems


def _is_wanted(
    ctx: Context,
    snapshot: Snapshot,
    scope: Scope,
    states: frozenset[RunState] | None,
    *,
    include_dismissed: bool,
) -> bool:
    run = snapshot.run
    if scope is Scope.ACTIVE and not is_active(run):
        return False  # its marker is about to go
    if scope is Scope.SESSION and run.session_id != ctx.caller.session_id:
        return False
    if states is not None and run.state not in states:
        return False
    return include_dismissed or snapshot.dismissed_at is None


def _scope(scope: str) -> Scope:
    try:
        return Scope(scope)
    except ValueError:
        raise InvalidParams(
            f"no such scope: {scope[:64]!r}", field="scope", hint=", ".join(Scope)
        ) from None


def _within(value: int | None, default: int, most: int, field: str) -> int:
    if value is None:
        return default
    if not 1 <= value <= most:
        raise InvalidParams(f"out of range: {value}", field=field, hint=f"1 to {most}")
    return value


def _step(run: Run, step: int | None) -> Step:
    if step is None:
        started = [item for item in run.steps if item.attempt is not None]
        return started[-1] if started else run.steps[0]
    if not 0 <= step < len(run.steps):
        raise InvalidParams(
            f"no such step: {step}", field="step", hint=f"0 to {len(run.steps) - 1}"
        )
    return run.steps[step]


def _log(step: Step, stream: Stream | str) -> Log:
    try:
        known = Stream(stream)
    except ValueError:
        raise InvalidParams(
            f"no such stream: {stream[:64]!r}", field="stream", hint=", ".join(Stream)
        ) from None
    match known:
        case Stream.STDOUT:
            return "stdout"
        case Stream.STDERR:
            return "stderr"
        case Stream.ANSWER if step.agent == COMMAND_AGENT:
            return "stdout"
        case Stream.ANSWER | Stream.TRANSCRIPT:
            raise InvalidParams(
                f"the agent {step.agent} keeps no {known.value}",
                field="stream",
                hint="read stdout or stderr",
            )
        case _:
            assert_never(known)


def _continuation(data: bytes) -> int:
    """How many bytes at the beginning belong to a character that began before."""
    for count, byte in enumerate(data[: LONGEST_CHARACTER - 1]):
        if not _FIRST_CONTINUATION <= byte <= _LAST_CONTINUATION:
            return count
    return min(len(data), LONGEST_CHARACTER - 1)
