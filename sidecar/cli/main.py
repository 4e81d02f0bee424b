"""The command line from words to exit code; the codes stand in ``sidecar.cli.exits``.

stdout carries what was asked for and nothing else; whatever is said beside it goes to stderr.

This module must never know what a command does.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from sidecar.cli import arguments, exits, trouble
from sidecar.cli.terminal import ReaderGone, Terminal, abandon_output
from sidecar.core.errors import SidecarError, StorageError

if TYPE_CHECKING:
    from sidecar.cli.invocation import Invocation


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Does what ``argv`` (without the program's name) asks for; its exit code."""
    terminal = Terminal(environ)
    as_json = "--json" in argv
    try:
        try:
            words = arguments.read(argv, columns=terminal.out.width)
        except SystemExit as help_was_shown:
            terminal.out.flush()
            return int(help_was_shown.code or exits.DONE)
        as_json = bool(getattr(words, "json", False))
        from sidecar.cli.invocation import Invocation

        return _perform(Invocation(words, terminal, environ))
    except SidecarError as error:
        return _refused(terminal, error, as_json=as_json)
    except ReaderGone:
        abandon_output()
        return exits.READER_GONE
    except KeyboardInterrupt:
        return exits.DETACHED


def _refused(terminal: Terminal, error: SidecarError, *, as_json: bool) -> int:
    with contextlib.suppress(ReaderGone, StorageError):  # nobody is left who could be told
        trouble.tell(terminal, error, as_json=as_json)
    if isinstance(error, StorageError):
        abandon_output()  # if it was our output that was refused
    return exits.of_error(error)


def _perform(invocation: "Invocation") -> int:
    """Imports the command that was chosen, and no other: each is a module of its own name."""
    module = import_module(f"sidecar.cli.commands.{invocation.words.command}")
    run: Callable[[Invocation], int] = module.run
    return run(invocation)
