"""Numbers of a text against the values of a warehouse: reproduced, stale or untraceable.

A number is reproduced if a value that its words name lies within its bounds, unless they name so many values that one
would lie there by chance.  Where the words say that nothing is left out, values of `exclude := 'none'` count as well.
It is stale if its words name a single value, no value of that quantity fits, and the value
is near or one slip away.  All other numbers are untraceable, which accuses nobody.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.warehouse.digits import ends_of, is_chance, like, slip_between, widest, within
from scalelens.audit.warehouse.measures import SHARE, Measure, measure_of_unit
from scalelens.audit.warehouse.quantities import holds, is_said
from scalelens.audit.warehouse.ratios import Ratio, ratios_of
from scalelens.audit.warehouse.stated import COUNTS, Stated, Vocabulary, contradicts, facts_said
from scalelens.audit.warehouse.values import KnownValue, KnownValues, selector_of
from scalelens.report.selectors import SELECTOR, question_of

_NO_VALUE = "no value that its words name is printed so"
_NO_QUANTITY = "its words do not name a quantity that a query answers"
_SAYS_ALL = re.compile(
    r"\bnothing (?:is |was )?left out\b|\bexclude *:?= *'?none\b|\bwarm-?up (?:is |was )?included\b"
    r"|\b(?:includ\w+|with) (?:the )?warm-?up\b|\b(?:without|no) exclusions?\b|\bover all (?:\d+ )?steps\b",
    re.IGNORECASE,
)
_EVERYTHING = {"exclude": "none"}
_MATTERS = 0.05  # a larger difference changes what a reader concludes


class Auditor:
    """Checks numbers against a warehouse, whose values are queried once."""

    def __init__(self, root: Path, query_folders: tuple[Path, ...] = ()) -> None:
        self.known = KnownValues(root, query_folders)
        self.vocabulary = Vocabulary(known.row for known in self.known.values)
        self.selectors: dict[Number, str] = {}  # of the reproduced numbers

    def finding(self, number: Number) -> Finding:
        """What the warehouse says of a number."""
        stated = self.vocabulary.stated(number.words)
        if key := _setting_of(number, stated):
            return self._setting(number, key)
        measure = measure_of_unit(number.unit)
        if measure is None:
            return _untraceable(number, f"no query answers in {number.unit}")
        held = self._held(self.known.values, number, stated, measure)
        named = [known for known in held if is_said(known, number.words)]
        ratios = self._ratios(number, stated) if measure.name == SHARE else []
        for values in (named, held):
            if fitting := [known for known in values if within(known.value / measure.factor, ends_of(number))]:
                return self._reproduced(number, fitting, values, stated, measure)
        if whole := self._of_everything(number, stated, measure):
            return whole
        if derived := [ratio for ratio in ratios if within(ratio.value / measure.factor, ends_of(number))]:
            return _reproduced_ratio(number, derived[0], ratios, measure)
        if number.hedge or any(within(known.value / measure.factor, widest(number)) for known in held):
            return _untraceable(number, "the text gives it as a round figure")
        accusation = self._stale(number, named, stated, measure) or _stale_ratio(number, ratios, measure)
        return accusation or _untraceable(number, _NO_VALUE if held else _NO_QUANTITY)

    def _held(self, values: Iterable[KnownValue], number: Number, stated: Stated, measure: Measure) -> list[KnownValue]:
        """The values of the quantity and of the rows that the words name."""
        return [
            known
            for known in values
            if known.measure.name == measure.name
            and holds(known, number.words)
            and not contradicts(known.row.facts, stated)
        ]

    def _setting(self, number: Number, key: str) -> Finding:
        """A number that describes runs: a count of devices, a batch size."""
        count = _count_of(number)
        if any(count in known.row.facts.get(key, ()) for known in self.known.values):
            return Finding("reproduced", (number,), f"runs have {key} {count}", "", f"a fact of runs: {key} = {count}")
        return _untraceable(number, f"no run has {key} {count}")

    def _ratios(self, number: Number, stated: Stated) -> list[Ratio]:
        meant = [known for known in self.known.values if not contradicts(known.row.facts, stated)]
        return ratios_of(meant, stated, number.words, number.unit == "%")

    def _reproduced(
        self,
        number: Number,
        fitting: Sequence[KnownValue],
        values: Sequence[KnownValue],
        stated: Stated,
        measure: Measure,
    ) -> Finding:
        named = [known for known in fitting if facts_said(known.row.facts, stated)]
        best = (named or fitting)[0]
        selector = selector_of(best, self.known.values) or best.where
        if is_chance(ends_of(number), (known.value for known in values), bool(named)):
            return _untraceable(number, f"{selector} has it, and of {len(values)} such values one has it by chance")
        self.selectors[number] = selector
        exact = like(number, best.value / measure.factor)
        return Finding("reproduced", (number,), f"{selector} is {exact}", "", _evidence(selector, best))

    def _of_everything(self, number: Number, stated: Stated, measure: Measure) -> Finding | None:
        """A finding if the words say that nothing is left out, and a value with nothing left out is printed so."""
        if not _SAYS_ALL.search(number.words):
            return None
        values = [known for known in self.known.other_values if known.row.parameters == _EVERYTHING]
        held = self._held(values, number, stated, measure)
        for group in ([known for known in held if is_said(known, number.words)], held):
            fitting = [known for known in group if within(known.value / measure.factor, ends_of(number))]
            named = [known for known in fitting if facts_said(known.row.facts, stated)]
            if fitting and not is_chance(ends_of(number), (known.value for known in group), bool(named)):
                best = (named or fitting)[0]
                text = f"{best.where} is {like(number, best.value / measure.factor)}"
                statement = f"SELECT {best.column} FROM {best.row.query}(exclude := 'none')"
                return Finding("reproduced", (number,), text, "", statement)
        return None

    def _stale(self, number: Number, named: Sequence[KnownValue], stated: Stated, measure: Measure) -> Finding | None:
        """A finding if the value that the words name is near or one slip away, or fits under other exclusions."""
        middle = sum(ends_of(number)) / 2
        alone = sorted(self._alone(named, stated), key=lambda known: abs(known.value / measure.factor - middle))
        if not alone:
            return None
        others = self._alone(self._held(self.known.other_values, number, stated, measure), stated)
        others = [other for other in others if is_said(other, number.words)]
        fitting = [other for other in others if within(other.value / measure.factor, ends_of(number))]
        if fitting and not is_chance(ends_of(number), (other.value for other in others)):
            return self._accused(number, alone[0], f"the number is {fitting[0].where}", measure)
        slips = ((known, slip_between(number, known.value / measure.factor, measure)) for known in alone)
        return next((self._accused(number, known, slip, measure) for known, slip in slips if slip), None)

    def _alone(self, values: Iterable[KnownValue], stated: Stated) -> list[KnownValue]:
        """Values of columns of which a single row is meant, and named.

        A count or a model is enough to name a row only in a warehouse of one study: other texts, too, have batches of
        512.
        """
        columns: dict[str, list[KnownValue]] = defaultdict(list)
        for known in values:
            columns[known.where].append(known)
        single = [group[0] for group in columns.values() if len(group) == 1]
        return [
            known
            for known in single
            if (facts := facts_said(known.row.facts, stated))
            and ("name" in facts or len(facts) > 1 or self.known.is_one_study)
        ]

    def _accused(self, number: Number, now: KnownValue, how: str, measure: Measure) -> Finding:
        value = now.value / measure.factor
        selector = selector_of(now, self.known.values) or now.where
        text = f"{_printed(number)}: {selector} is {like(number, value)} now; {how}"
        return Finding("stale", (number,), text, _weight(number, value), _evidence(selector, now))


def _setting_of(number: Number, stated: Stated) -> str | None:
    """The fact that a count states: `devices` for the 8 in "8 GPUs"."""
    if not re.fullmatch(r"[\d,]+", number.text) or (number.unit and measure_of_unit(number.unit)):
        return None
    return next((key for key in COUNTS if _count_of(number) in stated.get(key, ())), None)


def _count_of(number: Number) -> int:
    return int(number.text.replace(",", ""))


def _reproduced_ratio(number: Number, ratio: Ratio, ratios: Sequence[Ratio], measure: Measure) -> Finding:
    if is_chance(ends_of(number), (other.value for other in ratios)):
        return _untraceable(number, f"{ratio.formula} has it, and of {len(ratios)} such ratios one has it by chance")
    text = f"{ratio.formula} is {like(number, ratio.value / measure.factor)}"
    return Finding("reproduced", (number,), text, "", ratio.formula)


def _stale_ratio(number: Number, ratios: Sequence[Ratio], measure: Measure) -> Finding | None:
    """A finding if the ratio nearest to the number is near or one slip away."""
    middle = sum(ends_of(number)) / 2
    for ratio in sorted(ratios, key=lambda ratio: abs(ratio.value / measure.factor - middle)):
        value = ratio.value / measure.factor
        if how := slip_between(number, value, measure):
            text = f"{_printed(number)}: {ratio.formula} is {like(number, value)} now; {how}"
            return Finding("stale", (number,), text, _weight(number, value), ratio.formula)
    return None


def _evidence(selector: str, known: KnownValue) -> str:
    """The SQL that gives a value."""
    of_query = f"SELECT * FROM {known.row.query}()"
    statement = question_of("", selector).statement if SELECTOR.fullmatch(selector) else of_query
    return statement.replace("SELECT *", f"SELECT {known.column}", 1)


def _weight(number: Number, value: float) -> str:
    """Whether a reader would conclude otherwise."""
    middle = sum(ends_of(number)) / 2
    return "slip" if math.isclose(middle, value, rel_tol=_MATTERS) else "conclusion"


def _printed(number: Number) -> str:
    return f"{number.text} {'times' if number.unit == 'x' else number.unit}".rstrip()


def _untraceable(number: Number, why: str) -> Finding:
    return Finding("untraceable", (number,), f"{_printed(number)}: {why}", "", "")
