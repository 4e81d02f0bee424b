"""How the tidy tests read code: a name is recognised however it was imported."""

import ast

import pytest

from tests.support.tree import modules, tracked_files, uses


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.kill(1, 9)",
        "import os as system\nsystem.kill(1, 9)",
        "from os import kill\nkill(1, 9)",
        "from os import kill as end\nend(1, 9)",
        "def f():\n    import os\n    return os.kill",
    ],
)
def test_a_name_is_found_in_every_spelling(source: str) -> None:
    assert "os.kill" in {name for name, _ in uses(ast.parse(source))}


def test_a_name_of_our_own_is_not_mistaken_for_the_systems() -> None:
    source = "def kill(pid): ...\nkill(1)\nself.kill(1)\n"
    assert "os.kill" not in {name for name, _ in uses(ast.parse(source))}


def test_the_listing_has_this_file_and_no_cache() -> None:
    assert "tests/unit/support/test_tree.py" in tracked_files()
    assert not [path for path in tracked_files() if "__pycache__" in path]
    assert "tests/unit/support/test_tree.py" in {module.path for module in modules()}
