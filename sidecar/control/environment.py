"""What an agent inherits of the environment in which its run was launched.

An agent finds, each over the one before:

1. the environment of whoever launches (the server, or the terminal of the command line), without
   the variables below;
2. the launch's ``env``, then the step's: what is asked for always wins, even a name below;
3. ``SIDECAR_RUN_ID``, ``SIDECAR_SESSION`` and ``SIDECAR_STATE_DIR`` of its own run
   (``drivers.base.environment``).

What does not go on:

* **Marks of a surrounding agent session** (``SESSION_MARKS``).  Agents refuse to start, or take
  over the conversation and the sandbox of the one around them, when they find these.  Only marks
  go: an agent's configuration and keys (``ANTHROPIC_API_KEY``, ``CLAUDE_CONFIG_DIR``,
  ``CLAUDE_CODE_USE_BEDROCK``, ``CODEX_HOME``, ``OPENCODE_CONFIG``, ...) are the user's own.
  A variable of such an agent (``AGENT_PREFIXES``) that names a conversation (``_SESSION_ID``,
  ``_THREAD_ID``, ``_TURN_ID``, ``_TRACE_ID`` at its end) is a mark although it is not listed:
  agents add them faster than lists grow.
* **What was meant for the launching process alone** (``PROCESS_OWN``): its working directory,
  sockets and descriptors that it was started with and that an agent does not have.
* Every variable that begins with ``SIDECAR_``.

This module must never read the environment of the process: it is given as a value.
"""

from collections.abc import Iterable

SESSION_MARKS = frozenset({
    # Claude Code: set for every command it runs, and by its SDK for the agent itself
    "CLAUDECODE",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_ACTION",
    "CLAUDE_CODE_AGENT_ID",
    "CLAUDE_CODE_AGENT_NAME",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_IS_COWORK",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_PLAN_MODE_REQUIRED",
    "CLAUDE_CODE_REMOTE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_TASK_LIST_ID",
    "CLAUDE_CODE_TEAM_NAME",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PARENT_CLI",
    "CLAUDE_PROJECT_DIR",
    # Codex
    "CODEX_CI",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_BY_BUN",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_PACKAGE_ROOT",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_SHELL",
    "CODEX_THREAD_ID",
    # Gemini CLI and its descendants
    "GEMINI_CLI",
    "GEMINI_CLI_IDE_AUTH_TOKEN",
    "GEMINI_CLI_IDE_PID",
    "GEMINI_CLI_IDE_SERVER_PORT",
    "GEMINI_CLI_IDE_WORKSPACE_PATH",
    "QWEN_CODE",
    "QWEN_CODE_IDE_SERVER_PORT",
    "QWEN_CODE_IDE_WORKSPACE_PATH",
    # OpenCode
    "OPENCODE",
    "OPENCODE_CALLER",
    "OPENCODE_CLIENT",
    "OPENCODE_PID",
    "OPENCODE_PROCESS_ROLE",
    "OPENCODE_RUN_ID",
    # others, and a convention that several share
    "AI_AGENT",
    "AMP_CURRENT_THREAD_ID",
    "AUGMENT_AGENT",
    "CLINE_ACTIVE",
    "COPILOT_CLI",
    "CRUSH",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "GOOSE_TERMINAL",
    "PI_CODING_AGENT",
})  # fmt: skip

AGENT_PREFIXES = (
    "AMP_",
    "CLAUDE_",
    "CODEX_",
    "COPILOT_",
    "CURSOR_",
    "GEMINI_",
    "GOOSE_",
    "OPENCODE_",
    "PI_",
    "QWEN_",
)
_CONVERSATION = ("_SESSION_ID", "_THREAD_ID", "_TURN_ID", "_TRACE_ID")

PROCESS_OWN = frozenset({
    # the shell's notes about the launching process; an agent starts elsewhere
    "PWD",
    "OLDPWD",
    "_",
    # systemd: sockets handed over, and where a service reports; sd_listen_fds(3), sd_notify(3)
    "LISTEN_FDNAMES",
    "LISTEN_FDS",
    "LISTEN_PID",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    # node: a descriptor that is not there ends a node program when it starts
    "NODE_CHANNEL_FD",
    "NODE_CHANNEL_SERIALIZATION_MODE",
    "NODE_UNIQUE_ID",
})  # fmt: skip

OWN_PREFIX = "SIDECAR_"


def inherited(base_env: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """What of ``base_env`` an agent inherits (see above).  What is no variable is left out."""
    return tuple((name, value) for name, value in base_env if name and not _stays_here(name))


def merged(
    base_env: Iterable[tuple[str, str]], asked_env: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """The environment of a launch: what is inherited, and over it what was asked for."""
    env = dict(inherited(base_env))
    env.update(asked_env)
    return tuple(env.items())


def _stays_here(name: str) -> bool:
    return (
        name in SESSION_MARKS
        or name in PROCESS_OWN
        or name.startswith(OWN_PREFIX)
        or (name.startswith(AGENT_PREFIXES) and name.endswith(_CONVERSATION))
    )
