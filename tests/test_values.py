"""Values: what is a number, a time or a span, and what is refused."""

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalelens.parsing.values import (
    amount,
    as_utc,
    clock_span,
    half_of_last_digit,
    integer,
    iso_time,
    json_count,
    json_integer,
    json_number,
    json_number_or_nan,
    nanoseconds_since_1970,
    number,
    only_whole,
)

MICROSECONDS = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1))


@given(MICROSECONDS)
def test_microseconds_come_out_exact(stamp: datetime) -> None:
    since = stamp.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    exact = Fraction(since.days * 86400 + since.seconds) + Fraction(since.microseconds, 10**6)
    assert nanoseconds_since_1970(stamp) == exact * 10**9


def test_a_float_of_seconds_would_not_be_exact() -> None:
    stamp = datetime(2026, 11, 20, 10, 15, 30, 123457)
    assert nanoseconds_since_1970(stamp) == 1_795_169_730_123_457_000
    assert int(stamp.replace(tzinfo=UTC).timestamp() * 1e9) != nanoseconds_since_1970(stamp)


def test_nanoseconds_stay_as_they_are() -> None:
    assert nanoseconds_since_1970(1_795_169_730_123_456_789) == 1_795_169_730_123_456_789


@given(st.floats(-1e299, 1e299))
def test_a_number_reads_the_same_from_json_and_from_text(value: float) -> None:
    assert number(value) == number(repr(value)) == json_number(value) == json_number_or_nan(value) == value


@pytest.mark.parametrize("value", [None, "", "x", "nan", "inf", "1e999", True, [1], {}, math.nan, -math.inf, 10**400])
def test_what_is_not_a_finite_number(value: Any) -> None:
    assert number(value) is amount(value) is json_number(value) is None


def test_each_kind_of_number_refuses_what_it_says() -> None:
    assert (number("1.5"), json_number("1.5"), json_number_or_nan("1.5")) == (1.5, None, None)
    assert (number("-1.5"), amount("-1.5"), amount(0), amount("1e15")) == (-1.5, None, 0.0, None)
    assert math.isnan(json_number_or_nan(math.nan) or 0.0)
    assert json_number_or_nan(10**400) is json_number_or_nan(True) is None


@given(st.integers() | st.sampled_from([2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63)]))
def test_whole_numbers_of_json_fit_their_column(value: int) -> None:
    assert json_integer(value) == (value if -(2**63) <= value < 2**63 else None)
    assert json_integer(value, 32) == (value if -(2**31) <= value < 2**31 else None)
    assert json_count(value, 32) == (value if 0 <= value < 2**31 else None)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_what_is_not_a_whole_number_of_json(value: Any) -> None:
    assert json_integer(value) is json_count(value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [("64", 64), (64, 64), ("007", 7), ("", None), ("-1", None), ("+1", None), ("1.0", None), (1.0, None),
     ("²", None), ("1_000", None), (None, None), (True, None), ("9" * 9, 999_999_999), ("9" * 10, None), ("9" * 5000, None)],
)  # fmt: skip
def test_digits_are_a_whole_number(value: Any, expected: int | None) -> None:
    assert integer(value) == expected


def test_more_digits_where_they_are_asked_for() -> None:
    assert integer("9" * 18, digits=18) == 10**18 - 1


@pytest.mark.parametrize("text", [None, "", "Unknown", "2024-02-30T10:00:00", "2024-13-01", "10:00:00"])
def test_what_is_not_a_time(text: str | None) -> None:
    assert iso_time(text) is None


def test_a_time_in_utc_has_no_zone_and_its_own_zone_comes_first() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    noon = datetime(2024, 7, 1, 12)
    assert as_utc(noon, None) == noon
    assert as_utc(noon, berlin) == datetime(2024, 7, 1, 10)
    assert as_utc(noon.replace(tzinfo=timezone(timedelta(hours=5))), berlin) == datetime(2024, 7, 1, 7)
    assert as_utc(datetime(9999, 12, 31, 23), timezone(timedelta(hours=-5))) is None
    assert as_utc(datetime(1, 1, 1), timezone(timedelta(hours=5))) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10:00", 600.0), ("1:02:03", 3723.0), ("2-03:04:05", 183845.0), ("00:01.900", 1.0), ("1 day, 0:02:40", 86560.0),
     ("2 days, 3:04:05", 183845.0), ("", None), ("90", None), ("UNLIMITED", None), ("1:2:3", None)],
)  # fmt: skip
def test_a_span_of_a_clock(text: str, expected: float | None) -> None:
    assert clock_span(text) == expected


@given(st.decimals(0, 10**9, allow_nan=False, places=4), st.integers(0, 4))
def test_a_rounded_number_is_within_half_of_its_last_digit(value: Decimal, decimals: int) -> None:
    text = f"{value:.{decimals}f}"
    assert abs(Decimal(text) - value) <= Decimal(repr(half_of_last_digit(text)))


def test_half_of_the_last_digit_of_other_notations() -> None:
    assert [half_of_last_digit(text) for text in ("12", "1.50e-3", "2e2", "1e999")] == [0.5, 0.000005, 50, math.inf]


@pytest.mark.parametrize(
    ("low", "high", "whole"),
    [(63.9, 64.1, 64), (64, 64, 64), (63.9, 65.1, None), (64.1, 64.9, None), (-0.1, 0.1, None), (1.0, math.inf, None)],
)
def test_the_only_whole_number_between_two_bounds(low: float, high: float, whole: int | None) -> None:
    assert only_whole(low, high) == whole
