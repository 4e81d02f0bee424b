"""Whose end it is: the sets of processes that ``tree.TreeEnding`` can end, each with its own proof.

``Below`` is everything under a subreaper, and its proof is ECHILD, the kernel's word. ``Group`` is
an agent's process group, and its proof says nothing of whoever has left the group.

It must never signal but through ``tree``, and imports only what the boot path may.
"""

import posix

from sidecar.procs import identity, members, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Collection
else:
    import _signal

SUBREAPER = "subreaper"
PROCESS_GROUP = "process-group"


class Scope:
    """What a ladder asks of a set of processes.

    ``exits`` collects ``(pid, wait status)`` of what was reaped, for the owner to take.
    """

    mechanism = ""

    def __init__(self) -> None:
        """Start with nothing reaped."""
        self.exits: list[tuple[int, int]] = []

    def reap(self) -> bool:
        """Collect every zombie that is ours; whether nothing is left."""
        raise NotImplementedError

    def members(self) -> list[identity.Stat]:
        """List who is alive, as far as can be seen now."""
        raise NotImplementedError

    def signal(self, member: identity.Stat, number: int) -> str:
        """Signal one member: ``tree.SENT``, ``tree.GONE`` or ``tree.NOT_PERMITTED``."""
        raise NotImplementedError

    def kill_group_of(self, member: identity.Stat) -> None:
        """Kill the whole group of a member that has just been stopped, if that is safe."""
        raise NotImplementedError


class Below(Scope):
    """Everything below the calling process, which is a subreaper.

    ``spare`` are children that lead trees of their own; it is read each time, and its owner takes a
    pid out as soon as it has reaped it.
    """

    mechanism = SUBREAPER

    def __init__(self, spare: "Collection[int]" = ()) -> None:
        """Own all that is below now and later."""
        super().__init__()
        self._spare = spare
        self._pid = posix.getpid()
        self._session = posix.getsid(0)

    def reap(self) -> bool:
        """Collect every zombie that is ours; whether nothing is left, which is the proof."""
        if self._spare:
            return self._reap_beside_the_spared()
        while True:
            try:
                pid, status = posix.waitpid(-1, posix.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            self.exits.append((pid, status))

    def members(self) -> list[identity.Stat]:
        """List who is alive; never the spared."""
        found = members.descendants(self._pid, self._spare)
        return [stat for stat in found if not stat.is_zombie]

    def signal(self, member: identity.Stat, number: int) -> str:
        """Signal one member, as ``send_to`` does."""
        if member.parent == self._pid:
            return tree.send_to_child(member.pid, number)
        return tree.send_to(member.pid, member.ticks, number)

    def kill_group_of(self, member: identity.Stat) -> None:
        """Kill the whole group of a member that has just been stopped.

        While the member lives its group's number cannot pass to another group, and a session other
        than ours was made by somebody below us, so all that are in it are.
        """
        stat = members.look_at(member.pid)
        if stat is None or stat.ticks != member.ticks or stat.session == self._session:
            return
        tree.send_to_group(stat.pgrp, _signal.SIGKILL)

    def _reap_beside_the_spared(self) -> bool:
        for pid in self._others():
            try:
                reaped, status = posix.waitpid(pid, posix.WNOHANG)
            except ChildProcessError:
                continue
            if reaped:
                self.exits.append((reaped, status))
        # Of our own children the listing is exact: only we can take one off, by reaping it, and
        # whatever is below a child that has died is on it by then. Without /proc there is none.
        return members.look_at(self._pid) is not None and not self._others()

    def _others(self) -> list[int]:
        return [pid for pid in members.lister()(self._pid) if pid not in self._spare]


class Group(Scope):
    """The process group of the agent: the second mechanism, where there is no subreaper.

    What leaves the group is not seen: an observed end by ``process-group`` cannot exclude escapees.
    The agent is left a zombie until the end, so that its group's number stays its own.
    """

    mechanism = PROCESS_GROUP

    def __init__(self, leader: int) -> None:
        """Own the group that ``leader``, a child of this process, was started in."""
        super().__init__()
        self._sent: set[int] = set()
        self._leader = leader
        self._leader_exited = False
        self._leader_reaped = False

    def reap(self) -> bool:
        """Collect the agent's status; whether the agent has exited and its group is empty."""
        if not self._leader_exited:
            self._collect()
        if not self._leader_exited or self.members():
            return False
        if not self._leader_reaped:
            posix.waitpid(self._leader, 0)
            self._leader_reaped = True
        return True

    def members(self) -> list[identity.Stat]:
        """List who is alive in the group; where there is no /proc, one entry for all of them."""
        if self._leader_reaped:
            return []
        if members.look_at(posix.getpid()) is not None:
            return [stat for stat in members.in_group(self._leader) if not stat.is_zombie]
        if tree.send_to_group(self._leader, 0) == tree.GONE:
            return []
        fields = [b"?", b"0", b"%d" % self._leader, b"0", *[b"0"] * 16]
        return [identity.Stat(self._leader, fields)]

    def signal(self, member: identity.Stat, number: int) -> str:
        """Signal the whole group, whichever member it is about: once, but KILL every time."""
        if number in self._sent:
            return tree.SENT
        if number != _signal.SIGKILL:
            self._sent.add(number)
        return tree.send_to_group(self._leader, number)

    def kill_group_of(self, member: identity.Stat) -> None:
        """Kill the group: to this mechanism it is one and the same."""
        self.signal(member, _signal.SIGKILL)

    def _collect(self) -> None:
        if not hasattr(posix, "waitid"):
            pid, status = posix.waitpid(self._leader, posix.WNOHANG)
            if pid:
                self._leader_exited = self._leader_reaped = True
                self.exits.append((pid, status))
            return
        options = posix.WEXITED | posix.WNOHANG | posix.WNOWAIT
        found = posix.waitid(posix.P_PID, self._leader, options)
        if found is not None:
            self._leader_exited = True
            is_code = found.si_code == posix.CLD_EXITED
            status = found.si_status << 8 if is_code else found.si_status
            self.exits.append((self._leader, status))
