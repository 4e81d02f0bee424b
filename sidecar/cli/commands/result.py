"""``sidecar result ID``: what a run that is over answered.  It reads, and repairs nothing."""

from sidecar.cli import exits
from sidecar.cli.invocation import Invocation
from sidecar.cli.spans import Tone, said
from sidecar.control import read
from sidecar.core.result import RunResult, StepResult


def run(invocation: Invocation) -> int:
    """Prints the answers, or the document; how the run ended is said beside them."""
    result = read.result(invocation.context, invocation.words.run)
    if invocation.wants_json:
        from sidecar.wire import convert

        invocation.print_document(convert.to_object(convert.result_view(result)))
        return exits.DONE
    for step in result.steps:
        if len(result.steps) > 1:
            invocation.terminal.err.say((said(f"-- step {step.index}: {step.agent}", Tone.DIM),))
        _answer(invocation, result, step)
    return exits.DONE


def _answer(invocation: Invocation, result: RunResult, step: StepResult) -> None:
    terminal = invocation.terminal
    if step.answer:
        terminal.out.write(step.answer if step.answer.endswith("\n") else step.answer + "\n")
    if step.answer_truncated:
        words = f"cut off: sidecar logs {result.run_id} --step {step.index} has all of it"
        terminal.err.say((said(words, Tone.WARN),))
    if step.failure is not None:
        words = f"{step.state} ({step.failure.code}): {step.failure.message}"
        terminal.err.say((said(words, Tone.BAD),))
