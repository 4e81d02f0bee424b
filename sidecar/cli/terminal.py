"""The two streams we write to: who reads them, how wide they are, whether in colour.

NO_COLOR (no-color.org) wins over FORCE_COLOR (force-color.org); without either, a terminal that is
not ``dumb`` gets colours.  COLUMNS overrides the width that the terminal reports.

This module must never format: it is given lines.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TextIO

from sidecar.cli.spans import Line, bare

DEFAULT_WIDTH = 80
_ERASE_LINE = "\r\x1b[K"


class ReaderGone(Exception):
    """Whoever read our output has gone away (EPIPE): nothing more is worth saying."""


class Stream:
    """One of stdout and stderr.

    ``is_terminal``: a person reads it.  ``width`` is in cells, and ``None`` where lines may be of
    any length.
    """

    def __init__(self, stream: TextIO, environ: Mapping[str, str]) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()
        self.width = _width(stream, environ) if self.is_terminal else None
        self.has_colour = _has_colour(environ, is_terminal=self.is_terminal)
        self.is_live = self.is_terminal and environ.get("TERM") != "dumb"
        """Whether a line may be replaced by the next."""
        self._transient = False

    def show(self, lines: Iterable[Line]) -> None:
        """Prints lines, in colour where there are colours.  Raises ``ReaderGone``."""
        try:
            self._erase()
            if self.has_colour:
                from sidecar.cli.paint import Painter

                Painter(self._stream).print(lines)
            else:
                self._stream.writelines(bare(spans) + "\n" for spans in lines)
            self._stream.flush()
        except BrokenPipeError as exc:
            raise ReaderGone from exc

    def say(self, line: Line) -> None:
        """Prints one line."""
        self.show((line,))

    def hint_at(self, words: str) -> None:
        """Shows a line that the next one replaces; only where a person looks at a live terminal."""
        if not self.is_live:
            return
        self._stream.write(_ERASE_LINE + words)
        self._stream.flush()
        self._transient = True

    def write(self, words: str) -> None:
        """Writes text as it is, and flushes.  Raises ``ReaderGone``."""
        try:
            self._erase()
            self._stream.write(words)
            self._stream.flush()
        except BrokenPipeError as exc:
            raise ReaderGone from exc

    def write_bytes(self, data: bytes) -> None:
        """Writes bytes as they are, and flushes.  Raises ``ReaderGone``."""
        try:
            self._erase()
            self._stream.flush()
            self._stream.buffer.write(data)
            self._stream.buffer.flush()
        except BrokenPipeError as exc:
            raise ReaderGone from exc

    def clear(self) -> None:
        """Takes back a transient line."""
        self._erase()
        self._stream.flush()

    def _erase(self) -> None:
        if self._transient:
            self._stream.write(_ERASE_LINE)
            self._transient = False


class Terminal:
    """Both streams of this process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        for stream in (sys.stdout, sys.stderr):
            # An old locale must not turn a label into a traceback.
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
        self.out = Stream(sys.stdout, environ)
        self.err = Stream(sys.stderr, environ)


def abandon_output() -> None:
    """Lets the interpreter's last flush go nowhere: it would complain about the closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _has_colour(environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    if environ.get("NO_COLOR"):
        return False
    forced = environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return is_terminal and environ.get("TERM") != "dumb"


def _width(stream: TextIO, environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except OSError:
        return DEFAULT_WIDTH
