"""A lost server is replaced, but not for ever."""

from sidecar.client.restarts import RESTARTS_MAX, WITHIN_S, Restarts


def test_some_in_a_row_and_then_no_more() -> None:
    restarts = Restarts()
    assert [restarts.allow(10.0) for _ in range(RESTARTS_MAX + 2)] == [
        *[True] * RESTARTS_MAX,
        False,
        False,
    ]


def test_again_after_a_while() -> None:
    restarts = Restarts()
    for at in range(RESTARTS_MAX):
        assert restarts.allow(float(at))
    assert not restarts.allow(WITHIN_S - 0.5)
    assert restarts.allow(WITHIN_S)
    assert not restarts.allow(WITHIN_S + 0.5)
    assert restarts.allow(WITHIN_S + 1)
