"""Durations, ages and sizes: read as people write them, written as people read them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.cli import human
from sidecar.core.errors import InvalidParams


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("500ms", 500),
        ("30s", 30_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("1.5s", 1500),
        ("2d", 172_800_000),
        ("0s", 0),
    ],
)
def test_a_duration_is_a_number_with_its_unit(text: str, ms: int) -> None:
    assert human.parse_duration(text, field="timeoutMs") == ms


@pytest.mark.parametrize("text", ["", "30", "s", "-5s", "5 s", "5x", "1e3s", "5s!", "ms5", "٣s"])
def test_what_is_no_duration_is_refused_with_its_field(text: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        human.parse_duration(text, field="timeoutMs")
    assert refused.value.field == "timeoutMs"
    assert refused.value.hint is not None


@given(st.text(max_size=20))
def test_no_text_at_all_makes_parsing_fail_otherwise(text: str) -> None:
    with contextlib.suppress(InvalidParams):
        assert human.parse_duration(text, field="timeoutMs") >= 0


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0ms"),
        (0, "0ms"),
        (999, "999ms"),
        (1000, "1s"),
        (1250, "1.2s"),
        (9999, "9.9s"),
        (59_999, "59s"),
        (65_000, "1m05s"),
        (3_599_999, "59m59s"),
        (3_600_000, "1h00m"),
        (90_000_000, "1d01h"),
    ],
)
def test_a_duration_is_written_with_two_units_at_most(ms: int, text: str) -> None:
    assert human.duration(ms) == text


@given(st.integers(min_value=0, max_value=10**12))
def test_a_written_duration_can_be_read_again(ms: int) -> None:
    again = human.parse_duration(human.duration(ms), field="timeoutMs")
    # Rounded down to the second of its two units.
    assert again <= ms
    assert again >= ms - 3_600_000


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (-10_000, "now"),
        (999, "now"),
        (1000, "1s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (7_200_000, "2h"),
        (172_800_000, "2d"),
    ],
)
def test_an_age_has_one_unit(passed: int, text: str) -> None:
    assert human.age(1_700_000_000_000, 1_700_000_000_000 + passed) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (10_240, "10 KiB"),
        (1_048_576, "1.0 MiB"),
        (5 * 1024**4, "5.0 TiB"),
        (5000 * 1024**4, "5000 TiB"),
    ],
)
def test_a_size_has_a_binary_unit(n_bytes: int, text: str) -> None:
    assert human.size(n_bytes) == text
