"""The grammar: what is understood, and what is refused with a reason."""

import importlib

import pytest

from sidecar.cli import arguments, exits
from sidecar.cli.asking import asked
from sidecar.core.errors import InvalidParams


def test_everything_behind_the_dashes_is_the_agents() -> None:
    words = arguments.read(["launch", "--label", "x", "--", "git", "log", "--", "--json", "-h"])
    assert words.command_line == ("git", "log", "--", "--json", "-h")
    assert words.label == "x"
    assert not words.json


def test_nothing_behind_the_dashes_is_an_empty_command_line() -> None:
    assert arguments.read(["launch", "--"]).command_line == ()


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["show"],
        ["stop"],
        ["launch", "ls"],
        ["list", "--"],
        ["list", "--all", "--session"],
        ["list", "--stat", "running"],
        ["list", "--limit", "many"],
        ["logs", "abcd", "--stderr", "--both"],
        ["logs", "abcd", "--offset", "1", "--tail", "2"],
        ["stop", "abcd", "--force", "--grace", "3s"],
        ["launch", "--prompt", "a", "--prompt-file", "b", "--", "ls"],
        ["completion", "cmd"],
    ],
    ids=" ".join,
)
def test_what_is_not_understood_is_refused_with_a_hint(argv: list[str]) -> None:
    with pytest.raises(InvalidParams) as refused:
        arguments.read(argv)
    assert refused.value.hint is not None
    assert exits.of_error(refused.value) == exits.USAGE


def test_a_command_without_its_dashes_is_told_where_it_goes() -> None:
    with pytest.raises(InvalidParams) as refused:
        arguments.read(["launch", "--wait", "make", "-j"])
    assert refused.value.hint == "the command goes after --: sidecar launch -- make ..."
    with pytest.raises(InvalidParams) as refused:
        arguments.read(["launch", "--wiat", "--", "make"])
    assert refused.value.message == "not understood: '--wiat'"


def test_one_command_is_built_as_in_the_whole() -> None:
    for name in arguments.COMMANDS:
        alone = arguments.parser(name).format_usage()
        assert alone.startswith("usage: sidecar")
        assert name in arguments.parser().format_help()


@pytest.mark.parametrize("name", arguments.COMMANDS)
def test_every_command_is_a_module_that_runs(name: str) -> None:
    module = importlib.import_module(f"sidecar.cli.commands.{name}")
    assert callable(module.run)


@pytest.mark.parametrize("name", [[], *([name] for name in arguments.COMMANDS)], ids=str)
def test_help_shows_the_exit_codes(name: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        arguments.read([*name, "--help"])
    shown = capsys.readouterr().out
    assert left.value.code == 0
    assert "128+S" in shown


def test_every_command_is_described() -> None:
    for summary, _ in arguments.COMMANDS.values():
        assert summary[0].islower()
        assert not summary.endswith(".")


def test_a_launch_is_what_was_said() -> None:
    words = arguments.read([
        "launch", "--label", "name", "--timeout", "1m30s", "--token", "t",
        "--env", "A=1=2", "--env", "B=", "--", "sh", "-c", "exit",
    ])  # fmt: skip
    launch = asked(words, cwd="/here", prompt="say")
    (step,) = launch.steps
    assert (step.agent, step.command, step.shell, step.prompt) == (
        "command", ("sh", "-c", "exit"), None, "say",
    )  # fmt: skip
    assert (launch.label, launch.cwd, launch.timeout_ms, launch.client_token) == (
        "name", "/here", 90_000, "t",
    )  # fmt: skip
    assert launch.env == (("A", "1=2"), ("B", ""))


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (["launch"], "step.command"),
        (["launch", "--shell", "ls", "--", "ls"], "step.command"),
        (["launch", "--env", "A", "--", "ls"], "env"),
        (["launch", "--env", "=secret", "--", "ls"], "env"),
        (["launch", "--timeout", "30", "--", "ls"], "timeoutMs"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_launch_that_cannot_be_meant_is_refused(argv: list[str], field: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        asked(arguments.read(argv), cwd="/", prompt=None)
    assert refused.value.field == field
    assert "secret" not in refused.value.message
