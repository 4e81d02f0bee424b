"""What of an agent's bytes may be shown to a person.

Agents print anything: half a character, NULs, colours, cursor movements.  Logs keep the bytes;
everything that is *shown* passes through here, so that no terminal or panel is ever driven by an
agent (seed fault: control characters reached the terminal through status and transcripts).

This module must never lose text that a person could read, and never fail on any bytes.
"""

import re

from sidecar.core import policy

# ECMA-48: CSI ... final byte; OSC/DCS/SOS/PM/APC ... ended by BEL or ST; two-byte escapes.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_ENDS = re.compile(r"\r+\n")
_SPACES = re.compile(r"\s+")

# RFC 3629: how many bytes a character has, by its first one.
_LENGTHS = ((0xF8, 1), (0xF0, 4), (0xE0, 3), (0xC0, 2), (0x80, 0), (0x00, 1))


def decode(data: bytes) -> str:
    """``data`` as text; whatever is not UTF-8 becomes U+FFFD.  Control characters stay."""
    return data.decode("utf-8", "replace")


def plain(text: str) -> str:
    """``text`` without escape sequences and control characters, but for tab and newline.

    A carriage return alone starts its line anew on a terminal; here it becomes a newline, so that
    nothing that was printed is hidden.
    """
    text = _ESCAPES.sub("", text)
    text = _LINE_ENDS.sub("\n", text).replace("\r", "\n")
    return _CONTROLS.sub("", text)


def one_line(text: str, limit: int = policy.PREVIEW_MAX_CHARS) -> str:
    """``text`` as one plain line of at most ``limit`` characters, white space folded."""
    folded = _SPACES.sub(" ", plain(text)).strip()
    return folded if len(folded) <= limit else folded[: limit - 1] + "\u2026"


def last_line(data: bytes, limit: int = policy.PREVIEW_MAX_CHARS) -> str:
    """The last line of ``data`` that holds anything to read, as ``one_line``; may be empty."""
    for line in reversed(plain(decode(data)).split("\n")):
        shown = one_line(line, limit)
        if shown:
            return shown
    return ""


def complete_prefix(data: bytes) -> int:
    """How many bytes of ``data`` end on a UTF-8 character boundary.

    A reader that pages through a log by offset must not cut a character in two: the at most three
    bytes of an unfinished character at the end are left for the next page.
    """
    for back in range(1, min(4, len(data) + 1)):
        first = data[-back]
        length = next(length for least, length in _LENGTHS if first >= least)
        if length > back:
            return len(data) - back
        if length:
            break
    return len(data)
