"""What an agent inherits, and what stays with the process that launched it."""

import pytest

from sidecar.control import environment


def inherited(**variables: str) -> set[str]:
    """The names that go on."""
    return {name for name, _ in environment.inherited(variables.items())}


@pytest.mark.parametrize(
    "name",
    [
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SSE_PORT",
        "CODEX_THREAD_ID",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "GEMINI_CLI",
        "OPENCODE",
        "CURSOR_AGENT",
        # not listed, but a conversation by its name
        "CLAUDE_CODE_PARENT_SESSION_ID",
        "OPENCODE_SESSION_ID",
        "CODEX_TURN_ID",
    ],
)
def test_marks_of_a_surrounding_session_stay(name: str) -> None:
    assert inherited(**{name: "1", "PATH": "/bin"}) == {"PATH"}


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        "CODEX_HOME",
        "CODEX_API_KEY",
        "GEMINI_API_KEY",
        "GEMINI_CLI_TRUST_WORKSPACE",
        "OPENCODE_CONFIG",
        "OPENAI_API_KEY",
        "PI_CODING_AGENT_DIR",
        "COPILOT_HOME",
        "XDG_SESSION_ID",
        "VIRTUAL_ENV",
        "PYTHONPATH",
        "LD_PRELOAD",
    ],
)
def test_keys_and_configuration_go_on(name: str) -> None:
    assert inherited(**{name: ""}) == {name}


@pytest.mark.parametrize(
    "name", ["PWD", "OLDPWD", "NOTIFY_SOCKET", "LISTEN_FDS", "NODE_CHANNEL_FD", "SIDECAR_ANYTHING"]
)
def test_what_was_meant_for_the_launching_process_stays(name: str) -> None:
    assert inherited(**{name: "1"}) == set()


def test_what_is_asked_for_wins_even_over_the_list() -> None:
    merged = dict(environment.merged([("CLAUDECODE", "1"), ("A", "1")], [("CLAUDECODE", "2")]))
    assert merged == {"CLAUDECODE": "2", "A": "1"}
    assert dict(environment.merged([("A", "1")], [("A", "2")])) == {"A": "2"}


def test_a_name_that_is_none_is_left_out() -> None:
    assert environment.inherited([("", "x"), ("A", "1")]) == (("A", "1"),)
