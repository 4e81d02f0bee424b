"""Who reads decides: colours and widths for people, bare text for everybody else."""

import io
import sys

import pytest

from sidecar.cli.spans import Span, Tone
from sidecar.cli.terminal import ReaderGone, Stream

LINE = (Span("a "), Span("good", Tone.GOOD), Span(" [bold]thing[/bold] :smile:"))
TEXT = "a good [bold]thing[/bold] :smile:\n"


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


def shown(stream: io.StringIO, environ: dict[str, str]) -> str:
    Stream(stream, environ).say(LINE)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("environ", "is_terminal", "has_colour"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "", "TERM": "xterm"}, False, False),
    ],
)
def test_colours_are_for_terminals_unless_it_is_said_otherwise(
    environ: dict[str, str], is_terminal: bool, has_colour: bool
) -> None:
    output = shown(Tty() if is_terminal else io.StringIO(), environ)
    assert ("\x1b[32m" in output) is has_colour
    if not has_colour:
        assert output == TEXT


def test_words_that_look_like_markup_are_words() -> None:
    output = shown(Tty(), {})
    assert "[bold]thing[/bold] :smile:" in output


def test_a_long_line_is_not_broken() -> None:
    stream = Tty()
    Stream(stream, {"COLUMNS": "20"}).say((Span("x" * 100),))
    assert stream.getvalue() == "x" * 100 + "\n"


@pytest.mark.parametrize(
    ("environ", "is_terminal", "width"),
    [
        ({}, False, None),
        ({"COLUMNS": "60"}, False, None),
        ({"COLUMNS": "60"}, True, 60),
        ({"COLUMNS": "wide"}, True, 80),
        ({"COLUMNS": "0"}, True, 80),
        ({}, True, 80),
    ],
)
def test_only_a_terminal_has_a_width(
    environ: dict[str, str], is_terminal: bool, width: int | None
) -> None:
    assert Stream(Tty() if is_terminal else io.StringIO(), environ).width == width


def test_a_transient_line_is_for_live_terminals_and_goes_before_the_next() -> None:
    stream = Tty()
    live = Stream(stream, {"NO_COLOR": "1"})
    live.hint_at("waiting")
    live.say((Span("done"),))
    assert stream.getvalue() == "waiting\r\x1b[Kdone\n"
    narrow = Tty()
    Stream(narrow, {"COLUMNS": "8"}).hint_at("waiting for everything")
    assert narrow.getvalue() == "waitin\u2026"
    for quiet, environ in ((Tty(), {"TERM": "dumb"}), (io.StringIO(), {})):
        Stream(quiet, environ).hint_at("waiting")
        assert quiet.getvalue() == ""


def test_a_reader_that_went_away_is_one_error_of_ours() -> None:
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    with pytest.raises(ReaderGone):
        Stream(Gone(), {}).write("x")
    with pytest.raises(ReaderGone):
        Stream(Gone(), {}).say((Span("x"),))


def test_colours_cost_nothing_where_there_are_none() -> None:
    before = set(sys.modules)
    shown(io.StringIO(), {})
    assert not {name for name in set(sys.modules) - before if name.startswith("rich")}
