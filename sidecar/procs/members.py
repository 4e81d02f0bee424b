"""Who is in a process tree at this moment, read from /proc.

A listing is a hint: processes come and go while it is made. It is repeated, and that nothing is
left is never concluded from it but from the kernel's own word (see ``tree``).

It must never signal or reap, and import only what the boot path may.
"""

import posix

from sidecar.procs import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable


def descendants(root: int, skip: "Collection[int]" = ()) -> list[identity.Stat]:
    """Every process below ``root``, parents first, without those in ``skip`` and all below them.

    A child counts if it says itself that its parent is one of the tree: between being listed and
    being looked at, a pid may have passed to a stranger.
    """
    children_of = lister()
    found: list[identity.Stat] = []
    known = {root}
    parents = [root]
    for parent in parents:
        for pid in children_of(parent):
            if pid in known or pid in skip:
                continue
            stat = look_at(pid)
            # Not `== parent`: it is the subreaper's own as soon as its parent has died.
            if stat is not None and stat.parent in known:
                known.add(pid)
                parents.append(pid)
                found.append(stat)
    return found


def lister() -> "Callable[[int], list[int]]":
    """Give the quickest way to list a process's children: the kernel's own list, or a search.

    What it gives is for one look: the search is made once, when it is given.
    """
    if posix.access("/proc/thread-self/children", posix.R_OK):
        return _children
    # CONFIG_PROC_CHILDREN is not in every kernel, only in all that distributions build.
    of: dict[int, list[int]] = {}
    for stat in everybody():
        of.setdefault(stat.parent, []).append(stat.pid)
    return lambda pid: of.get(pid, [])


def in_group(pgrp: int) -> list[identity.Stat]:
    """Every process of this machine that is in a process group, zombies included."""
    return [stat for stat in everybody() if stat.pgrp == pgrp]


def everybody() -> "Iterable[identity.Stat]":
    """Every process that may be looked at."""
    for name in _names("/proc"):
        if name.isdecimal():
            stat = look_at(int(name))
            if stat is not None:
                yield stat


def look_at(pid: int) -> identity.Stat | None:
    """Like ``identity.stat_of``, but what may not be looked at is nobody we could end."""
    try:
        return identity.stat_of(pid)
    except OSError:
        return None


def _children(pid: int) -> list[int]:
    """The children of all threads of a process; empty if it is gone."""
    found: list[int] = []
    for thread in _names(f"/proc/{pid}/task"):
        found += map(int, _read_all(f"/proc/{pid}/task/{thread}/children").split())
    return found


def _names(folder: str) -> list[str]:
    try:
        return posix.listdir(folder)
    except OSError:
        return []


def _read_all(path: str) -> bytes:
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    data = b""
    try:
        while part := posix.read(fd, 65_536):
            data += part
    except OSError:
        pass  # it ended while being read; what was listed so far is still a hint
    finally:
        posix.close(fd)
    return data
