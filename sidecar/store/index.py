"""All runs there are, by name only: finding one by its id or prefix, and paging through history.

A run id sorts by time, so that the newest runs are the largest names, and ten thousand runs cost
one listing of a directory and not a single look into any of them.

This module must never open a run directory, and must never let a name that is no run id become
part of a path.
"""

import heapq
import os
import stat
from dataclasses import dataclass

from sidecar.core import ids
from sidecar.core.errors import AmbiguousId, DamagedRun, NotFound
from sidecar.store import atomic
from sidecar.store.layout import Layout

CANDIDATES_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Run ids, newest first.

    ``next_cursor`` is the ``before`` of the next page, ``None`` on the last one.  ``problems`` (on
    the first page) are the things in the directory of runs that are no runs.
    """

    ids: tuple[str, ...]
    next_cursor: str | None
    problems: tuple[DamagedRun, ...]


def resolve(layout: Layout, prefix: str) -> str:
    """The id of the only run whose id begins with ``prefix``.

    A whole id is looked up without listing anything.  Raises ``InvalidParams`` if it cannot be the
    beginning of an id, ``NotFound``, ``AmbiguousId`` with the newest candidates, ``DamagedRun`` if
    something else has the name of a run, ``StorageError``.
    """
    ids.parse_prefix(prefix)
    if ids.is_run_id(prefix):
        return _exact(layout, prefix)
    found = [name for name in _names(layout) if name.startswith(prefix) and ids.is_run_id(name)]
    if not found:
        raise NotFound(f"no run has this id: {prefix}", field="runId")
    if len(found) > 1:
        raise AmbiguousId(
            f"{len(found)} runs have an id that begins with: {prefix}",
            candidates=tuple(heapq.nlargest(CANDIDATES_MAX, found)),
        )
    return _exact(layout, found[0])


def history_page(layout: Layout, limit: int, before: str | None = None) -> HistoryPage:
    """At most ``limit`` runs that are older than the run ``before`` (or the newest ones).

    ``before`` need not exist any more.  Raises ``InvalidParams``, ``StorageError``.
    """
    if before is not None:
        ids.parse_run_id(before, field="cursor")
    runs: list[str] = []
    problems: list[DamagedRun] = []
    for name, is_dir in _entries(layout):
        if not is_dir or not ids.is_run_id(name):
            if before is None:
                problems.append(_stranger(f"{layout.runs}/{name}"))
        elif before is None or name < before:
            runs.append(name)
    page = heapq.nlargest(limit + 1, runs)
    more = len(page) > limit
    return HistoryPage(
        ids=tuple(page[:limit]),
        next_cursor=page[limit - 1] if more and limit > 0 else None,
        problems=tuple(problems),
    )


def _exact(layout: Layout, run_id: str) -> str:
    path = layout.run_dir(run_id)
    try:
        found = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise NotFound(f"no such run: {run_id}", field="runId", run_id=run_id) from exc
    except OSError as exc:
        raise atomic.storage_error("look up the run", path, exc) from exc
    if not stat.S_ISDIR(found.st_mode):
        raise _stranger(path)
    return run_id


def _names(layout: Layout) -> list[str]:
    return [name for name, _ in _entries(layout)]


def _entries(layout: Layout) -> list[tuple[str, bool]]:
    """(name, whether it is a real directory), as the directory itself tells; none if missing."""
    try:
        dir_fd = atomic.open_dir(layout.runs)
        try:
            with os.scandir(dir_fd) as entries:
                return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        finally:
            os.close(dir_fd)
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise atomic.storage_error("list the runs in", layout.runs, exc) from exc


def _stranger(path: str) -> DamagedRun:
    return DamagedRun(f"not a run directory: {path}", path=path, damage="foreign")
