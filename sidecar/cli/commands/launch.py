"""``sidecar launch``: starts a run, and, if asked to, waits for its end or follows its output.

Without ``--follow`` stdout gets the id of the run at once.  With it, stdout and stderr get those of
the agent, and the id is only said where a person reads stderr.  Ctrl-C leaves the run alone.
"""

import os
import sys
from argparse import Namespace

from sidecar.cli import exits, wording
from sidecar.cli.asking import asked
from sidecar.cli.following import LOG_STREAMS, Follower, Outlet
from sidecar.cli.interrupts import Interrupts
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Span, Tone, line
from sidecar.control import launch, waiting
from sidecar.control.caretaker import Caretaker
from sidecar.control.context import Snapshot
from sidecar.core import policy
from sidecar.core.errors import InvalidParams, NotFound


def run(invocation: Invocation) -> int:
    """Launches; the exit code mirrors the run only if its end is waited for."""
    words = invocation.words
    if words.follow and invocation.wants_json:
        raise InvalidParams(
            "--follow prints the output, --json one document: not both",
            hint="--wait --json prints the run once it is over",
        )
    what = asked(words, cwd=_directory(invocation), prompt=_prompt(words))
    interrupts = Interrupts()
    launched = launch.launch(invocation.context, what)
    snapshot = launched.snapshot
    if not launched.created and invocation.terminal.err.is_terminal:
        invocation.terminal.err.say(line("the token stands for a run that is there already"))
    if words.follow or words.wait:
        return _until_over(invocation, snapshot, interrupts)
    if invocation.wants_json:
        invocation.print_run(snapshot)
    else:
        invocation.terminal.out.say(line(snapshot.run.run_id))
    return exits.DONE


def _directory(invocation: Invocation) -> str:
    """``--cwd`` or where we are, as an absolute path; a ``~`` was the shell's to resolve."""
    told: str | None = invocation.words.cwd
    if told is None:
        return invocation.cwd
    return told if told.startswith("/") else os.path.join(invocation.cwd, told)


def _prompt(words: Namespace) -> str | None:
    if words.prompt_file is None:
        prompt: str | None = words.prompt
        return prompt
    try:
        if words.prompt_file == "-":
            data = sys.stdin.buffer.read(policy.PROMPT_MAX_BYTES + 1)
        else:
            with open(words.prompt_file, "rb") as file:
                data = file.read(policy.PROMPT_MAX_BYTES + 1)
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "not a path"
        raise InvalidParams(
            f"the prompt cannot be read ({why}): {words.prompt_file!r}", field="step.prompt"
        ) from exc
    if len(data) > policy.PROMPT_MAX_BYTES:
        raise InvalidParams(
            "the prompt is too long",
            field="step.prompt",
            hint=f"{policy.PROMPT_MAX_BYTES} bytes at most",
        )
    # What is not UTF-8 reaches the agent as the bytes that it was.
    return data.decode("utf-8", "surrogateescape")


def _until_over(invocation: Invocation, snapshot: Snapshot, interrupts: Interrupts) -> int:
    run_id = snapshot.run.run_id
    terminal = invocation.terminal
    try:
        with interrupts.welcome():
            if invocation.words.follow:
                if terminal.err.is_terminal:
                    terminal.err.say(line(f"run {run_id}", Tone.DIM))
                ended = _followed(invocation, run_id)
            else:
                if not invocation.wants_json:
                    terminal.out.say(line(run_id))
                terminal.err.hint_at("waiting for its end (Ctrl-C leaves it alone)")
                ended = _waited(invocation, run_id)
    except KeyboardInterrupt:
        _say_detached(invocation, run_id)
        return exits.DETACHED
    finally:
        terminal.err.clear()
    if invocation.wants_json:
        invocation.print_run(ended)
    elif terminal.err.is_terminal or exits.of_run(ended.run) != exits.DONE:
        now = invocation.context.now_ms()
        shown = (Span("sidecar: ", Tone.DIM), *wording.ending(ended.run, run_id, now))
        terminal.err.say(shown)
    return exits.of_run(ended.run)


def _followed(invocation: Invocation, run_id: str) -> Snapshot:
    streams = zip(LOG_STREAMS, (invocation.terminal.out, invocation.terminal.err), strict=True)
    outlets = {log: Outlet(stream) for log, stream in streams}
    follower = Follower(invocation.context, run_id, outlets)
    return follower.follow(Caretaker(invocation.context))


def _waited(invocation: Invocation, run_id: str) -> Snapshot:
    context = invocation.context
    waited = waiting.wait(
        context, (run_id,), timeout_ms=policy.TIMEOUT_MAX_MS, caretaker=Caretaker(context)
    )
    if not waited.snapshots:
        raise NotFound(f"the run was removed: {run_id}", run_id=run_id)
    return waited.snapshots[0]


def _say_detached(invocation: Invocation, run_id: str) -> None:
    invocation.terminal.err.show(
        (
            (Span("sidecar: ", Tone.WARN), Span(f"detached; the run goes on: {run_id}")),
            (Span("  hint: ", Tone.DIM), Span(f"sidecar stop {run_id} ends it,")),
            (Span("        ", Tone.DIM), Span(f"sidecar logs -f {run_id} follows it again")),
        )
    )
