"""The program as such: what it imports, how it fails, how it completes words."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.cli.calling import Cli

NEVER = {"asyncio", "attr", "attrs", "cattrs", "lsprotocol", "pygls", "subprocess"}
ONLY_FOR_PEOPLE_OR_PROGRAMS = {"msgspec", "rich", "shtab"}
IMPORTED = (
    "import sys; from sidecar.__main__ import main; code = main(); "
    "print(*sys.modules, file=sys.stderr); sys.exit(code)"
)


def imported_by(cli: Cli, *words: str) -> set[str]:
    """The modules that a call imports."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *words],
        cwd=cli.cwd,
        env=cli.environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=40,
    )
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize(
    "words",
    [["list"], ["launch", "--", "true"], ["doctor"], ["agents"]],
    ids=lambda words: words[0],
)
def test_a_plain_call_imports_little(cli: Cli, words: list[str]) -> None:
    modules = imported_by(cli, *words)
    assert not modules & NEVER
    assert not modules & ONLY_FOR_PEOPLE_OR_PROGRAMS


def test_documents_and_colours_cost_only_those_who_want_them(cli: Cli) -> None:
    modules = imported_by(cli, "list", "--json")
    assert not modules & (NEVER | {"rich"})
    assert "msgspec" in modules


@pytest.mark.parametrize(
    "words",
    [["nonsense"], ["show"], ["launch", "ls"], ["list", "--state", "odd"], ["show", "../etc"]],
    ids=" ".join,
)
def test_wrong_usage_is_one_line_and_a_hint(cli: Cli, words: list[str]) -> None:
    said = cli.call(*words)
    assert (said.code, said.out) == (2, "")
    first, second = said.err.splitlines()
    assert first.startswith("sidecar: ")
    assert second.startswith("  hint: ")
    said = cli.call(*words, "--json")
    assert json.loads(said.err)["error"]["code"] == "invalid-params"


def test_a_state_directory_that_cannot_be_is_one_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a directory")
    said = cli.call("launch", "--state-dir", str(file), "--", "true")
    assert said.code == 1
    assert said.err.startswith("sidecar: ")
    said = cli.call("launch", "--json", "--state-dir", str(file), "--", "true")
    assert json.loads(said.err)["error"]["code"] == "storage"


def test_a_directory_that_is_gone_is_told(cli: Cli, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    cli.cwd = gone
    program = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *cli.argv("launch", "--", "true")],
        cwd=gone,
        env=cli.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=40,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("sidecar: the working directory does not exist any more")


def test_a_reader_that_wants_no_more_is_no_trouble(cli: Cli) -> None:
    run_id = cli.ended("--", "seq", "1", "300000")
    for words in (["logs", run_id], ["events", run_id], ["list", "--all"], ["--help"]):
        with cli.started(*words) as call:
            assert call.stdout is not None
            call.stdout.close()
            assert call.stderr is not None
            assert call.stderr.read() == b""
            assert call.wait() in {0, 141}


@pytest.mark.parametrize("words", [["list"], ["launch", "--", "true"], ["--help"]], ids=" ".join)
def test_output_that_the_disk_refuses_is_told(cli: Cli, words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full, cli.started(*words, stdout=full.fileno()) as call:
        _, err = call.communicate(timeout=40)
    assert call.returncode == 1
    assert err.startswith(b"sidecar: the output cannot be written: ")
    assert b"Traceback" not in err
    for run_id in cli.ok("list", "-q").out.split():
        cli.wait_state(run_id, "complete")


def test_closed_streams_are_no_trouble(cli: Cli) -> None:
    closing = f"exec {' '.join(cli.argv('launch', '--wait', '--', 'true'))} <&- >&- 2>&-"
    done = subprocess.run(
        ["sh", "-c", closing], cwd=cli.cwd, env=cli.environ, check=False, timeout=40
    )
    assert done.returncode == 0
    (run,) = cli.ok("list", "--all", "--json").document["runs"]
    assert run["state"] == "complete"


def test_the_version_is_said(cli: Cli) -> None:
    assert cli.ok("--version").out == cli.ok("version").out
    assert set(cli.ok("version", "--json").document) == {"version"}


def test_a_shell_completes_commands_and_ids(cli: Cli, tmp_path: Path) -> None:
    run_id = cli.ended("--", "true")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "sidecar").write_text(f'#!/bin/sh\nexec {sys.executable} -m sidecar "$@"\n')
    (programs / "sidecar").chmod(0o755)
    cli.env["PATH"] = f"{programs}:{cli.environ['PATH']}"
    script = cli.ok("completion", "bash").out

    def completed(*words: str) -> list[str]:
        typed = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
        asked = f"{script}\n{typed}; _shtab_sidecar; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(
            ["bash", "-c", asked],
            env=cli.environ,
            capture_output=True,
            text=True,
            check=True,
            timeout=40,
        )
        return done.stdout.split()

    assert completed("sidecar", "la") == ["launch"]
    assert "--grace" in completed("sidecar", "stop", "--gr")
    assert completed("sidecar", "show", run_id[:8]) == [run_id]
