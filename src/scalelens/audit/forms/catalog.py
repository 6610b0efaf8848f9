"""The forms: how one number of a row may follow from others of the row, each as a line.

A form gives the values that its target may have for intervals of its operands.  A free form holds up to a factor that
all rows share, such as one over the value of a base case, a number of devices or a unit.
"""

from collections.abc import Callable
from dataclasses import dataclass

from scalelens.audit.forms.series import Interval

CONSTANTS = (1.0, 100.0, 0.01, 1e3, 1e-3, 1e6, 1e-6, 60.0, 1 / 60, 3600.0, 1 / 3600, 24.0, 3.6e3, 3.6e6, 1 / 3.6e6)


@dataclass(frozen=True)
class Form:
    """text in words, number of operands, whether a factor is free, and the values of the target."""

    text: str
    operands: int
    free: bool
    of: Callable[[list[Interval]], Interval | None]


def _product(a: Interval, b: Interval) -> Interval:
    return a[0] * b[0], a[1] * b[1]


def _quotient(a: Interval, b: Interval) -> Interval | None:
    return (a[0] / b[1], a[1] / b[0]) if b[0] > 0 else None


def _difference(a: Interval, b: Interval) -> Interval:
    return a[0] - b[1], a[1] - b[0]


def _gain(a: Interval, b: Interval) -> Interval | None:
    """By how many per cent a is more than b."""
    ratio = _quotient(a, b)
    return (100 * ratio[0] - 100, 100 * ratio[1] - 100) if ratio else None


def _loss(a: Interval, b: Interval) -> Interval | None:
    """By how many per cent a is less than b."""
    ratio = _quotient(a, b)
    return (100 - 100 * ratio[1], 100 - 100 * ratio[0]) if ratio else None


def _grown(percent: Interval) -> Interval:
    return 1 + percent[0] / 100, 1 + percent[1] / 100


def _shrunk(percent: Interval) -> Interval:
    return 1 - percent[1] / 100, 1 - percent[0] / 100


FORMS = (
    Form("{c} = k × {0}", 1, True, lambda x: x[0]),
    Form("{c} = k / {0}", 1, True, lambda x: _quotient((1.0, 1.0), x[0])),
    Form("{c} = {0} × {1}", 2, True, lambda x: _product(x[0], x[1])),
    Form("{c} = {0} / {1}", 2, True, lambda x: _quotient(x[0], x[1])),
    Form("{c} = k / ({0} × {1})", 2, True, lambda x: _quotient((1.0, 1.0), _product(x[0], x[1]))),
    Form("{c} = {0} + {1}", 2, False, lambda x: (x[0][0] + x[1][0], x[0][1] + x[1][1])),
    Form("{c} = {0} - {1}", 2, False, lambda x: _difference(x[0], x[1])),
    Form("{c} = ({0} / {1} - 1) × 100", 2, False, lambda x: _gain(x[0], x[1])),
    Form("{c} = (1 - {0} / {1}) × 100", 2, False, lambda x: _loss(x[0], x[1])),
    Form("{c} = {0} × {1} × {2}", 3, False, lambda x: _product(_product(x[0], x[1]), x[2])),
)
# What each operand must be, given the target and the operands.
SOLVED: dict[str, tuple[Callable[[Interval, list[Interval]], Interval | None], ...]] = {
    FORMS[2].text: (lambda c, x: _quotient(c, x[1]), lambda c, x: _quotient(c, x[0])),
    FORMS[3].text: (lambda c, x: _product(c, x[1]), lambda c, x: _quotient(x[0], c)),
    FORMS[5].text: (lambda c, x: _difference(c, x[1]), lambda c, x: _difference(c, x[0])),
    FORMS[6].text: (lambda c, x: (c[0] + x[1][0], c[1] + x[1][1]), lambda c, x: _difference(x[0], c)),
    FORMS[7].text: (lambda c, x: _product(_grown(c), x[1]), lambda c, x: _quotient(x[0], _grown(c))),
    FORMS[8].text: (lambda c, x: _product(_shrunk(c), x[1]), lambda c, x: _quotient(x[0], _shrunk(c))),
}
SYMMETRIC = {FORMS[2].text, FORMS[4].text, FORMS[5].text, FORMS[9].text}
SIGNED = {FORMS[5].text, FORMS[6].text, FORMS[7].text, FORMS[8].text}
