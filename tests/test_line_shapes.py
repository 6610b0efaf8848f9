"""What is remembered of lines by their shape holds for all lines of the shape, and stays small."""

import itertools
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from scalelens.parsers.energy_table import recognise
from scalelens.parsing.csv_dialects import dialect_of
from scalelens.parsing.dispatch import clean
from scalelens.parsing.launcher_prefixes import ANSI, without_prefix
from scalelens.parsing.line_shapes import _LONGEST, _MOST, Known, shape_of
from scalelens.parsing.recurring_lines import RecurringLines
from scalelens.tabular.energy_layout import energy_layout, without_unit

PREFIXES = (
    "3: ", " 12: ", "[rank7]: ", "[1,5]<stdout>: ", "[default3]: ", "[5] ", "n042: ", "0: [1,2]<stderr>: ",
    "2026-01-02T03:04:05.123456Z ", "Jan 12 03:04:05 ", "[pod/a-0/b] ", "worker_1  | ", "(w, pid=123, ip=10.0.0.1) ",
    "\x1b[32m4: ", "",
)  # fmt: skip
TEXTS = ("step 12 of 30, 4.5 s", "epoch 03/10 loss=0.5", "12:30:01 Iteration 5", "7: 8: 9", "é 1", " 5", "5")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PREFIXES), st.sampled_from(PREFIXES), st.sampled_from(TEXTS), st.randoms())
def test_lines_of_one_shape_are_cleaned_as_each_alone(outer, inner, text, rng):
    for _ in range(3):
        line = re.sub(r"\d", lambda _: str(rng.randrange(10)), outer + inner + text)
        alone = without_prefix(ANSI.sub("", line))
        cleaned = clean(line.encode(), 1)
        if not line.startswith(" ["):
            assert (cleaned.text, cleaned.rank, cleaned.location) == alone


def test_shapes_are_few_and_short():
    known: Known[int] = Known()
    for k in range(2 * _MOST):
        known.keep(b"x" * (k % 900) + str(k).encode(), k)
    assert len(known) <= _MOST
    known.keep(shape_of(b"1" * (_LONGEST + 1)), 0)
    assert b"" not in known


def test_lines_of_a_known_shape_are_counted():
    recurring = RecurringLines()
    for first in (1, 500):  # a line of a shape without a count, then those of one that counts
        text = "".join(f"time server {k:04} is up\nstep {k:04} took 1.5 s\n" for k in range(first, first + 9)).encode()
        recurring.look(text, [(0, len(text))], 1)
    assert recurring.looked_at == 36
    assert [pattern.lines for pattern in recurring.training()] == [18]


def test_records_between_tabs_are_no_csv():
    records = b"Epoch: [0][ 1/50]\tTime  0.301 ( 0.301)\nEpoch: [0][10/50]\tTime  0.299 ( 0.300)\n"
    assert dialect_of(records) is None
    assert dialect_of(b"epoch\ttime 1\n1\t0.301\n") is not None
    assert dialect_of(b"e1;e2\n1;2\n") is not None


def test_no_name_of_an_energy_is_passed_over():
    parts = ("gpu", "GPU", "Package", "total", "Used", "energy", "Energy", "delta", "avg", "power", "Consumption")
    units = ("J", "mJ", "kJ", "uj", "joules", "Joule", "kWh", "KWH", "Wh", "kwh", "[J]", "(kWh)", "watt hours", "W", "")
    found = 0
    for first, second, unit in itertools.product(parts, parts, units):
        for each in (f"{first}_{second}_{unit}", f"{first}{second}{unit}", f"{first}{unit}{second}", f"{first} {unit}"):
            names = ["run", "duration_s", each]
            if energy_layout(names, cells=["a", "5.0", "0.25"]) or without_unit(names):
                found += 1
                assert recognise(f"{','.join(names)}\na,5.0,0.25\nb,6.0,0.31\n".encode(), "x.csv"), each
    assert found > 500
    assert not recognise(b"job started, 5 items\nwhich of them is ready, 6 items\n", "x.log")
