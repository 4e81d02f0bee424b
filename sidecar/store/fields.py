"""Reading JSON objects field by field, each with the type that it must have.

The door between decoded JSON, in which anything can be anything, and our types: whatever is not
as it was written raises ``DamagedRun`` with the place, never with the value, which may be secret.
Fields that are not asked for are tolerated: a newer program of the same format may write more.

This module must never know what a field means.
"""

import binascii
from enum import StrEnum
from typing import TypeVar

from sidecar.core.errors import DamagedRun

Json = dict[str, object]

WTF8 = "wtf8"
"""The only key of an object that stands for a string with lone surrogates; see ``store.codec``."""

E = TypeVar("E", bound=StrEnum)


class Fields:
    """One JSON object of the file ``path``, being read; ``where`` is its place in the document."""

    __slots__ = ("_json", "path", "where")

    def __init__(self, value: object, *, path: str, where: str = "") -> None:
        self.path = path
        self.where = where
        if not isinstance(value, dict):
            raise self.damaged("", "is not an object")
        self._json: Json = value

    def damaged(self, name: str, what: str) -> DamagedRun:
        """What to raise (corrupt) about the field ``name``, or with no name about the object."""
        place = f"{self.where}.{name}".strip(".") or "the document"
        return DamagedRun(f"{place} {what}: {self.path}", path=self.path, damage="corrupt")

    def raw(self, name: str) -> object:
        """The field as it is; ``None`` if it is absent."""
        return self._json.get(name)

    def text(self, name: str) -> str:
        """A string."""
        return self._text(name, self._json.get(name))

    def text_or_none(self, name: str) -> str | None:
        """A string, if the field is there."""
        value = self._json.get(name)
        return None if value is None else self._text(name, value)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(self._text(name, item) for item in self._list(name))

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """A list of pairs of strings."""
        found = []
        for item in self._list(name):
            if not isinstance(item, list) or len(item) != 2:  # noqa: PLR2004 - a pair has two
                raise self.damaged(name, "is not a list of pairs")
            found.append((self._text(name, item[0]), self._text(name, item[1])))
        return tuple(found)

    def count(self, name: str, *, least: int = 0) -> int:
        """A whole number of at least ``least``."""
        return self._count(name, self._json.get(name), least)

    def count_or_none(self, name: str, *, least: int = 0) -> int | None:
        """A whole number, if the field is there."""
        value = self._json.get(name)
        return None if value is None else self._count(name, value, least)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._json.get(name)
        if not isinstance(value, bool):
            raise self.damaged(name, "is not true or false")
        return value

    def word(self, name: str, words: type[E]) -> E:
        """One of a closed set."""
        value = self._json.get(name)
        if isinstance(value, str):
            try:
                return words(value)
            except ValueError:
                pass  # told below, like everything else that is no word of the set
        raise self.damaged(name, f"is not one of {', '.join(words)}")

    def inner(self, name: str) -> "Fields":
        """An object."""
        return Fields(self._json.get(name), path=self.path, where=self._place(name))

    def inner_or_none(self, name: str) -> "Fields | None":
        """An object, if the field is there."""
        return None if self._json.get(name) is None else self.inner(name)

    def inners(self, name: str) -> list["Fields"]:
        """A list of objects."""
        return [
            Fields(item, path=self.path, where=f"{self._place(name)}[{index}]")
            for index, item in enumerate(self._list(name))
        ]

    def _place(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def _list(self, name: str) -> list[object]:
        value = self._json.get(name)
        if not isinstance(value, list):
            raise self.damaged(name, "is not a list")
        return value

    def _text(self, name: str, value: object) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and len(value) == 1:
            packed = value.get(WTF8)
            if isinstance(packed, str):
                try:
                    data = binascii.a2b_base64(packed, strict_mode=True)
                    return data.decode("utf-8", "surrogatepass")
                except ValueError:
                    pass  # told below, like everything else that is no string
        raise self.damaged(name, "is not a string")

    def _count(self, name: str, value: object, least: int) -> int:
        # A bool is an int to Python, but not to whoever wrote the file.
        if type(value) is not int or value < least:
            raise self.damaged(name, f"is not a whole number of at least {least}")
        return value


def present(document: Json) -> Json:
    """``document`` without the fields that are ``None``: absent and null mean the same."""
    return {name: value for name, value in document.items() if value is not None}
