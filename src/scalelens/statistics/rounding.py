"""The step to which the values of a log are rounded, seen in the values themselves."""

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]

_MOST_DECIMALS = 9
_MOST = 2.0**53  # of whole numbers that a value holds: beyond it has no decimals
_FINEST_RATE = 1e-4  # a step below it may be the inverse of any number
_TOLERANCE = 1e-5  # of a step: a number of few decimals times 60 or over 1000 is that far from a multiple at most


def decimal_step(distinct: _Values) -> float:
    """The largest step that all values are multiples of, of values of up to nine decimals; else 0.

    `distinct` is sorted, without repeats.  Of one value alone the step is its last decimal: 0.1 of 0.4.
    """
    for decimals in range(_MOST_DECIMALS + 1):
        unit = 10.0**-decimals
        multiples = distinct / unit
        if np.abs(multiples).max(initial=0) > _MOST:
            break
        if np.all(np.abs(multiples - np.rint(multiples)) < _TOLERANCE):
            whole = np.rint(multiples).astype(np.int64)
            return unit * int(np.gcd.reduce(whole)) if len(whole) > 1 else unit
    return 0.0


def _step_of_rates(distinct: _Values) -> float:
    """The step of the rates that such times are the inverse of: 0.01 of 1 / 3.17; 0 where their inverses have none."""
    if distinct[0] <= 0:
        return 0.0
    step = decimal_step(np.sort(1 / distinct))
    return step if step >= _FINEST_RATE else 0.0


def spread_over_steps(ordered: _Values) -> _Values:
    """Rounded values in order of size, shape (n,), with those that tie spread evenly over their step.

    A density that is fitted to rounded values describes the rounding.  Values without ties, and those that are not
    multiples of a decimal step, are returned unchanged.
    """
    distinct = np.unique(ordered)
    step = decimal_step(distinct) if len(distinct) < len(ordered) else 0.0
    if not step:
        return ordered
    steps, places, counts = np.unique(np.rint(ordered / step), return_index=True, return_counts=True)
    place = np.arange(len(ordered)) - np.repeat(places, counts)
    found: _Values = step * (np.repeat(steps, counts) + (place + 0.5) / np.repeat(counts, counts) - 0.5)
    return found


def widened(low: float, high: float, ordered: _Values) -> tuple[float, float] | None:
    """An interval of rounded values, with what the rounding hides: half a step more at each end.

    `ordered` are all the values, shape (n,), sorted.  Where all differ, rounding hides nothing.  Values that tie and
    are no multiples of a decimal step, such as times computed from rounded rates, are as coarse as the distance from an
    end to the next other value; where all are one value, as coarse as its rate, if that has few decimals (1 / 3.17).
    None where nothing shows how coarse they are: another such value, again and again.
    """
    is_new = ordered[1:] != ordered[:-1]
    if is_new.all():
        return low, high
    distinct = np.concatenate([ordered[:1], ordered[1:][is_new]])
    step = decimal_step(distinct)
    if step:
        return low - step / 2, high + step / 2
    if len(distinct) == 1:
        half = _step_of_rates(distinct) / 2
        return (1 / (1 / low + half), 1 / (1 / high - half)) if half and half * high < 1 else None
    below, above = np.searchsorted(distinct, [low, high])
    gaps = np.diff(distinct)
    return low - float(gaps[max(below - 1, 0)]) / 2, high + float(gaps[min(above, len(gaps) - 1)]) / 2
