"""How trouble is told: one line on stderr and one with a hint, or with ``--json`` one object.

This module must never decide what is trouble, nor what the exit code is.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from sidecar.cli import exits
from sidecar.cli.spans import Span, Tone, said
from sidecar.cli.terminal import Terminal
from sidecar.core.errors import AmbiguousId, SidecarError

T = TypeVar("T")


def tell(terminal: Terminal, error: SidecarError, *, as_json: bool) -> None:
    """Says on stderr what could not be done, and what may help."""
    if as_json:
        from sidecar.cli import document

        terminal.err.write_bytes(document.of_error(error))
        return
    lines = [(Span("sidecar: ", Tone.BAD), said(error.message))]
    if isinstance(error, AmbiguousId):
        lines += [(Span("  fits: ", Tone.DIM), said(run_id)) for run_id in error.candidates]
    if error.hint:
        lines.append((Span("  hint: ", Tone.DIM), said(error.hint)))
    terminal.err.show(lines)


def each(
    terminal: Terminal, refs: Iterable[str], act: Callable[[str], T], *, as_json: bool
) -> tuple[list[T], int]:
    """Does ``act`` to each of ``refs``, and tells of those that refuse without stopping there.

    What was done, and the exit code of the first refusal.
    """
    done: list[T] = []
    code = exits.DONE
    for ref in refs:
        try:
            done.append(act(ref))
        except SidecarError as error:
            tell(terminal, error, as_json=as_json)
            code = code or exits.of_error(error)
    return done, code
