"""What params and views are built of: the base types, and fields with their limits and their words.

A field's description is written once, here or beside the field, and from there reaches the JSON
Schema, protocol.md and the hints of refusals.

This module must never define a message.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sidecar.core import ids, policy

LATER = "later"
"""Key of ``Meta.extra``: what this version refuses by name, since a later one will offer it."""

INT_MAX = 2**53 - 1
"""The largest integer that every JSON reader holds exactly (RFC 8259 section 6)."""


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the server tells.  A field that is ``None`` is left out."""


class ParamsPart(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """An object within params.  Null is the same as absent, an unknown field is refused."""


class Params(ParamsPart, frozen=True, kw_only=True):
    """What a client says."""

    meta: Annotated[
        dict[str, Any] | None, Meta(description="The client's own; never looked at.")
    ] = msgspec.field(default=None, name="_meta")


def doc(text: str) -> Meta:
    """The description of a field."""
    return Meta(description=text)


def doc_later(text: str, *later: str) -> Meta:
    """The same, for a field of which the values ``later`` are not in this version."""
    return Meta(description=text, extra={LATER: later})


NotYet = Annotated[None, Meta(description="Not in this version.", extra={LATER: ()})]
"""A field of the contract that only a later version offers: null is accepted, like absence."""

RunRef = Annotated[
    str, doc(f"A run id, or a unique prefix of at least {ids.MIN_PREFIX} characters of one.")
]
RunId = Annotated[str, doc("The id of the run: a UUID version 7, so that ids sort by time.")]
StepIndex = Annotated[
    int, Meta(ge=0, le=0, description="Index of the step: 0, the only one in this version.")
]
TimeoutMs = Annotated[int, Meta(ge=1, le=policy.TIMEOUT_MAX_MS)]
WaitMs = Annotated[int, Meta(ge=0, le=policy.TIMEOUT_MAX_MS)]
GraceMs = Annotated[int, Meta(ge=0, le=policy.GRACE_MAX_MS)]
Offset = Annotated[int, Meta(ge=-INT_MAX, le=INT_MAX)]
Seq = Annotated[int, Meta(ge=0, le=INT_MAX)]
Label = Annotated[str, Meta(max_length=policy.LABEL_MAX)]
