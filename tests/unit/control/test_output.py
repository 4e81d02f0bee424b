"""Output: every byte once, no character cut in two, and an end that is one."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.control import read
from sidecar.control.context import Context
from sidecar.core.errors import InvalidParams
from tests.support.callers import Runner, context, launched


def running(ctx: Context, data: bytes = b"") -> tuple[str, Runner]:
    """A run whose agent has printed ``data``."""
    made, runner = launched(ctx)
    runner.start()
    runner.write("stdout", data)
    return made.snapshot.run.run_id, runner


def paged(ctx: Context, run_id: str, limit: int) -> list[bytes]:
    """Pages from the beginning to the end."""
    pages = []
    offset = 0
    while True:
        page = read.output(ctx, run_id, offset=offset, limit=limit)
        assert page.offset == offset
        assert page.next_offset == offset + len(page.data)
        pages.append(page.data)
        offset = page.next_offset
        if page.eof:
            return pages
        assert page.data, "no way forward"


def test_a_live_log_has_no_end(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, runner = running(ctx, b"one\n")
    page = read.output(ctx, run_id)
    assert (page.data, page.next_offset, page.eof) == (b"one\n", 4, False)
    assert read.output(ctx, run_id, offset=4).data == b""
    runner.write("stdout", b"two\n")
    assert read.output(ctx, run_id, offset=4).data == b"two\n"
    runner.end()
    page = read.output(ctx, run_id, offset=4)
    assert (page.data, page.eof, page.truncated) == (b"two\n", True, False)
    # Beyond the end is the end.
    page = read.output(ctx, run_id, offset=100)
    assert (page.data, page.offset, page.next_offset, page.eof) == (b"", 8, 8, True)


def test_the_answer_of_a_command_is_what_it_prints(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, runner = running(ctx, b"out")
    runner.write("stderr", b"err")
    found = {
        name: read.output(ctx, run_id, 0, name).data for name in ("stdout", "stderr", "answer")
    }
    assert found == {"stdout": b"out", "stderr": b"err", "answer": b"out"}


def test_a_character_is_never_cut_while_more_may_come(state_dir: Path) -> None:
    ctx = context(state_dir)
    euro = "\u20ac".encode()
    run_id, runner = running(ctx, b"ab" + euro[:2])
    page = read.output(ctx, run_id)
    assert (page.data, page.next_offset, page.eof) == (b"ab", 2, False)
    runner.write("stdout", euro[2:])
    assert read.output(ctx, run_id, offset=2).data == euro
    runner.write("stdout", euro[:1])
    runner.end()
    # At the very end, half a character is what there is.
    page = read.output(ctx, run_id, offset=5)
    assert (page.data, page.eof) == (euro[:1], True)


def test_from_the_end(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, _ = running(ctx, "\u20ac\u20ac!".encode())
    page = read.output(ctx, run_id, offset=-5)
    assert (page.data, page.offset, page.next_offset) == ("\u20ac!".encode()[0:], 3, 7)
    assert read.output(ctx, run_id, offset=-100).offset == 0


def test_a_page_can_always_hold_a_character(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, runner = running(ctx, "\U0001f600x".encode())
    runner.end()
    assert paged(ctx, run_id, limit=1) == ["\U0001f600".encode(), b"x"]


@pytest.mark.parametrize("data", [b"\xc0\xc0\xc0\xc0\x00", b"\xf0\x9f\xf0\x9f!", b"\xe2\xe2x"])
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_bytes_that_are_no_characters_are_no_dead_end(
    state_dir: Path, data: bytes, limit: int
) -> None:
    ctx = context(state_dir)
    run_id, runner = running(ctx, data)
    runner.end()
    assert b"".join(paged(ctx, run_id, limit)) == data


@settings(max_examples=50)
@given(
    data=st.one_of(st.binary(max_size=60), st.text(max_size=30).map(str.encode)),
    limit=st.integers(1, 20),
)
def test_pages_hold_every_byte_once(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, limit: int
) -> None:
    ctx = context(tmp_path_factory.mktemp("state"))
    run_id, runner = running(ctx, data)
    runner.end()
    pages = paged(ctx, run_id, limit)
    assert b"".join(pages) == data
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    for page in pages:
        page.decode()  # whole characters each


def test_before_the_start_there_is_nothing(state_dir: Path) -> None:
    ctx = context(state_dir)
    made, _ = launched(ctx)
    page = read.output(ctx, made.snapshot.run.run_id)
    assert (page.data, page.offset, page.next_offset, page.eof) == (b"", 0, 0, False)


def test_a_page_that_its_limit_cut_is_called_truncated(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, _ = running(ctx, b"0123456789")
    assert read.output(ctx, run_id, limit=4).truncated
    assert not read.output(ctx, run_id, offset=4).truncated


def test_exact_bytes_are_cut_where_asked(state_dir: Path) -> None:
    ctx = context(state_dir)
    run_id, _ = running(ctx, "é".encode())
    assert read.output(ctx, run_id, limit=1, exact=True).data == "é".encode()[:1]
    assert read.output(ctx, run_id, limit=1).data == "é".encode()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"step": 1}, "step"),
        ({"step": -1}, "step"),
        ({"stream": "stdin"}, "stream"),
        ({"stream": "transcript"}, "stream"),
        ({"limit": 0}, "limit"),
        ({"limit": 2**20 + 1}, "limit"),
    ],
)
def test_what_cannot_be_read(state_dir: Path, changes: dict[str, object], field: str) -> None:
    ctx = context(state_dir)
    run_id, _ = running(ctx)
    with pytest.raises(InvalidParams) as refused:
        read.output(ctx, run_id, **changes)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_a_log_that_was_replaced_by_a_link_leads_nowhere(state_dir: Path, tmp_path: Path) -> None:
    ctx = context(state_dir)
    run_id, _ = running(ctx, b"x")
    canary = tmp_path / "canary"
    canary.write_bytes(b"not yours")
    log = Path(ctx.layout.run_dir(run_id)) / "steps" / "0" / "1" / "stdout.log"
    log.unlink()
    log.symlink_to(canary)
    with pytest.raises(Exception) as refused:  # noqa: PT011 - DamagedRun, checked below
        read.output(ctx, run_id)
    assert type(refused.value).__name__ == "DamagedRun"
