"""``sidecar list`` and ``sidecar show``: what there is, for people and programs; only looking."""

from pathlib import Path

import pytest

from sidecar.control.context import Context
from tests.process.cli.calling import SESSION, Cli
from tests.support import callers
from tests.support.serving import Gate


def test_where_there_is_nothing_nothing_is_made(cli: Cli, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    said = cli.ok("list", "--state-dir", str(nowhere))
    assert said.out.split() == ["ID", "STATE", "AGE", "TOOK", "STEPS", "REASON", "NAME"]
    assert said.err == ""
    assert cli.ok("list", "--state-dir", str(nowhere), "--json").document == {"runs": []}
    assert cli.call("show", "abcd", "--state-dir", str(nowhere)).code == 4
    assert not nowhere.exists()


def test_the_active_the_sessions_and_all(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    over = cli.ended("--", "true")
    other = Cli(state_dir=cli.state_dir, cwd=cli.cwd, env={"SIDECAR_SESSION": "other"})
    active = other.launch(gate.wait)

    def listed(*words: str) -> list[str]:
        return cli.ok("list", "-q", *words).out.splitlines()

    assert listed() == [active]
    assert listed("--session") == [over]
    assert listed("--all") == [active, over]
    assert listed("--all", "--limit", "1") == [active]
    assert listed("--state", "complete") == [over]
    assert listed("--state", "running,queued") == [active]
    gate.open()
    cli.wait_state(active, "complete")
    assert listed() == []


def test_a_dismissed_run_is_listed_only_on_request(cli: Cli) -> None:
    run_id = cli.ended("--", "true")
    cli.ok("dismiss", run_id)
    assert cli.ok("list", "--all", "-q").out == ""
    assert cli.ok("list", "--all", "--dismissed", "-q").out.split() == [run_id]
    assert "dismissedAt" in cli.run_of(run_id)
    cli.ok("dismiss", "--undo", run_id)
    assert cli.ok("list", "--all", "-q").out.split() == [run_id]


def test_a_pipe_gets_one_line_of_seven_words_per_run(cli: Cli) -> None:
    run_id = cli.ended("--label", "name", "--", "sh", "-c", "exit 3")
    titles, line = cli.ok("list", "--all").out.splitlines()
    assert len(titles.split()) == len(line.split()) == 7
    assert line.split()[:2] == [run_id, "failed"]
    assert line.split()[-2:] == ["exit-status", "name"]


def test_the_command_line_is_shown_nowhere(cli: Cli) -> None:
    run_id = cli.ended("--env", "TOKEN=hunter2", "--", "sh", "-c", ": hunter2", "hunter2")
    for words in (["list", "--all"], ["list", "--all", "--json"], ["show", run_id],
                  ["show", run_id, "--json"], ["events", run_id]):  # fmt: skip
        assert "hunter2" not in cli.ok(*words).out


def test_nobodys_control_characters_reach_a_terminal(cli: Cli) -> None:
    run_id = cli.ended("--label", "a\x1b[2Jb\x07", "--shell", r"printf '\033[31mred\007'")
    for words in (["list", "--all"], ["show", run_id], ["logs", run_id], ["result", run_id]):
        shown = cli.in_terminal(*words, NO_COLOR="1")
        assert not [c for c in shown if ord(c) < 32 and c != "\n"], shown
    assert "\x1b[31mred\x07" in cli.in_terminal("logs", run_id, "--raw")


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_a_terminal_is_kept_to_its_width(cli: Cli, columns: int) -> None:
    run_id = cli.ended(
        "--label", "a label that goes on and on and on for ever and ever", "--", "false"
    )
    shown = cli.in_terminal("list", "--all", columns=columns, NO_COLOR="1")
    assert all(len(line) <= columns for line in shown.splitlines())
    assert run_id[:13] in shown
    assert "failed" in shown


def test_colours_are_for_terminals(cli: Cli) -> None:
    cli.ended("--", "true")
    assert "\x1b[32mcomplete" in cli.in_terminal("list", "--all")
    assert "\x1b" not in cli.in_terminal("list", "--all", NO_COLOR="1")
    assert "\x1b" not in cli.in_terminal("list", "--all", TERM="dumb")
    assert "\x1b" not in cli.ok("list", "--all").out
    cli.env["FORCE_COLOR"] = "1"
    assert "\x1b[32mcomplete" in cli.ok("list", "--all").out


def test_a_damaged_run_is_told_beside_the_others(cli: Cli) -> None:
    good, bad = cli.ended("--", "true"), cli.ended("--", "true")
    (cli.state_dir / "runs" / bad / "status.json").write_text("{")
    said = cli.ok("list", "--all", "-q")
    assert said.out.split() == [good]
    assert bad in cli.ok("list", "--all").err
    (problem,) = cli.ok("list", "--all", "--json").document["problems"]
    assert problem["code"] == "corrupt"
    assert cli.call("show", bad).code == 1


def lost_run(state_dir: Path) -> tuple[Context, str]:
    """A run whose launcher and runner died before anything was started."""
    context = callers.context(state_dir, session=SESSION)
    made, runner = callers.launched(context)
    runner.vanish()
    return context, made.snapshot.run.run_id


def test_looking_repairs_nothing(cli: Cli) -> None:
    _, run_id = lost_run(cli.state_dir)
    for words in (["list"], ["list", "--all"], ["show", run_id], ["logs", run_id], ["doctor"],
                  ["events", run_id]):  # fmt: skip
        cli.ok(*words)
    assert cli.run_of(run_id)["state"] == "queued"
    assert "nobody leads it" in cli.ok("doctor").out
    cli.ok("stop", run_id)


def test_a_prefix_is_enough_and_one_that_fits_two_is_told_with_both(cli: Cli) -> None:
    first, second = cli.ended("--", "true"), cli.ended("--", "true")
    assert cli.ok("show", second[:13], "--json").document["run"]["runId"] == second
    said = cli.call("show", first[:4])
    assert said.code == 4
    assert first in said.err
    assert second in said.err


def test_a_page_of_one_run_tells_what_happened(cli: Cli) -> None:
    run_id = cli.ended("--label", "name", "--", "sh", "-c", "echo hello; echo oh >&2; exit 3")
    shown = cli.ok("show", run_id).out
    for words in (run_id, "name", "failed (exit-status): the agent exited with 3", "status 3",
                  "nothing is left", "6 B stdout, 3 B stderr", "stdout.log"):  # fmt: skip
        assert words in shown
