"""The house rules that no linter knows, one promise per test; each failure names file and line.

Exceptions are listed here, next to their reason, and nowhere else. An exception that is no longer
needed fails too: a list that only grows stops being read.
"""

import ast
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tree import ROOT, Module, modules, texts, tracked_files, uses

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# path -> why it may be longer.
LONG_FILES: dict[str, str] = {}

# path::name -> why it may be longer.
LONG_FUNCTIONS: dict[str, str] = {}

# Programs that tests start as agents; an agent that takes its time has to sleep.
CHILD_SCRIPTS = "tests/support/children/"
MAY_SLEEP = ("tests/support/wait.py", CHILD_SCRIPTS)

# Folder and module names that mean "anything": each invites the next thing that has no home.
NAMES_FOR_ANYTHING = {"common", "helpers", "misc", "shared", "types", "util", "utils"}

# What only the operating system's package may do, in any spelling of an import.
PROCESS_CALLS = {
    "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.popen", "os.posix_spawn",
    "os.posix_spawnp", "os.system", "posix.fork", "posix.kill", "posix.killpg",
    "posix.posix_spawn", "signal.pidfd_send_signal", "signal.raise_signal",
    "_signal.pidfd_send_signal", "_signal.raise_signal",
    "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell",
}  # fmt: skip

# The environment is read once, at the top; everybody else gets values.
ENVIRONMENT = {
    "os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv",
    "posix.environ", "posix.putenv", "posix.unsetenv",
}  # fmt: skip
ENVIRONMENT_DOORS = {
    "sidecar/settings.py": "it is the door",
    "sidecar/__main__.py": "hands it to the face that it chooses",
    "sidecar/procs/keeper.py": "hands it on whole to the runner's successor, without a look inside",
}

# The runner and everything below it start in milliseconds because of what is not here.
TOO_HEAVY_FOR_THE_RUNNER = (
    "asyncio", "attr", "attrs", "logging", "msgspec", "pygls", "subprocess",
    "typing_extensions",
)  # fmt: skip

# Split, so that the rule does not find itself.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~}-])/(?:wo" r"rk|ro" r"ot)/")
OUTSIDE_PATH = re.compile(r"\.\./sha" r"red\b|(?<![\w./-])sha" r"red/(?!exclusive)")
PACKAGE_HOST = re.compile(
    r"py"
    r"pi\.org|python"
    r"hosted\.org|npm"
    r"js\.(?:org|com)|yarn"
    r"pkg\.com|deb\.deb"
    r"ian\.org"
)


def in_package() -> Iterator[Module]:
    """Every module of the package that is shipped."""
    return (module for module in modules() if module.path.startswith("sidecar/"))


def in_tests() -> Iterator[Module]:
    """Every module of the tests."""
    return (module for module in modules() if module.path.startswith("tests/"))


def lines_matching(pattern: re.Pattern[str]) -> list[str]:
    """``path:line: text`` of each line under version control that has a match."""
    return [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_every_module_says_what_it_owns() -> None:
    too_thin = []
    for module in modules():
        docstring = ast.get_docstring(module.tree) or ""
        least = 60 if module.path.startswith("sidecar/") and not module.is_package else 25
        if len(docstring) < least:
            too_thin.append(f"{module.path}: {len(docstring)} characters, at least {least} wanted")
    assert too_thin == []


def test_no_file_is_too_long_to_read() -> None:
    lengths = {module.path: len(module.text.splitlines()) for module in modules()}
    too_long = {path: n for path, n in lengths.items() if n > MAX_FILE_LINES}
    assert too_long.keys() == LONG_FILES.keys(), too_long


def test_no_function_is_too_long_to_read() -> None:
    lengths = {
        f"{module.path}::{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    too_long = {name: n for name, n in lengths.items() if n > MAX_FUNCTION_LINES}
    assert too_long.keys() == LONG_FUNCTIONS.keys(), too_long


def test_packages_are_empty_but_for_what_they_are() -> None:
    # A name lives in one module: re-exports hide which, and make every import an import of all.
    offenders = []
    for module in modules():
        if module.is_package:
            rest = [node for node in module.tree.body if not _is_docstring_or_version(node)]
            offenders += [f"{module.path}:{node.lineno}" for node in rest]
    assert offenders == []


def test_no_name_means_anything() -> None:
    offenders = [
        path
        for path in tracked_files()
        if NAMES_FOR_ANYTHING & {part.removesuffix(".py") for part in path.split("/")}
    ]
    assert offenders == []


def test_only_procs_starts_and_signals_processes() -> None:
    offenders = [
        f"{module.path}:{line}: {name}"
        for module in in_package()
        if not module.path.startswith("sidecar/procs/")
        for name, line in uses(module.tree)
        if name in PROCESS_CALLS
    ]
    assert offenders == []


def test_only_settings_read_the_environment() -> None:
    readers = {
        module.path
        for module in in_package()
        for name, _ in uses(module.tree)
        if name in ENVIRONMENT
    }
    assert readers == ENVIRONMENT_DOORS.keys()


def test_tests_wait_for_conditions_not_for_time() -> None:
    offenders = [
        f"{module.path}:{line}: {name}"
        for module in in_tests()
        if not module.path.startswith(MAY_SLEEP)
        for name, line in uses(module.tree)
        if name in {"time.sleep", "asyncio.sleep"} and not _is_sleep_zero(module, line)
    ]
    assert offenders == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    # A promise that is not checked here is checked nowhere, and nobody reads the list of skips.
    skipping = {
        "pytest.skip", "pytest.xfail", "pytest.importorskip", "mark.skip", "mark.skipif",
        "mark.xfail", "unittest.skip", "unittest.SkipTest",
    }  # fmt: skip
    offenders = []
    for module in in_tests():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute):
                owner = node.value.attr if isinstance(node.value, ast.Attribute) else None
                if isinstance(node.value, ast.Name):
                    owner = node.value.id
                if f"{owner}.{node.attr}" in skipping:
                    offenders.append(f"{module.path}:{node.lineno}: {owner}.{node.attr}")
    assert offenders == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (UNFINISHED, "what is not done belongs into an issue"),
        (MACHINE_PATH, "the path of one machine means nothing on the next"),
        (OUTSIDE_PATH, "a clone has only what is in it"),
        (PACKAGE_HOST, "where packages come from is the business of whoever installs"),
    ],
    ids=["unfinished", "machine-path", "outside-path", "package-host"],
)
def test_no_line_speaks_of_what_is_not_here(pattern: re.Pattern[str], why: str) -> None:
    assert lines_matching(pattern) == [], why


def test_the_storeys_hold() -> None:
    lint = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert lint.returncode == 0, lint.stdout + lint.stderr


def test_the_runner_imports_nothing_heavy() -> None:
    # Started as the boot path starts it: no site, no environment, the paths handed over.
    paths = [str(ROOT), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    program = (
        "import sys\n"
        f"sys.path += {paths!r}\n"
        "import sidecar.runner.main\n"
        f"print(*sorted(set(sys.modules) & set({TOO_HEAVY_FOR_THE_RUNNER!r})))\n"
    )
    imported = subprocess.run(
        [sys.executable, "-I", "-S", "-E", "-c", program],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (imported.returncode, imported.stdout.split(), imported.stderr) == (0, [], "")


def _is_docstring_or_version(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(targets=[ast.Name(id="__version__")]):
            return True
        case _:
            return False


def _is_sleep_zero(module: Module, line: int) -> bool:
    # Letting the event loop turn once is not waiting for time to pass.
    return "asyncio.sleep(0)" in module.text.splitlines()[line - 1]
