"""The second mechanism, where there is no subreaper: the agent's process group, and it says so.

On Linux it has to be asked for; what it promises is less, and these tests show what.
"""

import os
import signal

from tests.process.procs.rig import Rig
from tests.support.wait import wait_until

SIT = "echo up $$; sleep 100"
DEAF = "trap '' TERM; echo up $$; while :; do sleep 100; done"


def launch(rig: Rig, script: str, n_processes: int) -> list[int]:
    rig.attempt().mkdir()
    rig.start()
    rig.write_order(["sh", "-c", script], attempt=2)
    rig.say("start_group 2")

    def up() -> list[int]:
        lines = rig.output(2).splitlines()
        pids = [int(line.split()[1]) for line in lines if line.startswith(b"up ")]
        return pids if len(pids) == n_processes else []

    return wait_until(up, what="everybody is up")


def test_exit_and_proof_of_a_lone_agent(rig: Rig) -> None:
    launch(rig, "echo up $$; exit 3", 1)
    assert rig.hears("exited")[1:3] == ["code", 3]
    assert rig.hears("proof")[1:4] == ["observed", "process-group", 0]
    rig.says_bye()
    assert rig.wardens() == [rig.runner_pid]


def test_signal_of_an_agent_is_told_without_reaping_it(rig: Rig) -> None:
    launch(rig, f"sh -c '{SIT}' & echo up $$; kill -9 $$", 2)
    assert rig.hears("exited")[1:3] == ["signal", signal.SIGKILL]
    # It stays a zombie, so that nobody else can be given its group's number.
    pid = rig.hears("running")[1]
    assert os.getpgid(pid) == pid
    assert rig.ends()[1:4] == ["observed", "process-group", 0]
    rig.says_bye()


def test_willing_group_ends(rig: Rig) -> None:
    launch(rig, f"sh -c '{SIT}' & {SIT}", 2)
    assert rig.ends()[1:4] == ["observed", "process-group", 0]
    rig.assert_nobody_left()


def test_deaf_group_is_killed_and_counted(rig: Rig) -> None:
    launch(rig, f'sh -c "{DEAF}" & {DEAF}', 2)
    proof = rig.ends(100)
    assert proof[1:3] == ["observed", "process-group"]
    assert proof[3] >= 2
    rig.assert_nobody_left()


def test_whoever_left_the_group_is_not_seen_and_the_mechanism_says_so(rig: Rig) -> None:
    _, escaped = sorted(launch(rig, f"setsid sh -c '{SIT}' & {SIT}", 2))
    assert rig.ends()[1:4] == ["observed", "process-group", 0]
    assert rig.agents() != []
    assert os.getsid(escaped) == escaped


def test_group_whose_runner_vanished_is_ended(rig: Rig) -> None:
    launch(rig, f"sh -c '{SIT}' & {SIT}", 2)
    rig.kill_runner()
    rig.adopted()
    assert rig.record(2)[-1].startswith("proof observed process-group 0 ")
    rig.assert_nobody_left()
