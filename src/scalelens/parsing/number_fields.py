"""Numbers in texts of one form, as columns: the texts between delimiters become an array at once.

Texts of one shape have their digits at the same positions.  So a shape is understood once, by a pattern, and the digits
of all texts that have it are converted together.  A number of at most 15 digits and a scale of at most 10^22 is exact
that way (Clinger, How to read floating point numbers accurately, 1990); others are read one by one.

Eight bytes of a text are one word of 64 bits, so that one operation handles eight letters.
"""

import re

import numpy as np
import numpy.typing as npt

_Letters = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

_WORD = 8  # bytes
LONGEST_FIELD = 64  # bytes after the text of a field
MOST_SHAPES = 200  # of one field
_MOST_DIGITS = 15  # 10^15 is below 2^53
_POWERS = np.array([float(f"1e{k}") for k in range(23)])
_NUMBER = rb" *([-+]?)(0+)(?:\.(0*))?(?:[eE]([-+]?)(0+))?"
FRACTION = rb"(?(3)(?<=0)|(?!))"  # as what follows a number: it has a point, and digits after it
_EACH = 0x0101010101010101  # a byte times this is a word of that byte
_BLANKS, _ZEROS, _LOW_BITS, _TOP_BITS = (np.uint64(_EACH * byte) for byte in (ord(" "), ord("0"), 0x7F, 0x80))
_PAST_NINE = np.uint64(_EACH * (0x80 - 10))  # added to a byte below 0x80, it sets the top bit from 10 on
_UNTIL = np.array([(1 << 8 * k) - 1 for k in range(_WORD + 1)], np.dtype("<u8"))  # the first k bytes of a word


def windows(letters: _Letters, starts: Integers, width: int) -> _Letters:
    """The bytes from each of some positions on, one row of `width` for each.  None may pass the end of the letters."""
    rows = np.ndarray(max(len(letters) - width + 1, 0), f"V{width}", letters.data, strides=(1,))[starts]
    return rows.view(np.uint8).reshape(len(starts), width)


def stands_at(letters: _Letters, starts: Integers, text: bytes) -> bool:
    """Whether a text stands at each of some positions."""
    return not text or bool((windows(letters, starts, len(text)) == np.frombuffer(text, np.uint8)).all())


def numbers_between(
    letters: _Letters, starts: Integers, ends: Integers, after: bytes = b"", count: int = 1
) -> npt.NDArray[np.float64] | None:
    """The numbers at the beginning of each text between two positions, a row for the first of each, one for the second.

    None where a text has other than `count` numbers with commas between them, or something else follows.  `after` is
    a pattern of what follows, in which every digit is a 0.  After the last text there are LONGEST_FIELD more letters.
    """
    lengths = ends - starts
    longest = int(lengths.max())
    if not 0 < longest <= LONGEST_FIELD:
        return None
    texts = windows(letters, starts, -longest % _WORD + longest).view("<u8")
    for k, column in enumerate(texts.T):
        inside = _UNTIL[np.clip(lengths - k * _WORD, 0, _WORD)]
        column[:] = column & inside | _BLANKS & ~inside
    shapes = shapes_of(texts)
    pattern = re.compile(b",".join([_NUMBER] * count) + after + rb" *")
    numbers, left = np.empty((count, len(texts))), np.arange(len(texts))
    for _ in range(MOST_SHAPES):
        found = pattern.fullmatch(shapes[0].tobytes())
        if not found:
            return None
        same = np.logical_and.reduce([column == column[0] for column in shapes.T])
        if same.all():
            numbers[:, left] = [_numbers_of_shape(texts, found, k) for k in range(count)]
            return numbers if np.isfinite(numbers).all() else None
        numbers[:, left[same]] = [_numbers_of_shape(texts[same], found, k) for k in range(count)]
        texts, shapes, left = texts[~same], shapes[~same], left[~same]
    return None


def shapes_of(texts: _Words) -> _Words:
    """The texts with a 0 for each digit."""
    from_zero = texts ^ _ZEROS  # a digit becomes its value
    others = ((from_zero & _LOW_BITS) + _PAST_NINE | from_zero) & _TOP_BITS
    return texts & ~(((others ^ _TOP_BITS) >> np.uint64(7)) * np.uint64(0x0F))


def _numbers_of_shape(words: _Words, shape: re.Match[bytes], which: int) -> npt.NDArray[np.float64]:
    """One of the numbers in each of some texts whose digits stand at the same positions."""
    texts = words.view(np.uint8)
    minus, whole, fraction, exponent_minus, exponent = range(5 * which + 1, 5 * which + 6)  # groups of _NUMBER
    after_point = range(*shape.span(fraction)) if shape[fraction] else range(0)
    digits = [*range(*shape.span(whole)), *after_point]
    scale = np.zeros(len(texts)) - len(after_point)
    if shape[exponent]:
        scale += _digits_at(texts, range(*shape.span(exponent))) * (-1 if shape[exponent_minus] == b"-" else 1)
    if len(digits) > _MOST_DIGITS or len(shape[exponent] or b"") > 3 or np.abs(scale).max() >= len(_POWERS):
        end = max(shape.end(k) for k in range(minus, exponent + 1))
        return np.array([float(text.tobytes()) for text in texts[:, shape.start(minus) : end]])
    numbers = _digits_at(texts, digits)
    power = _POWERS[np.abs(scale).astype(int)]
    numbers = np.asarray(np.where(scale < 0, numbers / power, numbers * power))
    return -numbers if shape[minus] == b"-" else numbers


def _digits_at(texts: _Letters, columns: range | list[int]) -> npt.NDArray[np.float64]:
    """The integer that the digits in some columns of the texts make."""
    number: npt.NDArray[np.float64] = np.zeros(len(texts))
    for column in columns:
        number = number * 10 + (texts[:, column] - np.uint8(ord("0")))
    return number
