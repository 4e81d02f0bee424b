"""The two streams we write to: who reads them, how wide they are, whether in colour.

NO_COLOR (no-color.org) wins over FORCE_COLOR (force-color.org); without either, a terminal that is
not ``dumb`` gets colours.  COLUMNS overrides the width that the terminal reports.

This module must never format: it is given lines.
"""

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from sidecar.cli.spans import Line, bare, cut
from sidecar.core.errors import StorageError

STDOUT_FD, STDERR_FD = 1, 2
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

    def fileno(self) -> int:
        """The descriptor below."""
        return self._stream.fileno()

    def show(self, lines: Iterable[Line]) -> None:
        """Prints lines, in colour where there are colours.

        Raises ``ReaderGone``, or ``StorageError`` if what we write to refuses it (a full disk), as
        everything here that writes.
        """
        with self._reaching():
            if self.has_colour:
                from sidecar.cli.paint import Painter

                Painter(self._stream).print(lines)
            else:
                self._stream.writelines(bare(spans) + "\n" for spans in lines)

    def say(self, line: Line) -> None:
        """Prints one line."""
        self.show((line,))

    def write(self, words: str) -> None:
        """Writes text as it is."""
        with self._reaching():
            self._stream.write(words)

    def write_bytes(self, data: bytes) -> None:
        """Writes bytes as they are."""
        with self._reaching():
            self._stream.flush()
            self._stream.buffer.write(data)
            self._stream.buffer.flush()

    def flush(self) -> None:
        """Writes what somebody else has left in the buffer."""
        with self._reaching():
            pass

    def hint_at(self, words: str) -> None:
        """Shows a line that the next one replaces; only where a person looks at a live terminal."""
        if self.is_live:
            # A line that wraps could not be taken back; nor may it touch the last column.
            self.write(cut(words, (self.width or DEFAULT_WIDTH) - 1))
            self._transient = True

    def clear(self) -> None:
        """Takes back a transient line."""
        if self._transient:
            self.flush()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            self._erase()
            yield
            self._stream.flush()
        except BrokenPipeError as exc:
            raise ReaderGone from exc
        except OSError as exc:
            raise StorageError(
                f"the output cannot be written: {exc.strerror}",
                errno_name=errno.errorcode.get(exc.errno or 0, "?"),
            ) from exc

    def _erase(self) -> None:
        if self._transient:
            self._stream.write(_ERASE_LINE)
            self._transient = False


class Terminal:
    """Both streams of this process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """A stream that was closed before we began goes nowhere."""
        _occupy_standard_descriptors()
        self.out = Stream(_usable(sys.stdout), environ)
        self.err = Stream(_usable(sys.stderr), environ)


def abandon_output() -> None:
    """Lets the interpreter's last flush go nowhere: it would complain about what we know."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDOUT_FD)
    os.close(nowhere)


def _occupy_standard_descriptors() -> None:
    """No file of ours may ever become somebody's stdout: the lowest numbers are given first."""
    while (lowest := os.open(os.devnull, os.O_RDWR)) <= STDERR_FD:
        pass
    os.close(lowest)


def _usable(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    # An old locale must not turn a label into a traceback.
    stream.reconfigure(errors="replace")  # type: ignore[attr-defined]
    return stream


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
