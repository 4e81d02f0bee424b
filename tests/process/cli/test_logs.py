"""``sidecar logs``, ``events`` and ``result``: what was printed, what happened, what came of it."""

import json
from pathlib import Path

import pytest

from tests.process.cli.calling import SESSION, Cli, read_line
from tests.support import callers
from tests.support.serving import Gate


def test_either_log_or_both_each_to_its_own(cli: Cli) -> None:
    run_id = cli.ended("--shell", "echo out; echo err >&2")
    assert cli.ok("logs", run_id).out == "out\n"
    assert cli.ok("logs", run_id, "--stderr").out == "err\n"
    both = cli.ok("logs", run_id, "--both")
    assert (both.out, both.err) == ("out\n", "err\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--tail", "2"], "99999\n100000\n"),
        (["--tail", "0"], ""),
        (["--offset", "-7"], "100000\n"),
        (["--offset", "588888"], "100000\n"),
        (["--offset", "9999999"], ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_log_may_be_read_from_anywhere(cli: Cli, words: list[str], expected: str) -> None:
    run_id = cli.ended("--", "seq", "1", "100000")
    assert cli.ok("logs", run_id, *words).out == expected


def test_more_lines_than_there_are_are_all(cli: Cli) -> None:
    run_id = cli.ended("--shell", "printf 'one\ntwo'")
    assert cli.ok("logs", run_id, "--tail", "9").out == "one\ntwo"
    assert cli.ok("logs", run_id, "--tail", "1").out == "two"


def test_a_log_is_followed_to_the_end_of_its_run(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run_id = cli.launch(f"echo early; {gate.wait}; echo late")
    with cli.started("logs", "-f", run_id) as call:
        assert read_line(call) == b"early\n"
        gate.open()
        out, err = call.communicate(timeout=40)
    assert (call.returncode, out, err) == (0, b"late\n", b"")


def test_a_page_for_programs_says_where_the_next_begins(cli: Cli) -> None:
    run_id = cli.ended("--shell", "printf 'caf\\303\\251'")
    page = cli.ok("logs", run_id, "--json", "--offset", "3").document
    expected = {"offset": 3, "nextOffset": 5, "eof": True, "truncated": False}
    assert page == {"text": "\u00e9", **expected}
    assert cli.call("logs", run_id, "--json", "--follow").code == 2


def test_what_happened_is_told_in_order(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run_id = cli.launch(gate.wait)
    cli.wait_state(run_id, "running")
    with cli.started("events", "-f", "--json", run_id) as call:
        assert json.loads(read_line(call))["kind"] == "run-launched"
        gate.open()
        out, _ = call.communicate(timeout=40)
    assert json.loads(out.splitlines()[-1])["kind"] == "result-stored"
    whole = cli.ok("events", run_id, "--json").document
    assert [event["seq"] for event in whole["events"]] == list(range(1, whole["lastSeq"] + 1))
    lines = cli.ok("events", run_id).out.splitlines()
    assert len(lines) == whole["lastSeq"]
    assert cli.ok("events", run_id, "--after", str(whole["lastSeq"] - 1)).out.splitlines() == [
        lines[-1]
    ]


def test_the_answer_is_all_that_a_result_prints(cli: Cli) -> None:
    run_id = cli.ended("--shell", "echo '42'; echo thinking >&2")
    assert cli.ok("result", run_id).out == "42\n"
    result = cli.ok("result", run_id, "--json").document
    assert (result["runId"], result["steps"][0]["answer"]) == (run_id, "42\n")


def test_there_is_no_result_before_the_end(cli: Cli) -> None:
    run_id = cli.launch("sleep 60")
    assert cli.call("result", run_id).code == 5
    cli.ok("stop", run_id)


def test_following_a_run_that_nobody_leads_has_it_adopted(cli: Cli) -> None:
    context = callers.context(cli.state_dir, session=SESSION)
    made, runner = callers.launched(context, shell="echo late")
    runner.vanish()
    assert cli.ok("logs", "-f", made.snapshot.run.run_id).out == "late\n"
