"""``sidecar list``: the runs there are, newest first.  It reads, and repairs nothing."""

from argparse import Namespace

from sidecar.cli import exits, listing
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Span, Tone, line, said
from sidecar.control import read
from sidecar.control.context import Context
from sidecar.control.read import Page, Problem, Scope
from sidecar.core import policy
from sidecar.core.errors import InvalidParams
from sidecar.core.states import LIVE_RUN_STATES, RunState


def run(invocation: Invocation) -> int:
    """Prints a table, ids, or a document."""
    words, terminal = invocation.words, invocation.terminal
    states = _states(words.state)
    scope = _scope(words, states)
    page = _pages(invocation.context, scope, states, words)
    if invocation.wants_json:
        from sidecar.cli import document

        invocation.print_document(document.of_page(page))
        return exits.DONE
    if words.quiet:
        terminal.out.show(line(found.run.run_id) for found in page.snapshots)
        return exits.DONE
    if page.snapshots or not terminal.out.is_terminal:
        width = None if words.no_trunc else terminal.out.width
        now = invocation.context.now_ms()
        terminal.out.show(listing.lines(page.snapshots, now, width))
    else:
        terminal.err.say(line(_nothing(scope, states), Tone.DIM))
    if page.next_cursor is not None:
        terminal.err.say(line("there are older ones: --limit shows more", Tone.DIM))
    terminal.err.show(_problem(problem) for problem in page.problems)
    return exits.DONE


def _scope(words: Namespace, states: frozenset[RunState] | None) -> Scope:
    if words.session:
        return Scope.SESSION
    # No run that is over is active: whoever asks for one means all of them.
    if words.all or (states is not None and not states <= LIVE_RUN_STATES):
        return Scope.ALL
    return Scope.ACTIVE


def _states(names: list[str]) -> frozenset[RunState] | None:
    if not names:
        return None
    given = [part for name in names for part in name.split(",")]
    unknown = [name for name in given if name not in frozenset(RunState)]
    if unknown:
        raise InvalidParams(
            f"no such state: {unknown[0][:64]!r}", field="states", hint=", ".join(RunState)
        )
    return frozenset(RunState(name) for name in given)


def _pages(
    context: Context, scope: Scope, states: frozenset[RunState] | None, words: Namespace
) -> Page:
    """As many pages as it takes; without a limit all of the active, and the newest of the rest."""
    wanted: int | None = words.limit
    if wanted is None and scope is not Scope.ACTIVE:
        wanted = policy.LIST_LIMIT_MAX if words.quiet else policy.LIST_LIMIT
    if wanted is not None and wanted < 1:
        raise InvalidParams(f"out of range: {wanted}", field="limit", hint="1 or more")
    found = Page(snapshots=(), next_cursor=None, problems=())
    while True:
        left = policy.LIST_LIMIT_MAX if wanted is None else wanted - len(found.snapshots)
        page = read.list_runs(
            context,
            scope=scope,
            states=states,
            limit=min(left, policy.LIST_LIMIT_MAX),
            cursor=found.next_cursor,
            include_dismissed=words.dismissed,
        )
        found = Page(
            snapshots=found.snapshots + page.snapshots,
            next_cursor=page.next_cursor,
            problems=tuple(dict.fromkeys(found.problems + page.problems)),
        )
        if page.next_cursor is None or len(found.snapshots) == wanted:
            return found


def _nothing(scope: Scope, states: frozenset[RunState] | None) -> str:
    if states is not None:
        return "no run is in this state"
    if scope is Scope.ACTIVE:
        return "no run is active (--all shows those that are over)"
    return "no run is left"


def _problem(problem: Problem) -> tuple[Span, ...]:
    return (
        Span("sidecar: ", Tone.BAD),
        said(f"cannot be shown: {problem.error}"),
    )
