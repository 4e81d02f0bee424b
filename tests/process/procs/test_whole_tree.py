"""Ending an attempt ends everything that its agent has started, however it tried to get away.

That nobody is left is looked up in /proc, at the moment the proof is heard and not a moment later.
"""

import os
import re
import signal
from pathlib import Path

import pytest

from tests.process.procs.rig import Rig
from tests.support.procs import processes_of
from tests.support.wait import wait_until

# A process that says its pid and then sits there: `SIT` asks nobody, `DEAF` does not hear TERM.
SIT = "echo up $$; sleep 100"
DEAF = "trap '' TERM; echo up $$; while :; do sleep 100; done"

PLAIN = f"(sh -c '{SIT}'; :) & (sh -c '{SIT}'; :) & {SIT}"
NESTED = f'sh -c "sh -c \'sh -c \\"{SIT}\\"; true\'; true"; true'
ESCAPED = f"setsid nohup sh -c '{SIT}' >&2 </dev/null & {SIT}"

DAEMON = """
import os, sys
print('up', os.getpid(), flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir('/')
        print('up', os.getpid(), flush=True)
        for fd in range(3):
            os.close(fd)
        os.execve('/bin/sleep', ['sleep', '100', sys.argv[1]][:2], {'RIG': sys.argv[1]})
    os._exit(0)
os.wait()
import time; time.sleep(100)
"""

MOVING = """
import os, sys, time
print('up', os.getpid(), flush=True)
for n in range(3):
    if os.fork() == 0:
        os.setpgid(0, 0)
        if os.fork() == 0:
            os.setsid()
        print('up', os.getpid(), flush=True)
        time.sleep(100)
time.sleep(100)
"""

ZOMBIES = """
import os, time
for n in range(20):
    if os.fork() == 0:
        os._exit(0)
print('up', os.getpid(), flush=True)
time.sleep(100)
"""

# A wide and deep tree of 200: every third in its own session, every tenth an orphan.
BIG = """
import os, time
def grow(n):
    while n > 1:
        half = n // 2
        if os.fork() == 0:
            if n % 3 == 0:
                os.setsid()
            grow(half)
        n -= half
    os.write(1, b'up %d\\n' % os.getpid())
    time.sleep(100)
grow(200)
"""


def pids_of(rig: Rig, n_processes: int) -> list[int]:
    """Wait until so many members have said that they are up."""
    return [int(fields[0]) for fields in rig.printed_fields(b"up", n_processes)]


def assert_gone(rig: Rig, pids: list[int]) -> None:
    rig.assert_nobody_left()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.parametrize(
    ("script", "n_processes"),
    [(PLAIN, 3), (NESTED, 1), (ESCAPED, 1)],
    ids=["plain", "nested-shells", "setsid-nohup"],
)
def test_willing_tree_ends_without_kill(rig: Rig, script: str, n_processes: int) -> None:
    rig.launch(["sh", "-c", script])
    pids = pids_of(rig, n_processes)
    assert rig.ends()[1:4] == ["observed", "subreaper", 0]
    assert_gone(rig, pids)
    assert rig.hears("exited")[1:3] == ["signal", signal.SIGTERM]
    rig.says_bye()


@pytest.mark.parametrize(
    ("program", "n_processes"),
    [(DAEMON, 2), (MOVING, 7), (ZOMBIES, 1)],
    ids=["double-fork", "other-groups", "zombies"],
)
def test_tree_ends_wherever_its_members_went(rig: Rig, program: str, n_processes: int) -> None:
    rig.python(program, str(rig.dir))
    pids = pids_of(rig, n_processes)
    assert rig.ends()[1:4] == ["observed", "subreaper", 0]
    assert_gone(rig, pids)


def test_members_deaf_to_term_are_killed_and_counted(rig: Rig) -> None:
    rig.launch(["sh", "-c", f'setsid sh -c "{DEAF}" & {DEAF}'])
    pids = pids_of(rig, 2)
    proof = rig.ends(100)
    assert proof[1:3] == ["observed", "subreaper"]
    # Two shells; each may have been between two sleeps, which hear TERM.
    assert 2 <= proof[3] <= 4
    assert_gone(rig, pids)
    assert rig.hears("exited")[1:3] == ["signal", signal.SIGKILL]


def test_grace_lets_an_agent_save(rig: Rig, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    save = f"sleep 0.3; echo saved >{saved}; exit 0"
    script = f"trap '{save}' TERM; echo up $$; while :; do sleep 0.1; done"
    rig.launch(["sh", "-c", script])
    pids_of(rig, 1)
    assert rig.ends()[1:4] == ["observed", "subreaper", 0]
    assert saved.read_text() == "saved\n"
    assert rig.hears("exited")[1:3] == ["code", 0]


def test_second_end_shortens_a_long_grace(rig: Rig) -> None:
    rig.launch(["sh", "-c", DEAF])
    pids = pids_of(rig, 1)
    rig.say("end 600000")
    rig.say("end 500000")
    proof = rig.ends(0)
    assert proof[1:3] == ["observed", "subreaper"]
    assert_gone(rig, pids)


def test_second_end_never_lengthens(rig: Rig) -> None:
    rig.launch(["sh", "-c", DEAF])
    pids_of(rig, 1)
    rig.say("end 50")
    assert rig.ends(600_000)[1:3] == ["observed", "subreaper"]


def test_stopped_members_hear_term(rig: Rig, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    script = f"trap 'echo saved >{saved}; exit 3' TERM; echo up $$; kill -STOP $$; sleep 100"
    rig.launch(["sh", "-c", script])
    [pid] = pids_of(rig, 1)
    state = Path(f"/proc/{pid}/stat")
    wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T", what="it is stopped")
    assert rig.ends()[1:4] == ["observed", "subreaper", 0]
    assert saved.read_text() == "saved\n"


def test_whoever_is_forked_during_the_grace_is_asked_too(rig: Rig) -> None:
    # Each answer to TERM is a new child that hears TERM by default; the first one never ends.
    rig.launch(
        ["sh", "-c", f"trap 'sh -c \"{SIT}\" & wait; exit 0' TERM; echo up $$; sleep 100 & wait"]
    )
    pids = pids_of(rig, 1)
    assert rig.ends(20_000)[1:4] == ["observed", "subreaper", 0]
    assert_gone(rig, pids)


def test_leftovers_of_an_agent_that_has_exited_wait_for_the_runner(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"setsid sh -c '{SIT}' & echo done; exit 4"])
    pids = pids_of(rig, 1)
    assert rig.hears("exited")[1:3] == ["code", 4]
    assert [fact for fact in rig.heard() if fact[0] == "proof"] == []
    assert rig.agents() != []
    assert rig.ends()[1:4] == ["observed", "subreaper", 0]
    assert_gone(rig, pids)


def test_leftovers_that_end_by_themselves_are_proof_enough(rig: Rig, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    rig.launch(["sh", "-c", f"(read x <{go}) & exit 0"])
    rig.hears("exited", "code", 0)
    assert [fact for fact in rig.heard() if fact[0] == "proof"] == []
    go.write_text("\n")
    assert rig.hears("proof")[1:4] == ["observed", "subreaper", 0]


def test_exit_of_the_agent_is_told_though_its_output_is_held_open(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"sh -c '{SIT}' & exit 1"])
    pids_of(rig, 1)
    assert rig.hears("exited")[1:3] == ["code", 1]
    assert [fact for fact in rig.heard() if fact[0] == "drained"] == []
    rig.ends()
    rig.hears("drained")


def test_tree_of_two_hundred(rig: Rig) -> None:
    rig.python(BIG)
    pids = pids_of(rig, 200)
    assert len(processes_of(rig.dir)) >= 200
    proof = rig.ends(0)
    assert proof[1:3] == ["observed", "subreaper"]
    assert proof[3] == 200
    assert_gone(rig, pids)


def test_signal_reaches_the_agent_and_nobody_else(rig: Rig) -> None:
    child = "trap 'echo child heard' INT; echo up $$; while :; do sleep 0.1; done"
    agent = "trap 'echo agent heard' INT; echo up $$; while :; do sleep 0.1; done"
    rig.launch(["bash", "-c", f'bash -c "{child}" & {agent}'])
    pids_of(rig, 2)
    rig.say(f"signal {int(signal.SIGINT)}")
    rig.prints(b"agent heard")
    assert rig.ends()[1:3] == ["observed", "subreaper"]
    assert b"child heard" not in rig.output()


def test_signal_after_the_exit_hits_nobody(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"setsid sh -c '{SIT}' & exit 0"])
    pids = pids_of(rig, 1)
    rig.hears("exited")
    rig.say(f"signal {int(signal.SIGKILL)}")
    rig.say("signal 9999")
    rig.say("signal 0")
    assert rig.ends()[1:4] == ["observed", "subreaper", 0]
    assert_gone(rig, pids)


def test_bye_too_early_leaves_nothing_behind(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"setsid sh -c '{SIT}' & {SIT}"])
    pids = pids_of(rig, 2)
    rig.says_bye()
    assert_gone(rig, pids)
    assert not (rig.dir / "adopted.jsonl").exists()


def test_warden_is_deaf_to_what_ends_other_processes(rig: Rig) -> None:
    rig.launch(["sh", "-c", SIT])
    pids = pids_of(rig, 1)
    warden_pid = int(rig.record()[0].split()[1])
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        os.kill(warden_pid, number)
    assert rig.ends()[1:4] == ["observed", "subreaper", 0]
    assert_gone(rig, pids)
    rig.says_bye()


def test_names_with_brackets_and_blanks_confuse_nobody(rig: Rig) -> None:
    program = """
import os, time
open('/proc/self/comm', 'w').write('my (agent) S 1')
if os.fork() == 0:
    os.setsid()
    open('/proc/self/comm', 'w').write(') R 1 1 (')
print('up', os.getpid(), flush=True)
time.sleep(100)
"""
    rig.python(program)
    pids = pids_of(rig, 2)
    assert rig.ends()[1:4] == ["observed", "subreaper", 0]
    assert_gone(rig, pids)


# --- storms: whoever forks faster than one can look ----------------------------------------------

COMET = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.write(1, b'up %d\\n' % os.getpid())
while True:
    if os.fork():
        os._exit(0)
    if sys.argv[1] == 'session':
        os.setsid()
"""

SPRAY = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.write(1, b'up %d\\n' % os.getpid())
while True:
    if os.fork() == 0:
        time.sleep(0.05)
        os._exit(0)
    time.sleep(0.001)
"""

REPLACING = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b'up %d\\n' % os.getpid())
while True:
    if os.fork() == 0:
        os.setsid()
        time.sleep(100)
    os.wait()
"""


@pytest.mark.parametrize(
    "program",
    [(COMET, "group"), (COMET, "session"), (SPRAY, ""), (REPLACING, "")],
    ids=["comet", "comet-in-new-sessions", "spray", "replacing"],
)
def test_storm_of_forks_ends(rig: Rig, program: tuple[str, str]) -> None:
    rig.python(*program)
    pids_of(rig, 1)
    proof = rig.ends(100)
    assert proof[1:3] == ["observed", "subreaper"]
    assert proof[3] >= 1
    rig.assert_nobody_left()
    rig.says_bye()


def test_doubling_storm_ends(rig: Rig) -> None:
    # It stops growing by itself at 300, but is not asked to wait for that.
    program = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b'up %d\\n' % os.getpid())
for n in range(8):
    os.fork()
    time.sleep(0.01)
time.sleep(100)
"""
    rig.python(program)
    pids_of(rig, 1)
    proof = rig.ends(0)
    assert proof[1:3] == ["observed", "subreaper"]
    rig.assert_nobody_left()


def test_record_ends_with_exit_and_proof_in_this_order(rig: Rig) -> None:
    rig.launch(["sh", "-c", DEAF])
    pids_of(rig, 1)
    rig.ends(20)
    words = [re.split(" ", line)[0] for line in rig.record()]
    assert words == ["spawning", "running", "exited", "proof"]
