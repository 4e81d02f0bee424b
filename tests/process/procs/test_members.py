"""Who counts as a member: everything below the subreaper but the spared, however it is listed."""

import os
import subprocess
import sys
from pathlib import Path

from sidecar.procs import members, tree

# Prints one line, as JSON, of what it is told to compute; becomes a subreaper first.
PRELUDE = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
from sidecar.procs import members, prctl, scopes, tree
now = lambda: time.monotonic_ns() // 1000000
def sleeper():
    pid = os.fork()
    if pid == 0:
        time.sleep(100)
        os._exit(0)
    return pid
def leader():
    # A child with a child of its own, in a session of its own; says when both are there.
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.write(write_fd, b'%d' % sleeper())
        time.sleep(100)
        os._exit(0)
    return pid, int(os.read(read_fd, 20))
def end(scope):
    ending = tree.TreeEnding(now(), 1000, scope)
    while (wake_at := ending.advance(now())) is not None:
        time.sleep(max(0, min(5, wake_at - now())) / 1000)
    return list(ending.result)
"""


def outcome_of(program: str, *, expects: str) -> None:
    argv = [sys.executable, "-c", PRELUDE + program, str(Path(tree.__file__).parents[2])]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == (expects + "\n", "")


PROOF = "['observed', 'subreaper', 0]"

SPARED = """
assert prctl.set_subreaper()
first, second = leader(), leader()
spare = {first[0]}
scope = scopes.Below(spare)
print(end(scope), sorted(pid for pid, _ in scope.exits) == sorted(second), end=' ')
print([os.path.exists(f'/proc/{pid}') for pid in first], end=' ')
os.kill(first[0], 9)
os.waitpid(first[0], 0)
spare.clear()
print(end(scopes.Below(spare)), [os.path.exists(f'/proc/{pid}') for pid in first])
"""


def test_spared_leaders_keep_their_trees_until_they_are_gone() -> None:
    # As a runner with two wardens of which one has died: the other's tree is not its business.
    outcome_of(SPARED, expects=f"{PROOF} True [True, True] {PROOF} [False, False]")


FALLBACK = """
import _ctypes
def refuse(*_):
    raise AttributeError('another Python')
_ctypes.dlsym = refuse
assert prctl.set_subreaper()
if os.fork() == 0:
    leader()
    os._exit(0)
os.wait()
print(end(scopes.Below()))
"""


def test_subreaper_without_the_private_call() -> None:
    outcome_of(FALLBACK, expects=PROOF)


WITHOUT_CHILDREN = """
assert prctl.set_subreaper()
pids = [*leader(), *leader(), sleeper()]
spared = leader()
pids += spared
listed = [stat.pid for stat in members.descendants(os.getpid())]
members.posix = type('Old', (), {**vars(members.posix), 'access': lambda *_: False})
searched = [stat.pid for stat in members.descendants(os.getpid())]
print(sorted(listed) == sorted(searched) == sorted(pids), end=' ')
print(end(scopes.Below({spared[0]})), os.path.exists(f'/proc/{spared[1]}'), end(scopes.Below()))
"""


def test_members_are_found_where_the_kernel_does_not_list_children() -> None:
    outcome_of(WITHOUT_CHILDREN, expects=f"True {PROOF} True {PROOF}")


def test_parents_come_before_their_children() -> None:
    everybody = members.descendants(1)
    seen = {1}
    for stat in everybody:
        assert stat.parent in seen
        seen.add(stat.pid)
    assert os.getpid() in seen or os.getpid() == 1


def test_nobody_has_no_descendants() -> None:
    assert members.descendants(2**22 + 1) == []
