"""The ladder step by step, with members that are played and a clock that is given."""

import signal

from sidecar.core import policy
from sidecar.procs import identity, scopes, tree

TERM, CONT, STOP, KILL = signal.SIGTERM, signal.SIGCONT, signal.SIGSTOP, signal.SIGKILL


def member(pid: int, ticks: int = 1) -> identity.Stat:
    stat = identity.parse_stat(pid, b"1 (x) S 1 1 1 " + b"0 " * 15 + b"%d" % ticks)
    assert stat is not None
    return stat


class Played(scopes.Scope):
    """Members that end by what ``ends_by`` says, may not be signalled, or never end."""

    mechanism = "played"

    def __init__(self, *pids: int) -> None:
        super().__init__()
        self.alive = {pid: member(pid) for pid in pids}
        self.ends_by: dict[int, int] = {}
        self.refused: set[int] = set()
        self.got: list[tuple[int, int]] = []

    def reap(self) -> bool:
        return not self.alive

    def members(self) -> list[identity.Stat]:
        return list(self.alive.values())

    def signal(self, member: identity.Stat, number: int) -> str:
        if member.pid in self.refused:
            return tree.NOT_PERMITTED
        self.got.append((member.pid, number))
        if self.ends_by.get(member.pid) == number:
            del self.alive[member.pid]
        return tree.SENT

    def kill_group_of(self, member: identity.Stat) -> None:
        self.got.append((member.pid, -KILL))


def walk(ending: tree.TreeEnding, now_ms: int) -> int:
    """Advance until there is a result; the time of it."""
    while (wake_at := ending.advance(now_ms)) is not None:
        assert wake_at > now_ms
        now_ms = wake_at
    return now_ms


def test_nobody_is_proof_at_once() -> None:
    ending = tree.TreeEnding(0, 3000, Played())
    assert ending.advance(0) is None
    assert ending.result == ("observed", "played", 0)


def test_each_member_is_asked_once_and_woken() -> None:
    scope = Played(1, 2)
    ending = tree.TreeEnding(0, 3000, scope)
    for now_ms in (0, 10, 20, 2999):
        ending.advance(now_ms)
    assert scope.got == [(1, TERM), (1, CONT), (2, TERM), (2, CONT)]


def test_whoever_comes_later_is_asked_too() -> None:
    scope = Played(1)
    ending = tree.TreeEnding(0, 3000, scope)
    ending.advance(0)
    scope.alive[2] = member(2)
    scope.alive[1] = member(1, ticks=2)  # the same number, another process
    ending.advance(10)
    assert scope.got[2:] == [(1, TERM), (1, CONT), (2, TERM), (2, CONT)]


def test_kill_comes_with_the_grace_and_counts() -> None:
    scope = Played(1, 2)
    scope.ends_by = {1: TERM, 2: KILL}
    ending = tree.TreeEnding(100, 3000, scope)
    assert walk(ending, 100) == 3100
    assert ending.result == ("observed", "played", 1)
    assert scope.got[-2:] == [(2, STOP), (2, KILL)]


def test_no_grace_is_no_question() -> None:
    scope = Played(1)
    scope.ends_by = {1: KILL}
    ending = tree.TreeEnding(0, 0, scope)
    walk(ending, 0)
    assert scope.got == [(1, STOP), (1, KILL)]


def test_grace_can_only_be_shortened() -> None:
    scope = Played(1)
    scope.ends_by = {1: KILL}
    ending = tree.TreeEnding(0, 60_000, scope)
    ending.advance(0)
    ending.shorten(1000, 500)
    ending.shorten(1000, 90_000)
    assert walk(ending, 1000) == 1500
    assert ending.result == ("observed", "played", 1)


def test_all_are_stopped_before_any_is_killed() -> None:
    scope = Played(1, 2, 3)
    scope.ends_by = {1: KILL, 2: KILL, 3: KILL}
    walk(tree.TreeEnding(0, 0, scope), 0)
    assert [number for _, number in scope.got] == [STOP] * 3 + [KILL] * 3


def test_unkillable_is_unknown_after_its_time_and_named() -> None:
    scope = Played(7, 8)
    scope.ends_by = {7: KILL}
    ending = tree.TreeEnding(0, 1000, scope)
    assert walk(ending, 0) == 1000 + policy.KILL_VERIFY_MS
    assert ending.result is not None
    assert ending.result[:2] == ("unknown", "verification-failed")
    assert str(ending.result[2]).endswith(": 8")


def test_refused_is_told_from_unkillable() -> None:
    scope = Played(7, 8, 9)
    scope.ends_by = {7: KILL}
    scope.refused = {8}
    ending = tree.TreeEnding(0, 1000, scope)
    walk(ending, 0)
    assert ending.result is not None
    assert ending.result[:2] == ("unknown", "not-permitted")
    assert str(ending.result[2]).endswith(": 8")


def test_refusal_of_one_that_ends_by_itself_is_no_matter() -> None:
    scope = Played(8)
    scope.refused = {8}
    ending = tree.TreeEnding(0, 1000, scope)
    ending.advance(0)
    scope.alive.clear()
    assert ending.advance(50) is None
    assert ending.result == ("observed", "played", 0)


def test_result_stays() -> None:
    scope = Played()
    ending = tree.TreeEnding(0, 1000, scope)
    ending.advance(0)
    scope.alive[1] = member(1)
    assert ending.advance(5000) is None
    assert ending.result == ("observed", "played", 0)
    assert scope.got == []


def test_storm_is_met_by_killing_groups_and_is_bounded() -> None:
    class Storm(Played):
        def members(self) -> list[identity.Stat]:
            fresh = max(self.alive, default=1) + 1
            self.alive[fresh] = member(fresh)
            return list(self.alive.values())

        def signal(self, member: identity.Stat, number: int) -> str:
            self.ends_by[member.pid] = KILL
            return super().signal(member, number)

        def reap(self) -> bool:
            return False

    scope = Storm(1)
    ending = tree.TreeEnding(0, 0, scope)
    walk(ending, 0)
    assert any(number == -KILL for _, number in scope.got)
    assert ending.result is not None
    assert ending.result[:2] == ("unknown", "verification-failed")
    assert len(str(ending.result[2])) < 300


def test_exit_status_is_told_apart() -> None:
    assert tree.exit_of(3 << 8) == ("code", 3)
    assert tree.exit_of(9) == ("signal", 9)
    assert tree.exit_of(11 | 0x80) == ("signal", 11)  # with a core dump
