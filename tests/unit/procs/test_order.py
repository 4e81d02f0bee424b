"""The spawn order: what is written is read, and anything else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.procs import order

WORD = st.binary(max_size=30).filter(lambda word: b"\0" not in word)
NAME = st.binary(min_size=1, max_size=9).filter(lambda name: b"\0" not in name and b"=" not in name)
PAIR = st.tuples(NAME, WORD).map(lambda pair: pair[0] + b"=" + pair[1])


@given(
    argv=st.lists(WORD, min_size=1, max_size=6).filter(lambda argv: bool(argv[0])),
    env=st.lists(PAIR, max_size=6),
    cwd=WORD.map(lambda word: b"/" + word),
    stdin=st.sampled_from(order.STDIN_CHOICES),
)
def test_what_is_written_is_read(
    argv: list[bytes], env: list[bytes], cwd: bytes, stdin: str
) -> None:
    data = order.encode(argv, env, cwd, stdin)
    assert order.decode(data) == (argv, env, cwd, stdin)


def test_bytes_on_disk_stay_readable() -> None:
    data = b"sidecar-spawn 1\npipe\0/tmp/two words\0002\0sh\0\0002\0A=1\0B==\0"
    expected = ([b"sh", b""], [b"A=1", b"B=="], b"/tmp/two words", "pipe")
    assert order.decode(data) == expected
    assert order.encode(*expected) == data


def test_every_cut_is_noticed() -> None:
    data = order.encode([b"sh", b"-c", b"x"], [b"A=1", b"B=2"], b"/", "null")
    for length in range(len(data)):
        with pytest.raises(order.OrderError):
            order.decode(data[:length])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"sidecar-spawn 2\nnull\0/\0001\0a\0000\0",
        b"sidecar-spawn 1\nnull\0/\0001\0a\0000\0more\0",
        b"sidecar-spawn 1\nnull\0/\0-1\0000\0",
        b"sidecar-spawn 1\nnull\0/\0x\0a\0000\0",
        b"sidecar-spawn 1\nnull\0/\0009\0a\0000\0",
        b"sidecar-spawn 1\nnull\0/\0000\0000\0",
        b"sidecar-spawn 1\nkeyboard\0/\0001\0a\0000\0",
        b"sidecar-spawn 1\n\xff\0/\0001\0a\0000\0",
        b"sidecar-spawn 1\nnull\0relative\0001\0a\0000\0",
        b"sidecar-spawn 1\nnull\0/\0001\0a\0001\0=x\0",
        b"\xff" * 1000,
    ],
)
def test_damage_is_refused(data: bytes) -> None:
    with pytest.raises(order.OrderError):
        order.decode(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        order.decode(order.VERSION_LINE + data)
    except order.OrderError:
        return


@pytest.mark.parametrize(
    ("argv", "env", "cwd", "stdin"),
    [
        ([], [], b"/", "null"),
        ([b""], [], b"/", "null"),
        ([b"a\0b"], [], b"/", "null"),
        ([b"a"], [b"A=\0"], b"/", "null"),
        ([b"a"], [b"nothing"], b"/", "null"),
        ([b"a"], [b"=value"], b"/", "null"),
        ([b"a"], [], b"here", "null"),
        ([b"a"], [], b"/\0", "null"),
        ([b"a"], [], b"/", "terminal"),
    ],
)
def test_what_could_not_be_carried_out_is_not_written(
    argv: list[bytes], env: list[bytes], cwd: bytes, stdin: str
) -> None:
    with pytest.raises(order.OrderError):
        order.encode(argv, env, cwd, stdin)


def test_a_value_is_never_quoted_in_an_error() -> None:
    with pytest.raises(order.OrderError) as caught:
        order.encode([b"a"], [b"a secret without its name"], b"/", "null")
    assert "secret" not in str(caught.value)


def test_error_is_a_value_error_with_a_code() -> None:
    with pytest.raises(ValueError, match="known version") as caught:
        order.decode(b"")
    assert isinstance(caught.value, order.OrderError)
    assert caught.value.code == "spawn-order-damaged"
