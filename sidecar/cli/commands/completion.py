"""``sidecar completion SHELL``: the script that completes words in a shell; never looks at a run.

Ids of runs are completed by asking ``sidecar list`` whenever a key is pressed.
"""

import argparse
from collections.abc import Iterator

import shtab

from sidecar.cli import arguments, exits
from sidecar.cli.invocation import Invocation


def run(invocation: Invocation) -> int:
    """Prints the script."""
    grammar = arguments.parser()
    run_ids = shtab.cmd("sidecar list --all --quiet 2>/dev/null")
    for action in _actions(grammar):
        if action.dest in {"run", "runs"}:
            action.complete = run_ids  # type: ignore[attr-defined]
    script: str = shtab.complete(grammar, invocation.words.shell)
    invocation.terminal.out.write(script.rstrip("\n") + "\n")
    return exits.DONE


def _actions(grammar: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of the grammar, those of its commands included."""
    for action in grammar._actions:  # noqa: SLF001 - argparse shows them no other way
        yield action
        if isinstance(action.choices, dict):
            for below in action.choices.values():
                yield from _actions(below)
