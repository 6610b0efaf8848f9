"""Settings whose product is the same in every row, and stands in the text: degrees of parallelism, a global batch."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.meaning import is_factor
from scalelens.audit.forms.series import Series, columns_of
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.wording import about, matters, middle, table_name

_LEAST = 4
_MOST_FACTORS = 8
_MOST_FACTORS_OF_ONE = 4


def find(document: Document) -> Iterator[Finding]:
    """Rows whose product of settings is not the constant that all the others have."""
    for table in document.tables:
        settings = [each for each in columns_of(table) if is_factor(each)]
        if len(table.cells) < _LEAST or not 2 <= len(settings) <= _MOST_FACTORS:
            continue
        stated = {middle(n.bounds) for s in document.sentences if s.line < table.line for n in s.numbers if not n.hedge}
        done: set[int] = set()
        for count in range(2, _MOST_FACTORS_OF_ONE + 1):
            for chosen in combinations(settings, count):
                for finding in _broken(table, chosen, stated):
                    if finding.numbers[0].line not in done:
                        done.add(finding.numbers[0].line)
                        yield finding


def _is_chosen(product: Decimal, constant: Decimal) -> bool:
    """Whether a row may have another product on purpose: twice or half as much, and so on."""
    ratio = max(product, constant) / min(product, constant) if min(product, constant) > 0 else Decimal(1)
    return ratio == ratio.to_integral_value()


def _broken(table: TextTable, chosen: tuple[Series, ...], stated: set[Decimal]) -> Iterator[Finding]:
    products: dict[int, Decimal] = {}
    for row in range(len(table.cells)):
        numbers = [each.numbers[row] for each in chosen]
        if any(number is None for number in numbers):
            return
        products[row] = Decimal(1)
        for number in numbers:
            products[row] *= middle(number.bounds) if number else 1
    (constant, rows), *_ = Counter(products.values()).most_common(1)
    apart = [row for row, each in products.items() if each != constant]
    if len(apart) != 1 or rows < _LEAST or constant not in stated or _is_chosen(products[apart[0]], constant):
        return
    agreeing = [row for row in products if row not in apart]
    changing = [each for each in chosen if len({each.numbers[row].text for row in agreeing if each.numbers[row]}) > 1]  # type: ignore[union-attr]
    if len(changing) < 2:
        return
    row = apart[0]
    broken: list[Number] = [number for each in changing if (number := each.numbers[row])]
    shown = " × ".join(number.text for each in chosen if (number := each.numbers[row]))
    yield Finding(
        "inconsistent",
        tuple(broken),
        f"{shown} = {about(products[row], 7)}, but the product is {about(constant, 7)} in the {rows} other rows of "
        f"{table_name(table)}, as the text says.",
        matters(Bounds(products[row], products[row]), Bounds(constant, constant)),
        " × ".join(each.name for each in chosen) + " is the same in all rows",
    )
