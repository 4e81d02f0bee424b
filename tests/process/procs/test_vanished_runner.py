"""A runner that dies takes nothing with it: its warden ends the tree, keeps the output, and calls.

"Dies" is SIGKILL at any moment, or an exit without ``bye``; only ``bye`` is a farewell.
"""

import fcntl
import os
from pathlib import Path

import pytest

from tests.process.procs.rig import Rig
from tests.support.wait import wait_until

SIT = "echo up $$; sleep 100"

COUNTING = """
import sys, time
for n in range(int(sys.argv[1])):
    sys.stdout.write('line %d %s\\n' % (n, 'x' * 100))
    if n % 500 == 0:
        sys.stdout.flush()
sys.stdout.flush()
print('up', 0, flush=True)
time.sleep(100)
"""


def gone(rig: Rig, *, adopters: int = 1) -> list[str]:
    """Wait for the adopter and for the warden's own end; the record's words."""
    assert len(rig.adopted()) == adopters
    ours = {rig.runner_pid}
    wait_until(lambda: not set(rig.wardens()) - ours, what="warden and adopter have ended")
    return [line.split()[0] for line in rig.record()]


def test_tree_is_ended_and_recorded(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"setsid sh -c '{SIT}' & {SIT}"])
    rig.printed_fields(b"up", 2)
    rig.kill_runner()
    words = gone(rig)
    assert words == ["spawning", "running", "runner-vanished", "exited", "proof"]
    assert rig.record()[-1].startswith("proof observed subreaper 0 ")
    rig.assert_nobody_left()


def test_adopter_is_no_child_and_knows_the_way(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    rig.hears("running")
    warden_session = os.getsid(int(rig.record()[0].split()[1]))
    rig.kill_runner()
    [[pid, session, paths, _]] = rig.adopted()
    assert pid == session
    assert session != warden_session
    assert paths == [str(rig.base / "shadow")]


def test_adopter_need_not_wait_for_the_warden(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    rig.hears("running")
    rig.kill_runner()
    [[*_, held]] = rig.adopted()
    assert held == []


def test_exit_before_the_loss_is_on_record_before_it(rig: Rig) -> None:
    rig.launch(["sh", "-c", f"setsid sh -c '{SIT}' & exit 6"])
    rig.hears("exited", "code", 6)
    rig.kill_runner()
    words = gone(rig)
    assert words == ["spawning", "running", "exited", "runner-vanished", "proof"]
    rig.assert_nobody_left()


def test_loss_after_the_proof_only_calls_an_adopter(rig: Rig) -> None:
    rig.launch(["true"])
    rig.hears("proof")
    rig.kill_runner()
    assert gone(rig) == ["spawning", "running", "exited", "proof", "runner-vanished"]


def test_loss_after_a_failed_start_only_calls_an_adopter(rig: Rig) -> None:
    rig.launch(["/no/such/agent"])
    rig.hears("spawn-failed")
    rig.kill_runner()
    assert gone(rig) == ["spawning", "spawn-failed", "runner-vanished"]


def test_runner_that_exits_by_itself_has_vanished_too(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    rig.hears("running")
    rig.say("exit 0")
    words = gone(rig)
    assert words[2] == "runner-vanished"
    rig.assert_nobody_left()


def test_runner_that_fails_leaves_its_story_in_the_log(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    rig.hears("running")
    rig.say("raise a mistake of ours")
    _, status = os.waitpid(rig.runner_pid, 0)
    rig.runner_pid = 0
    assert os.waitstatus_to_exitcode(status) == 70
    gone(rig)
    assert "RuntimeError: a mistake of ours" in rig.log()


def test_farewell_calls_nobody(rig: Rig) -> None:
    rig.launch(["true"])
    rig.hears("proof")
    rig.says_bye()
    rig.kill_runner()
    assert rig.wardens() == []
    assert not (rig.dir / "adopted.jsonl").exists()


def test_deaf_tree_is_killed_by_the_grace_that_was_asked_for(rig: Rig) -> None:
    deaf = "trap 'echo heard' TERM; echo up $$; while :; do sleep 100; done"
    rig.launch(["sh", "-c", f'setsid sh -c "{deaf}" & {deaf}'])
    rig.printed_fields(b"up", 2)
    rig.say("end 200")
    rig.printed_fields(b"heard", 2)
    # What follows would take the default grace; the loss must not make a quick end slower.
    rig.kill_runner()
    gone(rig)
    assert rig.record()[-1].startswith("proof observed subreaper ")
    rig.assert_nobody_left()


def test_deaf_tree_is_killed_after_the_usual_grace(rig: Rig) -> None:
    deaf = "trap '' TERM; echo up $$; while :; do sleep 100; done"
    rig.launch(["sh", "-c", f'setsid sh -c "{deaf}" & {deaf}'])
    rig.printed_fields(b"up", 2)
    rig.kill_runner()
    gone(rig)
    _, _, _, killed, _ = rig.record()[-1].split()
    assert int(killed) >= 2
    rig.assert_nobody_left()


def expected_lines(n_lines: int) -> bytes:
    return b"".join(b"line %d %s\n" % (n, b"x" * 100) for n in range(n_lines)) + b"up 0\n"


def test_output_held_in_the_pipe_is_saved(rig: Rig) -> None:
    # The runner never moves a byte: all there is lies in the pipe when it dies.
    (rig.dir / "hold-output").touch()
    rig.launch(["sh", "-c", "echo out; echo err >&2; sleep 100"])
    rig.hears("running")
    stdout = rig.attempt() / "stdout.log"
    assert stdout.read_bytes() == b""
    wait_until(lambda: pipe_size(rig) > 0, what="there is output in the pipe")
    rig.kill_runner()
    gone(rig)
    assert rig.output() == b"out\n"
    assert rig.output(name="stderr.log") == b"err\n"
    assert stdout.stat().st_mode & 0o777 == 0o600


def pipe_size(rig: Rig) -> int:
    """How many bytes wait in the pipes of the agent, as its own end of them says."""
    size = 0
    for pid in rig.agents():
        for number in (1, 2):
            try:
                fd = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            size += int.from_bytes(fcntl.ioctl(fd, 0x541B, b"\0" * 4), "little")  # FIONREAD
            os.close(fd)
    return size


@pytest.mark.parametrize("n_lines", [2_000, 60_000])
def test_output_is_complete_whenever_the_runner_dies(rig: Rig, n_lines: int) -> None:
    rig.python(COUNTING, str(n_lines))
    expected = expected_lines(n_lines)
    # Anywhere in the middle: as soon as anything is in the log.
    wait_until(rig.output, what="the log has begun")
    rig.kill_runner()
    gone(rig)
    # TERM may have come before the agent had said all; what it had said is there, each byte once.
    saved = rig.output()
    assert saved == expected[: len(saved)]


def test_output_goes_on_where_the_runner_left_off(rig: Rig) -> None:
    # The agent ignores TERM until it has said everything, so everything must arrive.
    program = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + COUNTING.replace(
        "time.sleep(100)", "pass"
    )
    rig.python(program, "100000")
    wait_until(lambda: len(rig.output()) > 1_000_000, what="the log is in full swing")
    rig.kill_runner()
    gone(rig)
    assert rig.output() == expected_lines(100_000)
    assert "exited code 0" in "\n".join(rig.record())


def test_agent_gets_no_broken_pipe(rig: Rig, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = f"""
import os, signal, time
def end(*_):
    for n in range(1000):
        os.write(1, b'goodbye %d\\n' % n)
    open({str(told)!r}, 'w').write('wrote all')
    os._exit(9)
signal.signal(signal.SIGTERM, end)
print('up', 0, flush=True)
time.sleep(100)
"""
    rig.python(program)
    rig.printed_fields(b"up", 1)
    rig.kill_runner()
    gone(rig)
    assert told.read_text() == "wrote all"
    assert rig.output().endswith(b"goodbye 999\n")
    assert any(line.startswith("exited code 9 ") for line in rig.record())


def test_output_held_open_from_outside_does_not_hold_the_warden(rig: Rig) -> None:
    # A stranger, no descendant of the agent, gets hold of the pipe and keeps writing.
    rig.launch(["sh", "-c", SIT])
    [[pid]] = rig.printed_fields(b"up", 1)
    stranger_fd = os.open(f"/proc/{int(pid)}/fd/1", os.O_WRONLY)
    try:
        rig.kill_runner()
        rig.records("exited")
        os.write(stranger_fd, b"said late\n")
        gone(rig)
        assert rig.output().endswith(b"said late\n")
    finally:
        os.close(stranger_fd)


def test_proof_is_recorded_after_the_logs_are_complete(rig: Rig) -> None:
    rig.launch(["sh", "-c", SIT])
    [[pid]] = rig.printed_fields(b"up", 1)
    stranger_fd = os.open(f"/proc/{int(pid)}/fd/1", os.O_WRONLY)
    try:
        rig.kill_runner()
        rig.records("exited")
        assert not any(line.startswith("proof") for line in rig.record())
    finally:
        os.close(stranger_fd)
    gone(rig)
    assert rig.record()[-1].startswith("proof observed")


def test_record_is_locked_as_long_as_the_warden_lives(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    rig.hears("running")
    fd = os.open(rig.attempt() / "warden", os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        rig.kill_runner()
        gone(rig)
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        os.close(fd)


def test_nothing_happens_twice_if_the_warden_is_told_to_end_as_well(rig: Rig) -> None:
    rig.launch(["sleep", "100"])
    rig.hears("running")
    rig.say("end 3000")
    rig.say("close")
    gone(rig)
    words = [line.split()[0] for line in rig.record()]
    assert sorted(words) == sorted(set(words))
