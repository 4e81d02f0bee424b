"""The state directory is private, or it is refused with a reason before anything exists."""

import os
import stat
from pathlib import Path

import pytest

from sidecar.core.errors import NotFound, StorageError
from sidecar.store import index, markers, staging, tokens
from sidecar.store.layout import Layout, open_state_dir
from sidecar.store.rundir import RunDir
from sidecar.store.scan import ActiveScan
from tests.support import samples

PARTS = ["active", "doorbells", "runs", "staging", "tokens"]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def refusal(path: Path | str) -> StorageError:
    with pytest.raises(StorageError) as caught:
        open_state_dir(str(path))
    return caught.value


@pytest.fixture(params=[0o000, 0o022, 0o277, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> object:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_everything_is_private_whatever_the_umask(tmp_path: Path) -> None:
    state = tmp_path / "some" / "where" / "state"
    layout = open_state_dir(str(state))
    assert layout.state_dir == str(state)
    made = [state.parent.parent, state.parent, state, *state.iterdir()]
    assert sorted(path.name for path in state.iterdir()) == PARTS
    assert {mode_of(path) for path in made} == {0o700}


def test_opening_twice_changes_nothing(tmp_path: Path) -> None:
    first = open_state_dir(str(tmp_path / "state"))
    assert open_state_dir(str(tmp_path / "state")) == first


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_state_dir("state").state_dir == str(tmp_path / "state")


def test_a_directory_of_ours_that_others_can_only_read_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "state" / "runs").mkdir(parents=True)
    (tmp_path / "state").chmod(0o755)
    (tmp_path / "state" / "runs").chmod(0o755)
    open_state_dir(str(tmp_path / "state"))
    assert mode_of(tmp_path / "state") == 0o700
    assert mode_of(tmp_path / "state" / "runs") == 0o700


@pytest.mark.parametrize("part", ["", *PARTS])
@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702, 0o1777], ids=oct)
def test_a_directory_that_others_can_write_to_is_refused_and_not_repaired(
    tmp_path: Path, part: str, mode: int
) -> None:
    # What is in it may have been planted; only its owner can know.
    open_state_dir(str(tmp_path / "state"))
    place = tmp_path / "state" / part
    place.chmod(mode)
    exc = refusal(tmp_path / "state")
    assert exc.errno_name == "EPERM"
    assert exc.message.endswith(str(place).rstrip("/"))
    assert exc.hint is not None
    assert mode_of(place) == mode


@pytest.mark.parametrize("part", ["", *PARTS])
def test_a_link_is_refused_and_not_followed(tmp_path: Path, part: str) -> None:
    open_state_dir(str(tmp_path / "state"))
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "state" / part).rename(elsewhere)
    elsewhere.chmod(0o755)
    (tmp_path / "state" / part).symlink_to(elsewhere)
    assert refusal(tmp_path / "state").errno_name == "ELOOP"
    assert mode_of(elsewhere) == 0o755


def test_a_link_to_nothing_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to(tmp_path / "nothing")
    assert refusal(tmp_path / "state").errno_name == "ELOOP"
    assert not (tmp_path / "nothing").exists()


def test_somebody_elses_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_state_dir(str(tmp_path / "state"))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert refusal(tmp_path / "state").errno_name == "EPERM"


@pytest.mark.parametrize("part", ["", *PARTS])
def test_a_file_in_the_place_of_a_directory_is_refused_and_kept(tmp_path: Path, part: str) -> None:
    place = tmp_path / "state" / part
    place.parent.mkdir(exist_ok=True, mode=0o700)
    place.write_text("mine")
    assert refusal(tmp_path / "state").errno_name == "ENOTDIR"
    assert place.read_text() == "mine"


@pytest.mark.parametrize("path", ["/dev/null/state", "/dev/null", "/proc/self/state"])
def test_a_place_where_nothing_can_be_made_is_refused_with_its_name(path: str) -> None:
    exc = refusal(path)
    assert exc.errno_name in {"ENOTDIR", "ENOENT", "EPERM", "EACCES"}
    assert path in exc.message


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    assert refusal(path).errno_name == "EINVAL"


def test_readers_take_a_missing_state_directory_for_an_empty_one(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path / "nothing"))
    assert markers.active_ids(layout) == []
    assert index.history_page(layout, 10) == index.HistoryPage(
        ids=(), next_cursor=None, problems=()
    )
    assert ActiveScan(layout).poll() == []
    assert staging.sweep(layout) == []
    assert tokens.sweep(layout) == 0
    for name in (samples.RUN_ID, samples.RUN_ID[:8]):
        with pytest.raises(NotFound):
            index.resolve(layout, name)
    with pytest.raises(NotFound):
        RunDir(layout.run_dir(samples.RUN_ID)).read_status()
    assert list(tmp_path.iterdir()) == []
