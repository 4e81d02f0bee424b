"""Finding, by /proc alone, the processes that have to do with one state directory.

It must not use sidecar's own code: it is the second opinion on what that code says is gone.
A process has to do with a state directory if its command line, its environment, its working
directory or one of its open files mentions it. A zombie mentions nothing any more and is not found:
it holds no resources, and its parent is either found itself or about to collect it.
"""

import contextlib
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.support.wait import DEADLINE_S, DeadlineMissedError, wait_until

PROC = Path("/proc")

# Gone between two looks, or another user's: either way nothing of ours.
_NOT_OURS = (FileNotFoundError, ProcessLookupError, PermissionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProcess:
    """One process, and where it mentions the state directory."""

    pid: int
    argv: tuple[str, ...]
    mentioned_in: tuple[str, ...]

    def __str__(self) -> str:
        """Tell the story in one line."""
        return f"{self.pid} [{' '.join(self.argv)}] by its {', '.join(self.mentioned_in)}"


def processes_of(state_dir: Path) -> list[FoundProcess]:
    """All processes but this one that mention ``state_dir``, by pid."""
    pids = sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal())
    looked_at = (_look_at(pid, state_dir) for pid in pids if pid != os.getpid())
    return [found for found in looked_at if found is not None]


def assert_no_processes(state_dir: Path, *, deadline_s: float = DEADLINE_S) -> None:
    """Wait until no process mentions ``state_dir``; fail with the list of those that still do."""
    left: list[FoundProcess] = []

    def none_left() -> bool:
        left[:] = processes_of(state_dir)
        return not left

    wait_until(
        none_left,
        what=lambda: "no process left, but there is " + "; ".join(str(found) for found in left),
        deadline_s=deadline_s,
    )


def kill_processes(state_dir: Path) -> list[FoundProcess]:
    """Kill whatever mentions ``state_dir``, and return it: a failed test must not disturb the next.

    Looks again until a look finds nothing, because what is killed may have had time to start more.
    """
    killed: dict[int, FoundProcess] = {}

    def none_left() -> bool:
        left = processes_of(state_dir)
        for found in left:
            killed[found.pid] = found
            _kill(found.pid, state_dir)
        return not left

    with contextlib.suppress(DeadlineMissedError):
        wait_until(none_left, what="everything killed", deadline_s=5)
    return list(killed.values())


def _kill(pid: int, state_dir: Path) -> None:
    """Kill this very process: the descriptor pins it, the second look says it is still ours."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if _look_at(pid, state_dir) is not None:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended by itself after the look
    finally:
        os.close(pidfd)


def _look_at(pid: int, state_dir: Path) -> FoundProcess | None:
    mention = re.compile(re.escape(os.fsencode(state_dir)) + rb"(?![\w.-])")
    try:
        argv = (PROC / str(pid) / "cmdline").read_bytes()
        places = {
            "command line": argv,
            "environment": (PROC / str(pid) / "environ").read_bytes(),
            "working directory": os.fsencode((PROC / str(pid) / "cwd").readlink()),
            "open files": b"\0".join(_open_files(pid)),
        }
    except _NOT_OURS:
        return None
    mentioned_in = tuple(place for place, content in places.items() if mention.search(content))
    if not mentioned_in:
        return None
    words = argv.rstrip(b"\0").split(b"\0")
    return FoundProcess(
        pid=pid,
        argv=tuple(os.fsdecode(word) for word in words),
        mentioned_in=mentioned_in,
    )


def _open_files(pid: int) -> list[bytes]:
    targets = []
    for link in (PROC / str(pid) / "fd").iterdir():
        with contextlib.suppress(*_NOT_OURS):
            targets.append(os.fsencode(link.readlink()))
    return targets
