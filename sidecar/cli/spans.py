"""What is shown, before it is known where: lines of spans, and tables of them.

A span is a piece of one line with a tone, which is a meaning (good, bad, busy), not a colour.
Whether there are colours at all is decided by ``terminal``; how they look, by ``paint``.

This module must never print; and every text that came from an agent or a caller passes through
``said`` on its way in, so that nobody's control characters reach a terminal.
"""

import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from sidecar.core import text


class Tone(StrEnum):
    """What a span means to the reader."""

    PLAIN = "plain"
    DIM = "dim"
    STRONG = "strong"
    GOOD = "good"
    BAD = "bad"
    BUSY = "busy"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of one line."""

    text: str
    tone: Tone = Tone.PLAIN


Line = tuple[Span, ...]


def said(words: str, tone: Tone = Tone.PLAIN, *, limit: int = 1000) -> Span:
    """A span of somebody else's words, made one plain line of at most ``limit`` characters."""
    return Span(text.one_line(words, limit), tone)


def line(words: str, tone: Tone = Tone.PLAIN) -> Line:
    """A line of one span, of our own words."""
    return (Span(words, tone),)


def bare(spans: Line) -> str:
    """The line without its tones."""
    return "".join(span.text for span in spans)


def cells(words: str) -> int:
    """How many terminal cells ``words`` takes: two for wide characters, none for combining ones."""
    if words.isascii():
        return len(words)
    return sum(_cells(character) for character in words)


def cut(words: str, width: int) -> str:
    """``words`` in at most ``width`` cells, ending in an ellipsis where something was cut off."""
    if cells(words) <= width:
        return words
    if width < 1:
        return ""
    kept, used = [], 0
    for character in words:
        used += _cells(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + "\u2026"


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Cf", "Me", "Mn"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"F", "W"} else 1
