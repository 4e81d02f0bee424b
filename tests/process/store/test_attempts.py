"""What a warden and its runner find in an attempt's directory: order, prompt and logs, private."""

import os
import stat
from pathlib import Path

import pytest

from sidecar.core.errors import StorageError
from sidecar.store import attempts
from sidecar.store.layout import Layout
from tests.support.stored import lead, make_run


def test_an_order_comes_with_its_prompt_and_empty_logs(layout: Layout) -> None:
    leader = lead(make_run(layout))
    before = os.umask(0)
    try:
        path = Path(attempts.write_order(leader, 0, 1, order=b"order", prompt="caf\u00e9\n"))
    finally:
        os.umask(before)
    assert path == Path(leader.path, "steps", "0", "1")
    assert {entry.name: entry.read_bytes() for entry in path.iterdir()} == {
        "spawn": b"order",
        "stdin": "caf\u00e9\n".encode(),
        "stdout.log": b"",
        "stderr.log": b"",
    }
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in path.iterdir()} == {0o600}


def test_without_a_prompt_there_is_no_standard_input(layout: Layout) -> None:
    leader = lead(make_run(layout))
    path = attempts.write_order(leader, 0, 1, order=b"order", prompt=None)
    assert not Path(path, "stdin").exists()


def test_an_order_is_replaced_and_what_was_logged_stays(layout: Layout) -> None:
    leader = lead(make_run(layout))
    path = Path(attempts.write_order(leader, 0, 1, order=b"first", prompt="a"))
    (path / "stdout.log").write_text("said")
    attempts.write_order(leader, 0, 1, order=b"second", prompt="b")
    assert (path / "spawn").read_bytes() == b"second"
    assert (path / "stdin").read_text() == "b"
    assert (path / "stdout.log").read_text() == "said"


@pytest.mark.parametrize(
    ("prompt", "data"), [("\udcff\udc80", b"\xff\x80"), ("a\ud800b", b"a?b"), ("", b"")]
)
def test_any_prompt_reaches_the_agent_as_bytes(layout: Layout, prompt: str, data: bytes) -> None:
    leader = lead(make_run(layout))
    path = attempts.write_order(leader, 0, 1, order=b"order", prompt=prompt)
    assert Path(path, "stdin").read_bytes() == data


def test_a_log_is_written_at_offsets_and_so_not_for_appending(tmp_path: Path) -> None:
    fd = attempts.open_log(str(tmp_path / "log"))
    os.pwrite(fd, b"tail", 4)
    os.pwrite(fd, b"head", 0)
    os.close(fd)
    assert (tmp_path / "log").read_bytes() == b"headtail"
    assert not os.get_inheritable(os.open(tmp_path / "log", os.O_RDONLY))


@pytest.mark.parametrize("name", ["stdout.log", "stderr.log"])
@pytest.mark.parametrize("what", ["link", "directory"])
def test_what_is_no_log_is_refused(layout: Layout, canary: Path, name: str, what: str) -> None:
    leader = lead(make_run(layout))
    place = Path(leader.make_attempt(0, 1), name)
    if what == "link":
        place.symlink_to(canary)
    else:
        place.mkdir()
    with pytest.raises(StorageError):
        attempts.write_order(leader, 0, 1, order=b"order", prompt=None)
    assert canary.read_text() == "alive"
