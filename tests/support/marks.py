"""Marks: how a test counts the processes of one agent's tree, wherever they have gone.

A mark is a path that every process of the tree carries in its command line or its environment. The
server, the runner and the warden do not: what carries the mark is what the agent has started.
"""

import os
from pathlib import Path

from tests.support.procs import processes_of
from tests.support.wait import wait_until

CHILDREN = Path(__file__).parent / "children"


def marked(mark: Path) -> list[int]:
    """The pids of all processes that carry this mark."""
    return [found.pid for found in processes_of(mark)]


def wait_marked(mark: Path, count: int) -> list[int]:
    """Wait until exactly ``count`` processes carry this mark; their pids."""
    wait_until(
        lambda: len(marked(mark)) == count,
        what=lambda: f"{count} processes with {mark.name}, there are {processes_of(mark)}",
    )
    return marked(mark)


def assert_none_marked(mark: Path) -> None:
    """No process carries this mark: now, not soon. That is what a proof has promised."""
    found = processes_of(mark)
    assert not found, "; ".join(str(process) for process in found)


def children_of(pid: int) -> list[int]:
    """The direct children of a process, by the kernel's own list."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
        lists = [Path(f"/proc/{pid}/task/{task}/children").read_text() for task in tasks]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for line in lists for child in line.split()]


def parent_of(pid: int) -> int:
    """The parent of a process."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def zombies_below(pid: int) -> list[int]:
    """Every child of ``pid`` that has ended and was not collected."""
    return [child for child in children_of(pid) if not is_running(child)]


def is_running(pid: int) -> bool:
    """Whether this pid is a process that is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
