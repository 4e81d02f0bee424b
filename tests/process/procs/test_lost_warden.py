"""A warden that dies leaves its tree to its runner, which inherits and ends it."""

import os
import signal

from tests.process.procs.rig import Rig
from tests.support.wait import wait_until

SIT = "echo up $$; sleep 100"
DEAF = "trap '' TERM; echo up $$; while :; do sleep 100; done"


def lose_warden(rig: Rig) -> None:
    rig.say("kill_warden")
    assert rig.hears("warden-ended") == ["warden-ended", "signal", signal.SIGKILL]


def test_runner_inherits_and_ends_the_tree(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"setsid sh -c '{SIT}' & {SIT}"])
    rig.printed_fields(b"up", 2)
    agent_pid = rig.hears("running")[1]
    lose_warden(rig)
    assert rig.agents() != []
    rig.say("inherit 3000")
    assert rig.hears("inherited-result")[1:] == ["observed", "subreaper", 0]
    rig.assert_nobody_left()
    # The agent's own exit is found among what was reaped.
    assert ["inherited-exit", agent_pid, "signal", signal.SIGTERM] in rig.heard()


def test_runner_kills_what_it_inherited_and_does_not_listen(rig: Rig) -> None:
    rig.launch(["sh", "-c", f'setsid sh -c "{DEAF}" & {DEAF}'])
    rig.printed_fields(b"up", 2)
    lose_warden(rig)
    rig.say("inherit 50")
    result = rig.hears("inherited-result")
    assert result[1:3] == ["observed", "subreaper"]
    assert result[3] >= 2
    rig.assert_nobody_left()


def test_runner_learns_of_the_loss_though_the_agent_lives(rig: Rig) -> None:
    # Were the agent given a copy of the socket, its warden's end of it would never close.
    rig.launch(["sh", "-c", SIT])
    rig.printed_fields(b"up", 1)
    os.kill(int(rig.record()[0].split()[1]), signal.SIGKILL)
    assert rig.hears("warden-ended") == ["warden-ended", "signal", signal.SIGKILL]


def test_inheriting_nothing_is_proof_at_once(rig: Rig) -> None:
    rig.launch(["true"])
    rig.hears("proof")
    rig.says_bye()
    rig.say("inherit 3000")
    assert rig.hears("inherited-result")[1:] == ["observed", "subreaper", 0]


def test_output_stays_with_the_runner(rig: Rig) -> None:
    rig.launch(["sh", "-c", "trap 'echo heard term; exit 0' TERM; echo up $$; sleep 100 & wait"])
    rig.printed_fields(b"up", 1)
    lose_warden(rig)
    rig.say("inherit 3000")
    rig.hears("drained")
    assert rig.output().endswith(b"heard term\n")


def test_runner_and_warden_of_a_second_attempt_do_not_mix(rig: Rig) -> None:
    rig.launch(["sh", "-c", SIT])
    rig.printed_fields(b"up", 1)
    lose_warden(rig)
    rig.say("inherit 3000")
    rig.hears("inherited-result", "observed")
    rig.write_order(["sh", "-c", "exit 8"], attempt=2)
    rig.say("start 2")
    assert rig.hears("exited")[1:3] == ["code", 8]
    rig.hears("proof", "observed")


def test_both_killed_leaves_the_record_as_it_was(rig: Rig) -> None:
    rig.launch(["sh", "-c", SIT])
    rig.printed_fields(b"up", 1)
    warden_pid = int(rig.record()[0].split()[1])
    os.kill(warden_pid, signal.SIGSTOP)
    rig.kill_runner()
    os.kill(warden_pid, signal.SIGKILL)
    wait_until(lambda: not rig.wardens(), what="both are gone")
    assert [line.split()[0] for line in rig.record()] == ["spawning", "running"]
    assert rig.agents() != []
