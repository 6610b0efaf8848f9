"""Numbers of many texts at once: what float() reads of each, or nothing."""

import random
import re

import numpy as np
import pytest

from scalelens.parsing.number_fields import LONGEST_FIELD, MOST_SHAPES, numbers_between, shapes_of, stands_at


def rows_in(texts: list[bytes], behind: bytes = b"", count: int = 1) -> list[list[float]] | None:
    """The numbers of texts that stand one behind the other: the first of each, the second of each."""
    ends = np.cumsum([len(text) for text in texts])
    starts = np.concatenate(([0], ends[:-1]))
    letters = np.frombuffer(b"".join(texts) + bytes(LONGEST_FIELD), np.uint8)
    numbers = numbers_between(letters, starts, ends, behind, count)
    return None if numbers is None else numbers.tolist()


def numbers_in(texts: list[bytes], behind: bytes = b"") -> list[float] | None:
    rows = rows_in(texts, behind)
    return rows and rows[0]


def printed(chance: random.Random) -> str:
    """A number as some logger prints it."""
    value = chance.choice((1, -1)) * 10 ** chance.uniform(-25, 25)
    forms = (f"{value:.6E}", f"{value:.3e}", f"{value:.1f}", f"{chance.randrange(10**6):8d}", repr(value), f"{value:+.2f}", "-0.0",
             f"{chance.uniform(-9, 9):.4f}", "7.", "0012")  # fmt: skip
    return " " * chance.randrange(3) + chance.choice(forms) + " " * chance.randrange(3)


def test_each_number_is_the_float_of_its_text() -> None:
    chance = random.Random(1)
    for _ in range(300):
        texts = [printed(chance) for _ in range(chance.randrange(1, 60))]
        assert numbers_in([text.encode() for text in texts]) == [float(text) for text in texts]


def test_a_zero_keeps_its_sign() -> None:
    assert str(numbers_in([b"-0.0"])) == "[-0.0]"


@pytest.mark.parametrize(
    "text", [b"", b" ", b"nan", b"inf", b"1.2.3", b"--1", b"1,000", b"1_0", b"1 2", b"0x1", b"1e", b"\xb2", b"1e999"]
)
def test_other_texts_are_no_numbers(text: bytes) -> None:
    assert numbers_in([b"1.5", text, b"2.5"]) is None


def test_a_text_that_is_too_long_is_none() -> None:
    assert numbers_in([b"1" * LONGEST_FIELD]) == [float("1" * LONGEST_FIELD)]
    assert numbers_in([b"1" * (LONGEST_FIELD + 1)]) is None


def test_texts_of_too_many_shapes_are_none() -> None:
    texts = [b" " * blanks + b"0." + b"0" * places for blanks in range(20) for places in range(20)]
    assert numbers_in(texts[:MOST_SHAPES]) == [0.0] * MOST_SHAPES
    assert numbers_in(texts) is None


def test_what_follows_a_number_is_checked() -> None:
    mean = rb" *\( *[-+0.eE]+ *\)"
    assert numbers_in([b"0.5 ( 0.7)", b"1.5 (10.70) "], mean) == [0.5, 1.5]
    assert numbers_in([b"0.5 ( 0.7)", b"1.5 (10.70"], mean) is None
    assert numbers_in([b"3.5GB", b"4GB"], b" *GB") == [3.5, 4.0]
    assert numbers_in([b"3.5GB", b"4MB"], b" *GB") is None


def test_a_shape_has_a_zero_for_each_digit_and_every_other_byte_as_it_is() -> None:
    every = bytes(range(256))
    shapes = shapes_of(np.frombuffer(every, np.uint64)).tobytes()
    assert shapes == re.sub(rb"\d", b"0", every)


def test_a_text_stands_at_all_places_or_not() -> None:
    letters = np.frombuffer(b"lm loss: 1 lm loss: 2 lm lass: 3", np.uint8)
    assert stands_at(letters, np.array([0, 11]), b"lm loss:")
    assert not stands_at(letters, np.array([0, 11, 22]), b"lm loss:")


def test_each_of_several_numbers_is_the_float_of_its_text() -> None:
    chance = random.Random(2)
    for _ in range(100):
        rows = [[printed(chance) for _ in range(2)] for _ in range(chance.randrange(1, 30))]
        texts = [f"{first.rstrip()},{second.rstrip()}], mom" for first, second in rows]
        expected = [[float(row[k]) for row in rows] for k in range(2)]
        if max(map(len, texts)) <= LONGEST_FIELD:
            assert rows_in([text.encode() for text in texts], rb"\], mom", 2) == expected
    assert rows_in([b"1, 2", b"1, 2, 3"], count=2) is None
    assert rows_in([b"1, 2", b"1"], count=2) is None
