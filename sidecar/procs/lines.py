"""The warden's sentences: one fact a line, the same in its record and on its socket.

    spawning <pid> <start_ticks> <boot_id> <at_ms>
    running <agent_pid> <agent_start_ticks> <at_ms>
    spawn-failed <errno> <at_ms> <detail...>
    runner-vanished <at_ms>
    exited code|signal <n> <at_ms>
    proof observed <mechanism> <killed> <at_ms>
    proof unknown <reason> <at_ms> <diagnostic...>

A line counts once its newline is there. These lines are on disk: a word once used keeps its meaning
for ever, and a reader skips what it does not know. This module must never read or write anything.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Spawning = tuple[Literal["spawning"], int, int, str, int]
    Running = tuple[Literal["running"], int, int, int]
    SpawnFailed = tuple[Literal["spawn-failed"], int, int, str]
    RunnerVanished = tuple[Literal["runner-vanished"], int]
    Exited = tuple[Literal["exited"], Literal["code", "signal"], int, int]
    ProofObserved = tuple[Literal["proof"], Literal["observed"], str, int, int]
    ProofUnknown = tuple[Literal["proof"], Literal["unknown"], str, int, str]
    Fact = Spawning | Running | SpawnFailed | RunnerVanished | Exited | ProofObserved | ProofUnknown

# Stands for a start tick or a boot id that this system does not have.
NO_TICKS = 0
NO_BOOT_ID = "-"

# Long enough for any sentence and a list of pids, short enough that a full pipe cannot split it.
_MAX_TEXT = 2000


def encode(fact: "Fact") -> bytes:
    """Write a fact as one line, whatever its free text holds."""
    text = " ".join(str(word) for word in fact)
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text[:_MAX_TEXT].encode("utf-8", "replace") + b"\n"


def parse(line: bytes) -> "Fact | None":
    """Read one line without its newline; ``None`` if it says nothing that is known here."""
    words = line.decode("utf-8", "replace").split(" ")
    try:
        return _parse(words)
    except (IndexError, ValueError):
        return None


def split(data: bytes) -> "tuple[list[Fact], bytes]":
    """Read the complete lines of ``data``; what follows the last newline comes back as it is."""
    *lines, rest = data.split(b"\n")
    facts = [fact for line in lines if (fact := parse(line)) is not None]
    return facts, rest


def _parse(words: list[str]) -> "Fact | None":
    word = words[0]
    if word == "spawning":
        return ("spawning", int(words[1]), int(words[2]), words[3], int(words[4]))
    if word == "running":
        return ("running", int(words[1]), int(words[2]), int(words[3]))
    if word == "spawn-failed":
        return ("spawn-failed", int(words[1]), int(words[2]), " ".join(words[3:]))
    if word == "runner-vanished":
        return ("runner-vanished", int(words[1]))
    if word == "exited" and words[1] == "code":
        return ("exited", "code", int(words[2]), int(words[3]))
    if word == "exited" and words[1] == "signal":
        return ("exited", "signal", int(words[2]), int(words[3]))
    if word == "proof" and words[1] == "observed":
        return ("proof", "observed", words[2], int(words[3]), int(words[4]))
    if word == "proof" and words[1] == "unknown":
        return ("proof", "unknown", words[2], int(words[3]), " ".join(words[4:]))
    return None
