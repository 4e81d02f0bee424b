"""``sidecar remove ID ...``: deletes the files of runs that are over, for good."""

from sidecar.cli import trouble
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Span, Tone
from sidecar.control import remove


def run(invocation: Invocation) -> int:
    """Deletes each."""
    words, terminal = invocation.words, invocation.terminal

    def remove_one(ref: str) -> str:
        return remove.remove(invocation.context, ref, any_session=words.any_session)

    done, code = trouble.each(terminal, words.runs, remove_one, as_json=invocation.wants_json)
    if invocation.wants_json:
        invocation.print_document({"removed": done})
    else:
        terminal.out.show((Span(run_id), Span(" removed", Tone.DIM)) for run_id in done)
    return code
