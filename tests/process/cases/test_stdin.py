"""What an agent finds on descriptor 0: nobody, or its prompt and then nobody; never us."""

import os
from pathlib import Path

from tests.support.each import each
from tests.support.serving import SidecarClient

ASKS = (
    "printf 'continue? '; if read -r answer; then echo \"got:$answer\"; else echo eof; exit 2; fi"
)


def test_without_a_prompt_there_is_an_end_at_once(client: SidecarClient) -> None:
    run = client.run_to_end("cat; echo go")
    assert (run["state"], client.text(run["runId"])) == ("complete", "go\n")


def test_a_question_that_nobody_answers_is_no_endless_wait(client: SidecarClient) -> None:
    run = client.run_to_end(ASKS)
    assert (run["state"], run["steps"][0]["exitCode"]) == ("failed", 2)
    assert client.text(run["runId"]) == "continue? eof\n"


@each("prompt", ["yes\n", "yes", "yes\nand more\n"])
def test_a_prompt_is_the_answer(client: SidecarClient, prompt: str) -> None:
    run = client.run_to_end(f"{ASKS}; cat >/dev/null", step={"prompt": prompt})
    output = client.text(run["runId"])
    # A line without its end is data all the same, although read says that it met the end.
    assert output in ("continue? got:yes\n", "continue? eof\n")
    assert (prompt == "yes") == (output == "continue? eof\n")


@each("prompt", ["", "\n", "caf\u00e9 \U0001f680\n", "a\0b", "x" * 1_000_000])
def test_a_prompt_arrives_byte_for_byte_and_then_it_ends(
    client: SidecarClient, prompt: str
) -> None:
    run = client.run_to_end("cat; echo; echo end", step={"prompt": prompt})
    assert client.text(run["runId"], raw=True) == prompt + "\nend\n"


def test_a_child_that_does_not_read_its_prompt_ends_all_the_same(client: SidecarClient) -> None:
    run = client.run_to_end("echo done; exit 3", step={"prompt": "x" * 5_000_000})
    assert (run["state"], run["steps"][0]["exitCode"]) == ("failed", 3)


def test_a_child_that_reads_half_of_it(client: SidecarClient) -> None:
    run = client.run_to_end("head -c 10; exit 0", step={"prompt": "0123456789" * 100_000})
    assert (run["state"], client.text(run["runId"])) == ("complete", "0123456789")


def test_it_is_not_the_protocols_pipe(client: SidecarClient) -> None:
    run = client.run_to_end("readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2")
    theirs = client.text(run["runId"]).splitlines()
    assert client.proc.stdin is not None
    assert client.proc.stdout is not None
    pipes = (client.proc.stdin.fileno(), client.proc.stdout.fileno())
    ours = [os.readlink(f"/proc/self/fd/{number}") for number in pipes]  # noqa: PTH115
    assert theirs[0] == "/dev/null"
    assert set(theirs).isdisjoint(ours)


def test_the_prompt_lies_on_disk_no_longer_than_it_is_needed(
    client: SidecarClient, state_dir: Path
) -> None:
    run = client.run_to_end("cat >/dev/null", step={"prompt": "private"})
    attempt = state_dir / "runs" / run["runId"] / "steps" / "0" / "1"
    assert {path.name for path in attempt.iterdir()}.isdisjoint({"stdin", "spawn"})
