"""What a text states beside the one mean time of its steps: its settings, and its rate.

    GPUs: 4 | Global batch size: 512
    Average step time: 0.123 s
    Throughput: 4162.6 samples/s               512 samples in 0.123 s: of the whole job

A setting that has two values, and a rate that has two, are of several trainings: neither is read.
"""

import itertools
from collections import defaultdict
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.recurring_lines import ELSEWHERE
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import integer_valued
from scalelens.tabular.cells import lines_of
from scalelens.tabular.column_names import read_name
from scalelens.tabular.role_table import ROLE
from scalelens.tabular.runs import RUN_SETTINGS

_LONGEST, _MOST_LINES = 300, 300_000
_PARTS = re.compile(r"[|;]|,\s|\s{2}|\s-\s")
_SETTING = re.compile(
    r"\W{0,6}(?P<key>[A-Za-z][\w ()/-]{1,40}?)\s{0,20}[:=]\s{0,20}(?P<value>[\w.][\w. /+-]{0,60}?)\W{0,3}\Z"
)
_RATE = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z ()_/-]{0,40}?)\s{0,20}[:=]\s{0,20}(?P<rate>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?) ?"
    r"(?:samples|images|imgs?|examples|sequences|seqs?) ?(?:/|per ) ?(?:s|sec|second)(?: ?(?:/|per ) ?(?:gpu|device))?"
    r"(?![\w/])",
    re.IGNORECASE,
)
_OF_ALL = re.compile(r"(?<![a-z])(?:total|global|aggregate|overall|all)(?![a-z])", re.IGNORECASE)
_OF_ONE = re.compile(r"(?<![a-z])(?:per|each|one|single|/)[ _]?(?:gpu|device|rank)|local", re.IGNORECASE)
_OTHER_WORK = re.compile(r"(?<![a-z])(?:eval|val|test|infer|predict|best|peak|max|min)", re.IGNORECASE)
_NEAR = 0.1  # a mean of rates is not quite the rate of the mean


class _Rate(NamedTuple):
    """Samples per second, and whether they are of the whole job or of one rank, if that is known."""

    samples_per_s: float
    scope: str | None


def settings_and_rate(source: Source, rows: Rows, step_s: float) -> _Rate | None:
    """Writes the settings that a text states, as params.  Returns the rate that it states beside the time of a step."""
    settings: defaultdict[str, dict[str, int]] = defaultdict(dict)  # by role, each value with its line
    rates: dict[_Rate, int] = {}
    for number, text, whole in itertools.islice(lines_of(source), _MOST_LINES):
        if not whole or len(text) > _LONGEST:
            continue
        for part in _PARTS.split(text.strip()):
            if printed := _RATE.search(part):
                if not (ELSEWHERE.search(text) or _OTHER_WORK.search(text)):
                    rates.setdefault(_Rate(float(printed["rate"].replace(",", "")), _scope_of(part)), number)
            elif setting := _SETTING.match(part.strip()):
                role, value = read_name(setting["key"]).role, setting["value"].strip()
                if role in RUN_SETTINGS and role != "run" and (ROLE[role].kind == "text" or integer_valued(value)):
                    settings[role].setdefault(value, number)
    for role, values in settings.items():
        if len(values) == 1:
            rows.param(role, *next(iter(values.items())))
    if len(rates) != 1:
        return None
    rate, number = next(iter(rates.items()))
    return _checked(rate, rows, step_s, number)


def _scope_of(part: str) -> str | None:
    return "rank" if _OF_ONE.search(part) else "global" if _OF_ALL.search(part) else None


def _checked(rate: _Rate, rows: Rows, step_s: float, number: int) -> _Rate | None:
    """A rate with the scope that the batch shows; none where it contradicts the batch."""
    names = ("global_batch_size", "micro_batch_size", "devices")
    batch, micro, devices = (integer_valued(rows.params.get(name)) or 0 for name in names)
    of_one = [("rank", micro), ("rank", batch / devices)] if devices > 1 else []
    samples = rate.samples_per_s * step_s
    known = [("global", batch or micro * devices), *of_one]
    near = [scope for scope, share in known if share and abs(samples / share - 1) <= _NEAR]
    fitting = [scope for scope in near if rate.scope in (None, scope)]
    if batch and not fitting:
        rows.problem(
            number,
            f"{rate.samples_per_s:.5g} samples per second and {step_s:.4g} s are {samples:.5g} samples, and the batch "
            f"is {batch:,}: the rate is not read",
        )
        return None
    return rate._replace(scope=rate.scope or next(iter(fitting), None))
