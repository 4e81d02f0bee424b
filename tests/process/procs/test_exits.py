"""The agent's exit is what is told and recorded, and whatever cannot be started says why."""

import errno
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process.procs.rig import Rig
from tests.support.wait import wait_until


@pytest.mark.parametrize("code", [0, 1, 2, 3, 42, 126, 127, 128, 143, 255])
def test_exit_code_is_told_and_recorded(rig: Rig, code: int) -> None:
    rig.launch(["sh", "-c", f"exit {code}"])
    _, how, number, at = rig.hears("exited")
    assert (how, number) == ("code", code)
    rig.hears("proof", "observed", "subreaper", 0)
    rig.says_bye()
    assert rig.record()[2] == f"exited code {code} {at}"


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        signal.SIGKILL,
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGPIPE,
        signal.SIGUSR2,
        signal.SIGSEGV,
        signal.SIGABRT,
        signal.SIGXFSZ,
        signal.SIGRTMIN + 3,
    ],
)
def test_signal_is_told_as_a_signal(rig: Rig, number: int) -> None:
    rig.launch(["sh", "-c", f"ulimit -c 0; kill -{int(number)} $$; sleep 60"])
    assert rig.hears("exited")[1:3] == ["signal", number]
    rig.hears("proof", "observed")
    assert rig.record()[2].startswith(f"exited signal {int(number)} ")


def test_code_above_128_is_not_taken_for_a_signal(rig: Rig) -> None:
    rig.launch(["sh", "-c", "exit 137"])
    assert rig.hears("exited")[1:3] == ["code", 137]


def test_exit_is_durable_before_it_is_told(rig: Rig) -> None:
    rig.launch(["true"])
    rig.hears("exited")
    assert rig.record()[2].startswith("exited code 0 ")


def test_proof_comes_by_itself_after_an_exit_that_leaves_nobody(rig: Rig) -> None:
    rig.launch(["sh", "-c", "sleep 0 & wait; exit 5"])
    rig.hears("proof", "observed")
    words = [fact[0] for fact in rig.heard()]
    assert [word for word in words if word != "drained"] == [
        "started",
        "running",
        "exited",
        "proof",
    ]
    rig.says_bye()
    assert rig.wardens() == [rig.runner_pid]


def test_many_short_agents_are_all_collected(rig: Rig) -> None:
    # What exits before anybody looks is what a signal that came too early would lose.
    rig.launch(["true"])
    for attempt in range(2, 102):
        rig.hears("proof", "observed")
        rig.says_bye()
        (rig.dir / "heard.jsonl").unlink()
        rig.write_order(["true"], attempt=attempt)
        rig.say(f"start {attempt}")
    assert rig.hears("exited")[1:3] == ["code", 0]
    rig.hears("proof", "observed")
    rig.says_bye()
    assert rig.wardens() == [rig.runner_pid]


# --- what cannot be started ----------------------------------------------------------------------


def make_no_file(base: Path) -> Path:
    return base / "there is no such program"


def make_not_executable(base: Path) -> Path:
    path = base / "plain"
    path.write_text("#!/bin/sh\n")
    return path


def make_no_interpreter(base: Path) -> Path:
    path = base / "script"
    path.write_text("#!/no/such/interpreter -x\necho no\n")
    path.chmod(0o755)
    return path


def make_interpreter_not_executable(base: Path) -> Path:
    (base / "interpreter").write_text("plain")
    path = base / "script"
    path.write_text(f"#!{base}/interpreter\n")
    path.chmod(0o755)
    return path


def make_no_first_line(base: Path) -> Path:
    path = base / "script"
    path.write_text("echo no first line\n")
    path.chmod(0o755)
    return path


def make_directory(base: Path) -> Path:
    path = base / "folder"
    path.mkdir()
    return path


def make_below_a_file(base: Path) -> Path:
    (base / "file").write_text("")
    return base / "file" / "program"


@pytest.mark.parametrize(
    ("make", "number", "says"),
    [
        (make_no_file, errno.ENOENT, "no such file: {program}"),
        (make_not_executable, errno.EACCES, "not executable: {program}"),
        (make_no_interpreter, errno.ENOENT, "does not exist: /no/such/interpreter (in {program})"),
        (make_interpreter_not_executable, errno.EACCES, "interpreter that may not be run: {base}"),
        (make_no_first_line, errno.ENOEXEC, "nor a script with a #! line: {program}"),
        (make_directory, errno.EACCES, "is a directory: {program}"),
        (make_below_a_file, errno.ENOTDIR, "{program}: Not a directory"),
    ],
)
def test_spawn_failure_names_its_cause(
    rig: Rig, tmp_path: Path, make: Callable[[Path], Path], number: int, says: str
) -> None:
    program = make(tmp_path)
    rig.launch([str(program)])
    _, told, _, detail = rig.hears("spawn-failed")
    assert told == number
    assert says.format(program=program, base=tmp_path) in detail
    assert rig.record()[1].startswith(f"spawn-failed {number} ")
    assert rig.record()[1].endswith(detail)
    rig.says_bye()
    assert [fact[0] for fact in rig.heard()].count("running") == 0


def test_spawn_failure_of_a_name_says_where_it_was_searched(rig: Rig) -> None:
    rig.launch(["no-such-agent"])
    _, number, _, detail = rig.hears("spawn-failed")
    assert (number, detail) == (errno.ENOENT, "not found on PATH: no-such-agent")


def test_spawn_failure_of_a_name_that_is_nowhere_executable(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    rig.launch(["plain"], env={"PATH": str(tmp_path)})
    _, number, _, detail = rig.hears("spawn-failed")
    assert (number, detail) == (errno.EACCES, f"not executable: {tmp_path}/plain")


def test_spawn_failure_when_the_directory_is_gone(rig: Rig, tmp_path: Path) -> None:
    rig.launch(["true"], cwd=str(tmp_path / "gone"))
    _, number, _, detail = rig.hears("spawn-failed")
    assert number == errno.ENOENT
    assert detail.startswith("cwd ")
    assert str(tmp_path / "gone") in detail


def test_spawn_failure_when_arguments_are_too_large(rig: Rig) -> None:
    rig.launch(["true", *["x" * 100_000] * 40])
    _, number, _, detail = rig.hears("spawn-failed")
    assert number == errno.E2BIG
    assert "cannot be run" in detail


@pytest.mark.parametrize("damage", [b"", b"something else", b"sidecar-spawn 1\nnull\0/\0001\0true"])
def test_spawn_failure_of_a_damaged_order(rig: Rig, damage: bytes) -> None:
    rig.write_order(["true"])
    (rig.attempt() / "spawn").write_bytes(damage)
    rig.start()
    assert rig.hears("spawn-failed")[1] == errno.EBADMSG


def test_spawn_failure_text_stays_one_line(rig: Rig) -> None:
    rig.launch(["/no\nsuch\x1b[31m/program"])
    _, _, _, detail = rig.hears("spawn-failed")
    assert detail == "no such file: /no?such?[31m/program"
    assert len(rig.record()) == 2


def test_attempt_that_a_warden_has_had_is_not_started_again(rig: Rig) -> None:
    rig.launch(["sh", "-c", "echo once"])
    rig.hears("proof")
    rig.says_bye()
    (rig.dir / "heard.jsonl").unlink()
    record = rig.record()
    (rig.attempt() / "spawn").write_bytes(b"")
    rig.say("start 1")
    assert rig.hears("spawn-failed")[1] == errno.EEXIST
    assert rig.record() == record
    rig.says_bye()
    assert sorted(path.name for path in rig.attempt().iterdir()) == [
        "spawn",
        "stderr.log",
        "stdout.log",
        "warden",
    ]


def test_no_order_means_no_warden(rig: Rig) -> None:
    rig.attempt().mkdir()
    rig.start()
    wait_until(rig.heard, what="the runner is there")
    assert rig.wardens() == [rig.runner_pid]


def test_runner_cannot_hear_of_a_record_that_a_directory_blocks(rig: Rig) -> None:
    rig.write_order(["true"])
    (rig.attempt() / "warden").mkdir()
    rig.start()
    _, number, _, detail = rig.hears("spawn-failed")
    assert number == errno.EEXIST
    assert "record" in detail
