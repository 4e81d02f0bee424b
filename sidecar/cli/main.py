"""The command line from words to exit code; the codes stand in ``sidecar.cli.exits``.

stdout carries what was asked for and nothing else; whatever is said beside it goes to stderr.
Expected trouble is one line there (and one with a hint), or with ``--json`` one object.

This module must never know what a command does.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from sidecar.cli import arguments, exits
from sidecar.cli.spans import Span, Tone, said
from sidecar.cli.terminal import ReaderGone, Terminal, abandon_output
from sidecar.core.errors import SidecarError

if TYPE_CHECKING:
    from sidecar.cli.invocation import Invocation


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Does what ``argv`` (without the program's name) asks for; its exit code."""
    terminal = Terminal(environ)
    as_json = "--json" in argv
    try:
        words = arguments.read(argv, columns=terminal.out.width)
        as_json = bool(getattr(words, "json", False))
        from sidecar.cli.invocation import Invocation

        return _perform(Invocation(words, terminal, environ))
    except SidecarError as error:
        tell(terminal, error, as_json=as_json)
        return exits.of_error(error)
    except ReaderGone:
        abandon_output()
        return exits.READER_GONE
    except KeyboardInterrupt:
        return exits.DETACHED


def tell(terminal: Terminal, error: SidecarError, *, as_json: bool) -> None:
    """Says on stderr what could not be done, and what may help."""
    if as_json:
        from sidecar.cli import document

        terminal.err.write_bytes(document.of_error(error))
        return
    lines = [(Span("sidecar: ", Tone.BAD), said(error.message))]
    if error.hint:
        lines.append((Span("  hint: ", Tone.DIM), said(error.hint)))
    terminal.err.show(lines)


def _perform(invocation: "Invocation") -> int:
    """Imports the command that was chosen, and no other: each is a module of its own name."""
    module = import_module(f"sidecar.cli.commands.{invocation.words.command}")
    run: Callable[[Invocation], int] = module.run
    return run(invocation)
