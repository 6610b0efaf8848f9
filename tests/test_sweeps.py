"""Devices told apart by their place in a sweep."""

import pytest

from scalelens.parsing.sweeps import places_in_sweeps

_MS = 1_000_000


def sweeps(lengths: list[int], within_ms: int = 2, between_ms: int = 100) -> list[tuple[int, int]]:
    """Lines and times of sweeps of these lengths."""
    times, at = [], 0
    for length in lengths:
        for _ in range(length):
            times.append((len(times), at * _MS))
            at += within_ms
        at += between_ms
    return times


@pytest.mark.parametrize(
    ("lengths", "places"),
    [
        ([3] * 20, [0, 1, 2] * 20),
        ([3] * 10 + [1, 2] + [3] * 10, [0, 1, 2] * 21),  # a stall within a sweep
        ([2] * 20 + [1, 1] + [2] * 20, [0, 1] * 41),
        ([3] * 20 + [2], [*[0, 1, 2] * 20, 0, 1]),  # the file is cut
        ([1] * 20, [0] * 20),
    ],
)
def test_a_device_is_its_place(lengths: list[int], places: list[int]) -> None:
    assert places_in_sweeps(sweeps(lengths)) == dict(enumerate(places))


def test_pieces_that_do_not_make_a_sweep_are_left_out() -> None:
    told = places_in_sweeps(sweeps([3] * 20 + [2] + [3] * 20))
    assert told is not None
    assert set(range(122)) - set(told) == {60, 61}


@pytest.mark.parametrize("lengths", [[3, 2] * 10, [4] * 8 + [3] * 4])
def test_sweeps_of_several_lengths_tell_nothing(lengths: list[int]) -> None:
    assert places_in_sweeps(sweeps(lengths)) is None


def test_readings_of_one_device_in_quick_succession_are_no_sweep() -> None:
    assert places_in_sweeps([(k, 20 * _MS * k) for k in range(300)]) is None
