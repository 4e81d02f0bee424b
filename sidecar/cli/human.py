"""Numbers as people read and write them: durations, ages, sizes, moments.

This module must never read a clock: ``now`` is given.
"""

import re
import time

from sidecar.core.errors import InvalidParams

_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_UNITS_MS = {"ms": 1, "s": _SECOND, "m": _MINUTE, "h": _HOUR, "d": _DAY}
_SIZE_UNITS = ("KiB", "MiB", "GiB", "TiB")
_KIBI, _TWO_DIGITS, _FOUR_DIGITS = 1024, 10, 1000
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def parse_duration(text: str, *, field: str) -> int:
    """``text`` (``500ms``, ``30s``, ``5m``, ``1h30m``) in ms; raises ``InvalidParams``.

    A bare number is refused: milliseconds to one reader are seconds to the next.
    """
    if not _WHOLE.fullmatch(text):
        raise InvalidParams(
            f"not a duration: {text[:64]!r}",
            field=field,
            hint="a number with its unit: 500ms, 30s, 5m, 1h30m",
        )
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(text)))


def duration(ms: int) -> str:
    """``ms`` with the two units that matter: ``850ms``, ``3m05s``, ``2h10m``, ``4d02h``."""
    ms = max(ms, 0)
    if ms < _SECOND:
        return f"{ms}ms"
    if ms < 10 * _SECOND:
        return f"{ms // 100 / 10:g}s"
    if ms < _MINUTE:
        return f"{ms // _SECOND}s"
    if ms < _HOUR:
        return f"{ms // _MINUTE}m{ms % _MINUTE // _SECOND:02}s"
    if ms < _DAY:
        return f"{ms // _HOUR}h{ms % _HOUR // _MINUTE:02}m"
    return f"{ms // _DAY}d{ms % _DAY // _HOUR:02}h"


def age(since: int, now: int) -> str:
    """How long ago ``since`` was, with one unit: ``now``, ``12s``, ``3m``, ``2h``, ``4d``."""
    passed = now - since
    if passed < _SECOND:
        return "now"
    for name in ("d", "h", "m", "s"):
        if passed >= _UNITS_MS[name]:
            return f"{passed // _UNITS_MS[name]}{name}"
    return "now"


def size(n_bytes: int) -> str:
    """``n_bytes`` with a binary unit and at most three digits: ``0 B``, ``1.5 KiB``, ``12 MiB``."""
    amount, unit = float(n_bytes), "B"
    for bigger in _SIZE_UNITS:
        if amount < _FOUR_DIGITS:
            break
        amount, unit = amount / _KIBI, bigger
    return (
        f"{amount:.1f} {unit}" if unit != "B" and amount < _TWO_DIGITS else f"{amount:.0f} {unit}"
    )


def moment(at: int) -> str:
    """``at`` (ms since the epoch) as local date and time to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at / 1000))
