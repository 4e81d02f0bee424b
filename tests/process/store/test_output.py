"""An attempt has a directory of its own, and any piece of its logs can be read, by no detour."""

from pathlib import Path

import pytest

from sidecar.core.errors import DamagedRun
from sidecar.store.layout import Layout
from sidecar.store.rundir import OutputBytes, RunDir
from tests.support.stored import lead, make_run


def test_an_attempt_has_a_directory_of_its_own(layout: Layout) -> None:
    run_dir = make_run(layout)
    leader = lead(run_dir)
    path = leader.make_attempt(0, 1)
    assert path == f"{run_dir.path}/steps/0/1"
    assert leader.make_attempt(0, 1) == path
    assert leader.make_attempt(0, 2) == f"{run_dir.path}/steps/0/2"
    assert leader.make_attempt(11, 1) == f"{run_dir.path}/steps/11/1"


@pytest.fixture
def with_output(layout: Layout) -> RunDir:
    """Give a run whose first attempt has said ten characters."""
    run_dir = make_run(layout)
    path = lead(run_dir).make_attempt(0, 1)
    (Path(path) / "stdout.log").write_bytes(b"0123456789")
    (Path(path) / "stderr.log").write_bytes(b"err")
    return run_dir


@pytest.mark.parametrize(
    ("offset", "limit", "data", "start"),
    [
        (0, 4, b"0123", 0),
        (4, 100, b"456789", 4),
        (10, 4, b"", 10),
        (11, 4, b"", 10),
        (2**62, 4, b"", 10),
        (-3, 100, b"789", 7),
        (-3, 2, b"78", 7),
        (-100, 4, b"0123", 0),
        (-(2**62), 4, b"0123", 0),
        (0, 0, b"", 0),
        (0, -5, b"", 0),
    ],
)
def test_any_piece_of_a_log_can_be_read(
    with_output: RunDir, offset: int, limit: int, data: bytes, start: int
) -> None:
    assert with_output.output(0, 1, "stdout", offset, limit) == OutputBytes(
        data=data, offset=start, next_offset=start + len(data), size=10
    )


def test_streams_and_attempts_are_kept_apart(with_output: RunDir) -> None:
    assert with_output.output(0, 1, "stderr", 0, 100).data == b"err"
    nothing = OutputBytes(data=b"", offset=0, next_offset=0, size=0)
    assert with_output.output(0, 2, "stdout", 0, 100) == nothing
    assert with_output.output(7, 1, "stdout", 5, 100) == nothing


@pytest.mark.parametrize("part", ["steps", "steps/0", "steps/0/1", "steps/0/1/stdout.log"])
def test_no_link_on_the_way_to_a_log_is_followed(
    with_output: RunDir, tmp_path: Path, part: str
) -> None:
    place = Path(with_output.path) / part
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRun) as caught:
        with_output.output(0, 1, "stdout", 0, 100)
    assert caught.value.damage == "foreign"


def test_the_runner_log_is_read_from_its_end(layout: Layout) -> None:
    run_dir = make_run(layout)
    assert run_dir.runner_log_tail(4) == b""
    (Path(run_dir.path) / "runner.log").write_bytes(b"0123456789")
    assert run_dir.runner_log_tail(4) == b"6789"
    assert run_dir.runner_log_tail(100) == b"0123456789"
