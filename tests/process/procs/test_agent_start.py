"""What the agent finds when it begins: descriptors, signals, session, directory, words, input."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.process.procs.rig import Rig

SHOW = """
import json, os, signal, sys
blocked = [line for line in open('/proc/self/status') if line.startswith(('SigBlk', 'SigIgn'))]
print(json.dumps({
    'fds': sorted(int(fd) for fd in os.listdir('/proc/self/fd')),
    'links': [os.readlink(f'/proc/self/fd/{fd}') for fd in range(3)],
    'signals': dict(line.split() for line in blocked),
    'session': os.getsid(0), 'group': os.getpgid(0), 'pid': os.getpid(),
    'cwd': os.getcwd(), 'argv': sys.argv[1:], 'env': dict(os.environ),
}))
"""


def shown(rig: Rig) -> dict[str, object]:
    rig.hears("drained")
    rig.hears("exited", "code", 0)
    found: dict[str, object] = json.loads(rig.output())
    return found


def test_agent_has_three_descriptors_and_no_more(rig: Rig) -> None:
    rig.python(SHOW)
    found = shown(rig)
    # The fourth is the listing's own.
    assert found["fds"] == [0, 1, 2, 3]
    links = found["links"]
    assert isinstance(links, list)
    assert links[0] == "/dev/null"
    assert links[1].startswith("pipe:")
    assert links[2].startswith("pipe:")
    assert links[1] != links[2]


def test_agent_leads_a_session_of_its_own(rig: Rig) -> None:
    rig.python(SHOW)
    found = shown(rig)
    assert found["pid"] == found["session"] == found["group"]
    assert found["pid"] == rig.hears("running")[1]


def test_agent_signals_are_default_whatever_the_launcher_ignored(rig: Rig) -> None:
    ignored = [signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    try:
        # Python itself ignores SIGPIPE and SIGXFSZ when it starts, so the shell is asked.
        rig.launch(["sh", "-c", "exec grep -E 'SigBlk|SigIgn' /proc/self/status"])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
    rig.hears("drained")
    found = dict(line.split() for line in rig.output().decode().splitlines())
    # 32 and 33 belong to the C library, which lets nobody reset what our own parent did to them.
    assert {name: int(bits, 16) & ~(0b11 << 31) for name, bits in found.items()} == {
        "SigBlk:": 0,
        "SigIgn:": 0,
    }
    # And the warden, below a launcher that ignored SIGCHLD, has still got the exit.
    assert rig.hears("exited")[1:3] == ["code", 0]


def test_agent_environment_is_the_order_and_nothing_else(rig: Rig) -> None:
    rig.launch(["env", "-0"], env={"A": "1", "B": "two words = three", "EMPTY": ""})
    rig.hears("drained")
    pairs = (pair.partition("=") for pair in rig.output().decode().split("\0") if pair)
    assert {name: value for name, _, value in pairs} == {
        "A": "1",
        "B": "two words = three",
        "EMPTY": "",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "RIG": str(rig.dir),
    }


def test_arguments_arrive_byte_for_byte(rig: Rig) -> None:
    words = [b"", b"two words", b"\xff\xfe not utf-8", "ä€😀".encode(), b"$HOME `x` 'y' \n z"]
    rig.launch([b"printf", b"%s\\0", *words])
    rig.hears("exited", "code", 0)
    rig.hears("drained")
    assert rig.output() == b"".join(word + b"\0" for word in words)


@pytest.mark.parametrize("name", ["two words", "brace{ }", "ä€😀", "-dash", "quo'te\""])
def test_agent_starts_in_its_directory(rig: Rig, tmp_path: Path, name: str) -> None:
    cwd = tmp_path / name
    cwd.mkdir()
    rig.python(SHOW, cwd=str(cwd))
    assert shown(rig)["cwd"] == str(cwd)


def test_program_is_found_relative_to_the_agents_directory(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "bin dir").mkdir()
    script = tmp_path / "bin dir" / "my agent"
    script.write_text("#!/bin/sh\necho found $0\n")
    script.chmod(0o755)
    rig.launch(["my agent"], cwd=str(tmp_path), env={"PATH": "/nowhere:bin dir:/bin:/usr/bin"})
    rig.hears("exited", "code", 0)
    rig.hears("drained")
    assert rig.output() == b"found bin dir/my agent\n"


def test_program_is_found_on_the_path_of_the_order_not_on_ours(rig: Rig, tmp_path: Path) -> None:
    script = tmp_path / "true"
    script.write_text("#!/bin/sh\nexit 7\n")
    script.chmod(0o755)
    rig.launch(["true"], env={"PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert rig.hears("exited")[1:3] == ["code", 7]


def test_a_name_that_is_not_executable_is_passed_over(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "true").write_text("not a program")
    (tmp_path / "dir" / "true").mkdir(parents=True)
    path = f"{tmp_path}:{tmp_path}/dir:/bin:/usr/bin"
    rig.launch(["true"], env={"PATH": path})
    assert rig.hears("exited")[1:3] == ["code", 0]


def test_input_is_empty_by_default(rig: Rig) -> None:
    rig.launch(["sh", "-c", 'read -r x; echo "$? [$x]"'])
    rig.prints(b"1 []")


def test_input_from_a_file_that_is_gone_once_it_is_open(rig: Rig) -> None:
    prompt = os.urandom(300_000)
    rig.launch(["sh", "-c", "cat"], stdin=prompt)
    rig.hears("running")
    assert not (rig.attempt() / "stdin").exists()
    rig.hears("exited", "code", 0)
    rig.hears("drained")
    assert rig.output() == prompt


def test_input_pipe_carries_what_the_runner_writes_and_then_ends(rig: Rig) -> None:
    rig.launch(["sh", "-c", 'while read -r x; do echo "got:$x"; done; echo over'], stdin="pipe")
    rig.say("write first")
    rig.prints(b"got:first")
    rig.say("write words for you")
    rig.prints(b"got:words for you")
    rig.say("end_input")
    rig.prints(b"over")


def test_input_pipe_ends_when_the_runner_dies(rig: Rig) -> None:
    # Only the runner holds its writing end: neither the warden nor the agent keeps it open.
    rig.launch(["sh", "-c", "trap '' TERM; cat; echo input over; sleep 60"], stdin="pipe")
    rig.hears("running")
    rig.kill_runner()
    rig.prints(b"input over")


def test_order_is_private_and_gone_once_taken(rig: Rig) -> None:
    rig.launch(["sleep", "60"])
    rig.hears("running")
    assert not (rig.attempt() / "spawn").exists()
    record = rig.attempt() / "warden"
    assert record.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in rig.attempt().iterdir()) == [
        "stderr.log",
        "stdout.log",
        "warden",
    ]


def test_record_tells_who_keeps_and_who_runs(rig: Rig) -> None:
    rig.launch(["sleep", "60"])
    _, pid, ticks, at = rig.hears("running")
    spawning, running = rig.record()
    word, warden_pid, warden_ticks, boot, _ = spawning.split()
    assert word == "spawning"
    assert boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    stat = Path(f"/proc/{warden_pid}/stat").read_text().rpartition(")")[2].split()
    assert stat[19] == warden_ticks
    assert running == f"running {pid} {ticks} {at}"
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert stat[19] == str(ticks)
    assert stat[1] == warden_pid


def test_our_own_directories_hold_nothing_back(rig: Rig, tmp_path: Path) -> None:
    # A warden that stayed in the agent's directory would keep a file system busy.
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    rig.launch(["sleep", "60"], cwd=str(cwd))
    rig.hears("running")
    warden_pid = int(rig.record()[0].split()[1])
    assert Path(f"/proc/{warden_pid}/cwd").readlink() == Path("/")
