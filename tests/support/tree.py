"""The project's own files, as the tidy tests look at them: read once, parsed once."""

import ast
import functools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Python file: its path relative to the root, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether this is an ``__init__.py``."""
        return self.path.endswith("__init__.py")


@functools.cache
def tracked_files() -> tuple[str, ...]:
    """Every file that is, or is about to be, under version control; relative to the root.

    A file not yet added counts too, or a rule would be learned of one commit late.
    """
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    names = (name.decode() for name in listing.stdout.split(b"\0") if name)
    return tuple(sorted(name for name in names if (ROOT / name).is_file()))


@functools.cache
def modules() -> tuple[Module, ...]:
    """Every Python file under version control."""
    return tuple(_read(path) for path in tracked_files() if path.endswith(".py"))


def texts() -> Iterator[tuple[str, str]]:
    """Every file that is text, with its path; recorded data is not ours to judge."""
    for path in tracked_files():
        if path.startswith("tests/data/"):
            continue
        content = (ROOT / path).read_bytes()
        if b"\0" not in content:
            yield path, content.decode(errors="replace")


def uses(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Each dotted name that a module uses, in full whatever the import, with its line."""
    meaning: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            meaning |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                meaning[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = meaning.get(node.value.id, node.value.id)
            yield f"{owner}.{node.attr}", node.lineno
        elif isinstance(node, ast.Name) and node.id in meaning:
            yield meaning[node.id], node.lineno


def _read(path: str) -> Module:
    text = (ROOT / path).read_text()
    return Module(path=path, text=text, tree=ast.parse(text, path))
