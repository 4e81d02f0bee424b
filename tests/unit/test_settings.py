"""What the environment says: state directory, session, and what is handed to whom."""

from pathlib import Path

import pytest

from sidecar import settings
from sidecar.core import ids
from sidecar.core.errors import InvalidParams

HOME = {"HOME": "/home/ann"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({**HOME, "SIDECAR_STATE_DIR": "/s", "XDG_STATE_HOME": "/x"}, "/s"),
        ({**HOME, "XDG_STATE_HOME": "/x"}, "/x/sidecar"),
        (HOME, "/home/ann/.local/state/sidecar"),
        ({**HOME, "SIDECAR_STATE_DIR": "", "XDG_STATE_HOME": ""}, "/home/ann/.local/state/sidecar"),
        # XDG base directory specification: relative paths are invalid and to be ignored.
        ({**HOME, "XDG_STATE_HOME": "rel"}, "/home/ann/.local/state/sidecar"),
        ({"SIDECAR_STATE_DIR": "/s/../t/"}, "/t"),
    ],
)
def test_state_dir(environ: dict[str, str], expected: str) -> None:
    assert settings.from_environment(environ).state_dir == expected


def test_a_relative_state_dir_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The agent inherits it and works elsewhere.
    monkeypatch.chdir(tmp_path)
    found = settings.from_environment({"SIDECAR_STATE_DIR": "s"})
    assert found.state_dir == str(tmp_path / "s")


def test_what_the_caller_was_told_wins() -> None:
    found = settings.from_environment({"SIDECAR_STATE_DIR": "/s"}, state_dir="/told")
    assert found.state_dir == "/told"
    assert settings.from_environment({}, state_dir="/told").state_dir == "/told"


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "here"}])
def test_without_a_home_it_says_what_to_set(environ: dict[str, str]) -> None:
    with pytest.raises(InvalidParams) as refused:
        settings.from_environment(environ)
    assert refused.value.field == "stateDir"
    assert "SIDECAR_STATE_DIR" in (refused.value.hint or "")


def test_session_and_parent_of_a_process_inside_a_run() -> None:
    found = settings.from_environment(
        {**HOME, "SIDECAR_SESSION": "mine", "SIDECAR_RUN_ID": "whatever"}
    )
    assert (found.session_id, found.parent_run_id) == ("mine", "whatever")
    assert settings.session_of(found, "/nowhere") == "mine"


def test_a_session_that_is_no_name_is_refused() -> None:
    with pytest.raises(InvalidParams) as refused:
        settings.from_environment({**HOME, "SIDECAR_SESSION": "a\nb"})
    assert refused.value.field == "SIDECAR_SESSION"


def test_runners_get_no_keys() -> None:
    environ = {
        **HOME,
        "PATH": "/bin",
        "LC_ALL": "C",
        "ANTHROPIC_API_KEY": "secret",
        "CLAUDECODE": "",
    }
    found = settings.from_environment(environ)
    assert found.runner_env == {**HOME, "PATH": "/bin", "LC_ALL": "C"}
    assert dict(found.base_env) == environ
    assert "secret" not in repr(found)


def test_the_session_of_a_terminal_is_its_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "src" / "deep").mkdir(parents=True)
    (project / ".git").write_text("gitdir: elsewhere\n")  # a worktree's mark is a file
    found = settings.from_environment(HOME)
    session = settings.session_of(found, str(project / "src" / "deep"))
    assert session == ids.session_of_folder(str(project.resolve()))
    assert session == settings.session_of(found, str(project))


def test_a_link_into_a_project_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "project" / ".jj").mkdir(parents=True)
    (tmp_path / "project" / "src").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project" / "src")
    assert settings.project_root(str(tmp_path / "link")) == str((tmp_path / "project").resolve())


def test_without_a_project_it_is_the_folder_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "PROJECT_MARKS", (".no-such-mark",))
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    assert settings.project_root(str(folder)) == str(folder.resolve())
