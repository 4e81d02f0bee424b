"""Tones as colours: the one place that knows rich.

It is imported only when a person looks: a pipe pays nothing for it.  This module must never decide
whether there are colours, nor change what is said.
"""

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.text import Text

from sidecar.cli.spans import Line, Tone

# The eight colours that every terminal has, as its owner has set them.
_STYLES = {
    Tone.PLAIN: "",
    Tone.DIM: "dim",
    Tone.STRONG: "bold",
    Tone.GOOD: "green",
    Tone.BAD: "red",
    Tone.BUSY: "cyan",
    Tone.WARN: "yellow",
}


class Painter:
    """Prints lines in colour to one stream."""

    def __init__(self, stream: TextIO) -> None:
        # No environment: terminal.py has looked at it already, and rich would look differently.
        self._console = Console(
            file=stream,
            force_terminal=True,
            color_system="standard",
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            _environ={},
        )

    def print(self, lines: Iterable[Line]) -> None:
        """Prints every line whole: what is too long was cut by whoever made it."""
        for spans in lines:
            painted = Text.assemble(*((span.text, _STYLES[span.tone]) for span in spans))
            self._console.print(painted, soft_wrap=True)
