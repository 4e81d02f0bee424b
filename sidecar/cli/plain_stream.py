"""An agent's bytes, made plain as they come, for a terminal.

The same as ``core.text.plain`` over the whole, but piece by piece: what may be the beginning of
something (half a character, half an escape sequence, a carriage return) is kept until its end has
come.  This module must never keep more than a bounded rest, nor lose text that is no control.
"""

import re

from sidecar.core import text

# No title and no link is that long: what goes on for longer is text after a stray introducer.
_LONGEST_BEGUN = 4096

_BEGUN = re.compile(
    r"(?:\x1b(?:\[[0-?]*[ -/]*|[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?)|\x9b[0-?]*[ -/]*)\Z"
)


class PlainStream:
    """One stream of bytes on its way to a terminal."""

    def __init__(self) -> None:
        self._bytes = b""
        self._text = ""

    def feed(self, data: bytes) -> str:
        """What may be shown once ``data`` has come."""
        data = self._bytes + data
        whole = text.complete_prefix(data)
        self._bytes = data[whole:]
        return self._shown(self._text + text.decode(data[:whole]))

    def finish(self) -> str:
        """What is left when nothing comes any more."""
        rest, self._text = self._text + text.decode(self._bytes), ""
        self._bytes = b""
        return text.plain(rest)

    def _shown(self, words: str) -> str:
        start = _end_of_whole(words)
        if len(words) - start > _LONGEST_BEGUN:
            # Only the introducer goes; what follows it is more likely to be read than obeyed.
            shown, self._text = text.plain(words[:start]) + text.plain(words[start + 2 :]), ""
            return shown
        self._text = words[start:]
        # What is cut off here goes on: an ESC says so, lest an open sequence before it looks ended.
        return text.plain(words[:start] + ("\x1b" if self._text else ""))


def _end_of_whole(words: str) -> int:
    """Where the rest begins that may change its meaning by what comes next."""
    begun = _BEGUN.search(words)
    end = begun.start() if begun is not None else len(words)
    # A carriage return, even with escapes behind it, may yet turn out to end its line.
    while (back := words.rfind("\r", 0, end)) >= 0 and not text.plain(words[back + 1 : end]):
        end = back
    return end
