"""Ending what is left of a run whose warden and runner are both gone.

Nothing is a child of ours here, so members are found by what was recorded, in this order of trust:
the agent by (pid, start ticks), everything below it, and whoever carries the run's marker in the
environment it was started with. That is a search and no proof: what has left the tree and cleared
its environment is not found, so the answer is always ``unknown`` and says what was done.

It must never signal itself, its ancestors, another user's process, or the runner and warden of any
run. Signals go through ``tree``.
"""

import posix
import select

from sidecar.procs import clock, identity, members, scopes, tree

MARKER_NAME = b"SIDECAR_RUN_ID"

_ENVIRON_MAX = 4 << 20
_NAMED = 20


def end_orphans(run_id: str, agent: tuple[int, int] | None, grace_ms: int) -> tuple[str, str, str]:
    """Search for the processes of a run and end them: TERM, grace, KILL; returns when it is over.

    ``agent`` is the recorded (pid, start ticks), ``None`` if there is none or it is of another
    boot. Takes at most the grace and the time of ``core.policy.KILL_VERIFY_MS``. Returns
    ``("unknown", "warden-lost", diagnostic)``; call it only if something was ever started.
    """
    scope = _Orphans(MARKER_NAME + b"=" + run_id.encode(), agent)
    ending = tree.TreeEnding(clock.now_ms(), grace_ms, scope)
    while (wake_at := ending.advance(clock.now_ms())) is not None:
        select.poll().poll(max(1, wake_at - clock.now_ms()))
    found = " ".join(map(str, sorted(scope.seen)[:_NAMED])) or "nobody"
    more = len(scope.seen) - _NAMED
    story = "searched by recorded pid, its descendants and the run's marker in the environment; "
    story += f"found {found}{f' and {more} more' if more > 0 else ''}, killed {ending.killed}"
    if ending.result is not None and ending.result[0] == "unknown":
        story += f"; {ending.result[1]}: {ending.result[2]}"
    return ("unknown", "warden-lost", story)


class _Orphans(scopes.Scope):
    """Whoever the search finds at this moment."""

    mechanism = "search"

    def __init__(self, marker: bytes, agent: tuple[int, int] | None) -> None:
        super().__init__()
        self.seen: set[int] = set()
        self._known: dict[tuple[int, int], tuple[bool, bool]] = {}
        self._marker = marker
        self._agent = agent
        self._uid = posix.geteuid()

    def reap(self) -> bool:
        """Nobody here is ours to reap; over is when the search finds nobody."""
        return not self.members()

    def members(self) -> list[identity.Stat]:
        """Search."""
        everybody = {stat.pid: stat for stat in members.everybody()}
        never = _ancestors(everybody)
        never |= {pid for pid, stat in everybody.items() if self._look(stat)[0]}
        found: dict[int, identity.Stat] = {}
        for root in everybody.values():
            if root.pid in never or not self._look(root)[1]:
                continue
            for stat in (root, *members.descendants(root.pid, never)):
                if not stat.is_zombie and _is_of(stat.pid, self._uid):
                    found[stat.pid] = stat
        self.seen |= set(found)
        return list(found.values())

    def signal(self, member: identity.Stat, number: int) -> str:
        """Signal by pidfd, after comparing start ticks."""
        return tree.send_to(member.pid, member.ticks, number)

    def kill_group_of(self, member: identity.Stat) -> None:
        """Do nothing: a group may hold others than those that were found."""

    def _look(self, stat: identity.Stat) -> tuple[bool, bool]:
        """Whether a process is a runner or warden, and whether it is one to begin the search at.

        Asked once per process: a marker that it was started with cannot be taken back by exec.
        """
        key = (stat.pid, stat.ticks)
        if key not in self._known:
            is_agent = key == self._agent
            is_marked = _is_of(stat.pid, self._uid) and self._marker in _environment(stat.pid)
            self._known[key] = (_is_sidecar(stat.pid), is_agent or is_marked)
        return self._known[key]


def _ancestors(everybody: dict[int, identity.Stat]) -> set[int]:
    """This process and all above it."""
    found: set[int] = set()
    pid = posix.getpid()
    while pid in everybody and pid not in found:
        found.add(pid)
        pid = everybody[pid].parent
    return found


def _is_sidecar(pid: int) -> bool:
    """Whether this is a runner, warden or adopter: all of them run the boot script."""
    words = _words(f"/proc/{pid}/cmdline")
    return words[1:4] == [b"-I", b"-S", b"-E"] and words[4].endswith(b"/sidecar/procs/boot.py")


def _is_of(pid: int, uid: int) -> bool:
    try:
        return posix.stat(f"/proc/{pid}").st_uid == uid
    except OSError:
        return False


def _environment(pid: int) -> list[bytes]:
    return _words(f"/proc/{pid}/environ")


def _words(path: str) -> list[bytes]:
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return []
    data = b""
    try:
        while len(data) < _ENVIRON_MAX and (part := posix.read(fd, 65_536)):
            data += part
    except OSError:
        return []  # it ended, or execs just now: the next search looks again
    finally:
        posix.close(fd)
    return data.split(b"\0")
