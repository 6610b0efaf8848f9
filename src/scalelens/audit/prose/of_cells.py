"""What a sentence derives from the cells of a table that its words name.

"From 8 to 16 nodes the job saves 45.7 %", "Germany would have emitted 6.7 times as much", "forward and backward take
268 ms together", "Q needs 9.3 GB less than L": rows are named by their labels and columns by their headings, or the
other way round where the columns of a table are the runs.  A number is explained if any two cells of a column give it,
or if the numbers of the text around it do.  It is accused if none does, and one slip would make it what the named cells
give, of which there are so few that a slip would not fit them by chance.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import log10

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.evidence import digits_of
from scalelens.audit.finding import Finding
from scalelens.audit.headings import meaning_of_heading
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.prose.operands import Operand, operand_of
from scalelens.audit.prose.rarest import Way, rarest
from scalelens.audit.quantities import value
from scalelens.audit.wording import about, matters, with_unit
from scalelens.units import base

_FAR = 30  # lines from a table to its sentence
_MOST_ROWS, _MOST_COLUMNS, _MOST_NUMBERS = 24, 14, 24
_BY_CHANCE = 0.05  # how many unrelated numbers a slip may be expected to mend
_LEAST_DIGITS = 2
_CLAUSE = re.compile(
    r"; |: |\. |(?<=>), (?:and |but )?(?!<)|, (?:while|whereas|but|and)\b| (?:and|but|while|whereas) (?=[a-z])"
)
_MARKED = re.compile(r"<(\d+)>")
_WORD = re.compile(r"[a-z][a-z0-9]*|\d+(?:\.\d+)?[a-z]*")
_CHANGES = re.compile(
    r"\b(?:less|fewer|lower|more|higher|faster|slower|better|worse|shorter|longer|smaller|larger|sav\w+|cuts?|reduc\w+|"
    r"rais\w+|rises?|rose|increas\w+|decreas\w+|drops?|dropped|falls?|fell|gains?|shrinks?|grows?|grew|improv\w+|lowers?|"
    r"lowered|costs?|adds?|faster|saved)\b"
)
_TIMES = re.compile(r"\btimes\b|\bfactor\b|\bas (?:much|many|fast|long)\b|\bspeed-?up\b|<\d+> (?:faster|slower)")
_PART = re.compile(r"\b(?:of|at|reach\w*|keeps?|kept|retain\w*|efficien\w+|share)\b")
_TOGETHER = re.compile(r"\b(?:together|total\w*|altogether|in all|combined|sum|add up|adds up|all)\b")
_KINDS = {
    "time": re.compile(
        r"\b(?:faster|slower|fast|speed\w*|time|runtime|long|longer|shorter|latency|seconds|minutes|hours)\b"
    ),
    "rate": re.compile(r"\b(?:faster|slower|fast|speed\w*|rate|throughput)\b"),
    "bytes": re.compile(r"\bmemory\b|<\d+> (?:less|more) memory"),
    "energy": re.compile(r"\benergy\b"),
    "power": re.compile(r"\bpower\b"),
}
_PAIR = 2
_BASE = re.compile(r"\b(?:same|base\w*)\b")
_WIDER = 2.0  # decades by which columns of many quantities are wider than rows of one
_MINOR = {
    "the",
    "a",
    "an",
    "of",
    "and",
    "in",
    "on",
    "with",
    "for",
    "to",
    "at",
    "per",
    "vs",
    "by",
    "no",
    "as",
    "it",
    "is",
}
_SETTINGS = ("devices", "nodes", "batch", "micro_batch", "length", "steps")


@dataclass(frozen=True)
class _Grid:
    """Cells of a table by run and quantity: as they stand, or with rows and columns exchanged."""

    table: TextTable
    runs: tuple[str, ...]
    quantities: tuple[str, ...]
    cells: tuple[tuple[Operand | None, ...], ...]  # by run, then by quantity
    kinds: tuple[str, ...]


def find(document: Document) -> Iterator[Finding]:
    """Numbers of the prose that the cells which their clause names give but for a slip."""
    grids = [grid for table in document.tables for grid in _grids(table)]
    if not grids:
        return
    for index, sentence in enumerate(document.sentences):
        near = [g for g in grids if -_FAR <= sentence.line - g.table.line <= len(g.table.cells) + _FAR]
        if not near or not 0 < len(sentence.numbers) <= _MOST_NUMBERS:
            continue
        marked, numbers = sentence.with_spelled
        for clause, context in _clauses(marked):
            for number in [numbers[int(k)] for k in _MARKED.findall(clause)]:
                if not _is_derived(number, sentence, document):
                    continue
                given = [each for g in near for each in _given(number, clause, context, numbers, g)]
                found = _accused(number, given)
                if found and not _is_explained(number, near, document, index):
                    yield _finding(number, *found)


def _clauses(marked: str) -> Iterator[tuple[str, str]]:
    """Each clause, and the one before it, which may name what is compared."""
    before = ""
    for clause in _CLAUSE.split(marked):
        yield clause, before
        before = f"{before} {clause}"


def _is_derived(number: Number, sentence: Sentence, document: Document) -> bool:
    """Whether a number may be one that its sentence derives: it is printed once, and stands in no table."""
    once = document.times[number.text, number.unit] == 1 and number in sentence.numbers
    once &= number.text[0].isdigit()
    return once and not number.hedge and number.low > 0 and digits_of(number.text) >= _LEAST_DIGITS


def _grids(table: TextTable) -> Iterator[_Grid]:
    rows, columns = range(len(table.cells)), range(1, len(table.headings))
    if not (1 < len(rows) <= _MOST_ROWS and 0 < len(columns) < _MOST_COLUMNS):
        return
    cells = [[operand_of(cell) if cell else None for cell in row] for row in table.cells]
    labels = tuple(texts[0] for texts in table.texts)
    meant = [meaning_of_heading(label).kind for label in labels]
    is_turned = 2 * sum(map(bool, meant)) > len(meant) or any(len(_units(cells, k) - {""}) > 1 for k in columns)
    is_turned |= _spread([[row[k] for row in cells] for k in columns]) > _spread(cells) + _WIDER
    if not is_turned:
        kinds, headings = tuple(table.meanings[k].kind for k in columns), tuple(table.headings[k] for k in columns)
        yield _Grid(table, labels, headings, tuple(tuple(row[1:]) for row in cells), kinds)
    for unit in {""} if is_turned else {unit for k in columns for unit in _units(cells, k)}:
        runs = [k for k in columns if is_turned or _units(cells, k) == {unit}]
        if len(runs) > 1:
            turned = tuple(tuple(row[k] for row in cells) for k in runs)
            yield _Grid(table, tuple(table.headings[k] for k in runs), labels, turned, tuple(meant))


def _spread(lists: list[list[Operand | None]]) -> float:
    """Decades between the smallest and the largest number of a list, in the mean of all."""
    sizes = [[each.low + each.high for cell in cells if (each := cell)] for cells in lists]
    spreads = [log10(max(each) / min(each)) for each in sizes if len(each) > 1]
    return sum(spreads) / len(spreads) if spreads else 0.0


def _units(cells: list[list[Operand | None]], column: int) -> set[str]:
    return {cell.number.unit for row in cells if (cell := row[column])}


def _words(text: str) -> frozenset[str]:
    found = {word.rstrip("s") if len(word) > 3 else word for word in _WORD.findall(text.lower())}
    return frozenset(found - _MINOR)


def _named(labels: tuple[str, ...], clause: str, numbers: list[Number]) -> set[int]:
    """Labels of which a clause has all words, or one that only they have; a plain number is named by its value."""
    words = _words(_MARKED.sub(" ", clause))
    amounts = {float(numbers[int(k)].low + numbers[int(k)].high) / 2 for k in _MARKED.findall(clause)}
    own = [_words(label) for label in labels]
    named = set()
    for k, each in enumerate(own):
        plain = re.fullmatch(r"\W*(\d[\d,]*)\W*[A-Za-z]*\W*", labels[k])
        unique = {word for word in each & words if sum(word in other for other in own) == 1 and not word.isdigit()}
        if plain:
            if float(plain[1].replace(",", "")) in amounts:
                named.add(k)
        elif each and (each <= words or unique):
            named.add(k)
    return named


def runs_named(labels: tuple[str, ...], sentence: Sentence) -> set[int]:
    """The runs of a table, by the labels of its rows or columns, that a sentence names."""
    marked, numbers = sentence.with_spelled
    return _named(labels, marked, numbers)


def _given(number: Number, clause: str, context: str, numbers: list[Number], grid: _Grid) -> list[Way]:
    """What the cells that a clause names give for a number of its kind; [] if the clause names too little."""
    marks, before = (re.sub(rf"<{numbers.index(number)}>", " ", each) for each in (clause, context))
    named = _named(grid.runs, marks, numbers)
    explicit = bool(named)
    if len(named) < _PAIR:
        named |= _named(grid.runs, before, numbers)
    if not named and not _TOGETHER.search(marks):
        return []
    based = named | {0} if len(named) == 1 or (named and _BASE.search(clause)) else named
    columns = _named(grid.quantities, marks, numbers) or _named(grid.quantities, before, numbers)
    kinds = {kind for kind, words in _KINDS.items() if words.search(marks)}
    columns |= {k for k, kind in enumerate(grid.kinds) if kind.partition("_")[0] in kinds}
    columns = columns or {k for k, kind in enumerate(grid.kinds) if kind not in _SETTINGS}
    return [
        *_of_pairs(number, marks, clause, based, columns, grid),
        *_of_sums(number, marks, named if explicit else set(), columns, grid),
        *_of_quantities(number, named, _named(grid.quantities, marks, numbers), grid),
    ]


def _of_pairs(
    number: Number, marks: str, clause: str, named: set[int], columns: set[int], grid: _Grid
) -> Iterator[Way]:
    for first, second in permutations(sorted(named), 2):
        for column in sorted(columns):
            a, b = grid.cells[first][column], grid.cells[second][column]
            if not a or not b or a.dimension != b.dimension or a.is_share != b.is_share or a.low == b.low:
                continue
            low, high = a.low / b.high, a.high / b.low
            if number.unit == "x" or (not number.unit and _TIMES.search(clause)):
                if low > 1:
                    yield Way(low, high, "a / b", (a.number, b.number))
            elif number.unit == "%":
                if _PART.search(marks) and low < 1:
                    yield Way(100 * low, 100 * high, "a / b", (a.number, b.number))
                if _CHANGES.search(marks):
                    ends = sorted((100 * abs(low - 1), 100 * abs(high - 1)))
                    yield Way(ends[0], ends[1], "a / b - 1", (a.number, b.number))
            elif number.unit and base(number.unit)[0] == base(a.number.unit)[0] and a.low > b.high:
                size = float(base(number.unit)[1])
                if _CHANGES.search(marks):
                    yield Way((a.low - b.high) / size, (a.high - b.low) / size, "a - b", (a.number, b.number))


def _of_sums(number: Number, marks: str, named: set[int], columns: set[int], grid: _Grid) -> Iterator[Way]:
    """The sum of the named runs, or of all."""
    if not _TOGETHER.search(marks) or number.unit == "x":
        return
    for runs in (named if len(named) > 1 else (), range(len(grid.runs))):
        for column in sorted(columns):
            cells = [cell for run in runs if (cell := grid.cells[run][column])]
            if len(cells) > 1 and len(cells) == len(list(runs)) and len({c.dimension for c in cells}) == 1:
                size = 1.0 if number.unit == "%" else float(base(number.unit)[1])
                is_share = number.unit == "%"
                if number.unit and base(number.unit)[0] != base(cells[0].number.unit)[0]:
                    continue
                if any(c.is_share != is_share for c in cells):
                    continue
                low, high = sum(c.low for c in cells) / size, sum(c.high for c in cells) / size
                yield Way(low, high, "a + b + ...", tuple(c.number for c in cells))


def _of_quantities(number: Number, named: set[int], columns: set[int], grid: _Grid) -> Iterator[Way]:
    """One quantity of a named run per another: "43.5 tokens per parameter"."""
    if number.unit in ("%", "x") or " per " not in number.words or len(named) > 2:
        return
    for run in sorted(named):
        for first, second in permutations(sorted(columns), 2):
            a, b = grid.cells[run][first], grid.cells[run][second]
            if a and b and not a.is_share and not b.is_share:
                size = float(base(number.unit)[1])
                yield Way(a.low / b.high / size, a.high / b.low / size, "a / b", (a.number, b.number))


def _accused(number: Number, given: list[Way]) -> tuple[Way, str] | None:
    """The only thing that named cells give and the slip that the number is away from it; None if one gives it."""
    found = rarest(number, (float(number.low), float(number.high)), given, must_agree=True)
    return found[:2] if found and found[2] <= _BY_CHANCE else None


def _is_explained(number: Number, grids: list[_Grid], document: Document, index: int) -> bool:
    """Whether two cells of any column, or two numbers of the sentences around, give the number."""
    half = float(number.high - number.low) / 2
    low, high = float(number.low) - half, float(number.high) + half
    sentences = document.sentences[max(0, index - 1) : index + 2]
    near = [operand for s in sentences for n in s.with_spelled[1] if n is not number and (operand := operand_of(n))]
    groups = [near, *([c for run in g.cells if (c := run[k])] for g in grids for k in range(len(g.quantities)))]
    size = 1.0 if number.unit in ("%", "x") else float(base(number.unit)[1])
    for group in groups:
        for a, b in permutations(group, 2):
            if a.dimension != b.dimension or a.is_share != b.is_share:
                continue
            p, q = (a.low + a.high) / 2, (b.low + b.high) / 2
            if number.unit == "%":
                ways = [100 * p / q, 100 * abs(p / q - 1), *([p - q] if a.is_share else [])]
            elif number.unit == "x":
                ways = [p / q]
            else:
                ways = [p / q] if not number.unit else []
                ways += [(p - q) / size, (p + q) / size] if base(number.unit)[0] == base(a.number.unit)[0] else []
            if any(low <= way <= high for way in ways):
                return True
    return False


def _finding(number: Number, given: Way, words: str) -> Finding:
    operands = given.operands
    size = base(number.unit)[1]
    right = Bounds(*(type(size)(str(end)) * size for end in (given.low, given.high)))
    unit = "times" if number.unit == "x" else number.unit
    of = " and ".join(with_unit(each) for each in operands)
    return Finding(
        "inconsistent",
        (number, *operands),
        f"{with_unit(number)} does not follow from {of}, which the sentence names: these give "
        f"{about(right.low / size / 2 + right.high / size / 2)} {unit}".rstrip()
        + f" ({words}).",
        matters(value(number), right),
        given.text,
    )
