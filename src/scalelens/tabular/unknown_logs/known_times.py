"""Which time the lines of a known program state, that many others copied with its form.

    Step 300: loss = 1.27 (0.042 sec)         TensorFlow's fully_connected_feed: of this one step
    It: 40, Loss: 3.142e-03, Time: 0.27       maziarraissi/PINNs: of all steps since the line before, in seconds
    Iter 3 training loss = 2.345 , time = 0.56                             JiaRenChang/PSMNet: of this one step
    Epoch 0/16, Iter 3/400, train loss = 5.123, time = 0.745               xy-guo/MVSNet_pytorch: of this one step

A copy that takes the time since its start grows from line to line, and is not read by its form; nor is a time of so few
digits that its last one matters.
"""

import itertools
import statistics

from scalelens.parsing import lazy_re as re
from scalelens.parsing.recurring_lines import RECURS
from scalelens.tabular.unknown_logs.times import LineTimes

_FORMS = (
    (
        re.compile(r"\bStep \d+(?:\(\d+\))?: loss = (?:\d+\.\d+|nan) \(\d+\.\d{3} sec\)\s*\Z"),
        "batch_time",
        "time [s]",
        3,
    ),
    (
        re.compile(
            r"\bIt: \d+, Loss: \d\.\d{3}e[-+]\d\d,(?: Loss_\w{1,20}: \d\.\d{3}e[-+]\d\d,){0,6}"
            r"(?: Adaptive_Constant: \d+\.\d\d ?,)? ?Time: \d+\.\d\d\s*\Z"
        ),
        "span_time",
        "Time",
        2,
    ),
    (re.compile(r"\bIter \d+ training loss = \d+\.\d{3} , time = \d+\.\d\d\s*\Z"), "batch_time", "time", 2),
    (
        re.compile(
            r"\bEpoch \d+/\d+, Iter \d+/\d+, (?:lr \d+\.\d+, )?train loss = \d+\.\d{3}, "
            r"(?:depth loss = \d+\.\d{3}, )?time = \d+\.\d{3}\s*\Z"
        ),
        "batch_time",
        "time",
        3,
    ),
)  # what the time is, its column, and its digits after the point
_MOSTLY_RISES = 0.75  # of the values that come after one: those of a clock grow each time
_LEAST_UNITS = 20  # of the last digit, that the usual time has


def known_time_in(example: str, times: LineTimes) -> tuple[str, tuple[str, str]] | None:
    """The role, and the column with its unit; None where a line has no such form, or its times are not as there."""
    for form, role, column, decimals in _FORMS:
        values = times.values.get(column, []) if form.search(example) else []
        if len(values) < RECURS or statistics.median(values) * 10**decimals < _LEAST_UNITS:
            continue
        rises = sum(before < now for before, now in itertools.pairwise(values))
        if rises <= _MOSTLY_RISES * (len(values) - 1):
            return role, (column, "s")
    return None
