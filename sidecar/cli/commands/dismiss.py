"""``sidecar dismiss ID ...``: hides runs that are over from lists, or shows them again."""

from sidecar.cli import exits, trouble
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Span, Tone
from sidecar.control import dismiss
from sidecar.control.context import Snapshot


def run(invocation: Invocation) -> int:
    """Hides or shows each; says so only to a person."""
    words, terminal = invocation.words, invocation.terminal

    def dismiss_one(ref: str) -> Snapshot:
        act = dismiss.undismiss if words.undo else dismiss.dismiss
        return act(invocation.context, ref, any_session=words.any_session)

    done, code = trouble.each(terminal, words.runs, dismiss_one, as_json=invocation.wants_json)
    if invocation.wants_json:
        from sidecar.cli import document

        invocation.print_document(document.of_runs(done))
        return code
    for snapshot in done:
        is_hidden = snapshot.dismissed_at is not None
        word = Span(" dismissed", Tone.DIM) if is_hidden else Span(" shown", Tone.GOOD)
        terminal.out.say((Span(snapshot.run.run_id), word))
        if is_hidden is words.undo:
            terminal.err.say((Span("  it changed meanwhile: look at it first", Tone.WARN),))
            code = code or exits.REFUSED
    return code
