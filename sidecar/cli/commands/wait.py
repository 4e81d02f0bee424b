"""``sidecar wait``: until runs are over.  It tends them meanwhile; Ctrl-C leaves them alone."""

from sidecar.cli import exits
from sidecar.cli.human import parse_duration
from sidecar.cli.interrupts import Interrupts
from sidecar.cli.invocation import Invocation
from sidecar.cli.progress import Progress
from sidecar.cli.spans import Span, Tone, line
from sidecar.control import waiting
from sidecar.control.caretaker import Caretaker
from sidecar.control.waiting import Until, Waited


def run(invocation: Invocation) -> int:
    """Waits; the exit code mirrors the runs that are over."""
    words, terminal = invocation.words, invocation.terminal
    timeout_ms = None
    if words.timeout is not None:
        timeout_ms = parse_duration(words.timeout, field="timeoutMs")
    interrupts = Interrupts()
    try:
        with interrupts.welcome():
            waited = _wait(invocation, timeout_ms)
    except KeyboardInterrupt:
        terminal.err.say((Span("sidecar: ", Tone.WARN), Span("no longer waiting; the runs go on")))
        return exits.DETACHED
    finally:
        terminal.err.clear()
    if invocation.wants_json:
        from sidecar.cli import document

        invocation.print_document(document.of_waited(waited))
    return _told(invocation, waited)


def _wait(invocation: Invocation, timeout_ms: int | None) -> Waited:
    context, words = invocation.context, invocation.words
    meant = waiting.meant(context, words.runs)
    progress = Progress(invocation.terminal, meant, context.now_ms, quiet=invocation.wants_json)
    if not meant and not invocation.wants_json:
        invocation.terminal.err.say(line("no run of this session is active", Tone.DIM))
    if not meant:
        return Waited(snapshots=(), gone=(), timed_out=False)
    progress.begin()
    return waiting.wait(
        context,
        [snapshot.run.run_id for snapshot in meant],
        Until.ANY if words.any else Until.ALL,
        timeout_ms,
        caretaker=Caretaker(context),
        changed=progress.changed,
    )


def _told(invocation: Invocation, waited: Waited) -> int:
    for run_id in waited.gone:
        gone = (Span("sidecar: ", Tone.BAD), Span(f"the run was removed: {run_id}"))
        invocation.terminal.err.say(gone)
    over = [snapshot.run for snapshot in waited.snapshots if snapshot.run.is_over]
    if waited.timed_out:
        n_live = len(waited.snapshots) - len(over)
        words = "1 run goes on" if n_live == 1 else f"{n_live} runs go on"
        invocation.terminal.err.say(
            (Span("sidecar: ", Tone.WARN), Span(f"the time to wait is up; {words}"))
        )
        return exits.TIMED_OUT
    code = exits.of_runs(tuple(over))
    return exits.NO_SUCH_RUN if code == exits.DONE and waited.gone else code
