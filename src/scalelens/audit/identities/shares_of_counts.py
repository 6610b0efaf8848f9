"""An accuracy is the share of the items that are right: in each row, accuracy = correct / all.

The headings say which column is which: one of a share ("accuracy", "pass rate"), one of what was counted ("correct",
"passed") and one of all ("total", "pairs", "n").  If all rows but one follow within their digits, two of them at least,
the other one is accused where a slip in its share or in a count would mend it, or where its share is another row's.
"""

import re
from collections.abc import Iterator
from math import ceil, floor

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import exact
from scalelens.audit.wording import about, matters, middle, table_name, with_unit

_SHARES = re.compile(r"\b(?:accuracy|acc|rate|precision|recall|share|pct|percent|success)\b|%", re.IGNORECASE)
_PARTS = re.compile(
    r"\b(?:correct|right|passed|pass|passes|hits?|solved|successful|successes|matched|detected|found|qualifying|wins?)\b",
    re.IGNORECASE,
)
_WHOLES = re.compile(
    r"\b(?:total|all|pairs|n|items|samples|tests|cases|questions|tasks|examples|trials|runs|count)\b", re.IGNORECASE
)
_LEAST_ROWS = 2
_COUNT = re.compile(r"\d[\d,]*")


def find(document: Document) -> Iterator[Finding]:
    """Rows whose share is not that of their counts."""
    for table in document.tables:
        shares, parts, wholes = (_columns(table, words) for words in (_SHARES, _PARTS, _WHOLES))
        for share in shares:
            for part in set(parts) - set(shares):
                for whole in set(wholes) - {part, *shares}:
                    yield from _of_columns(table, share, part, whole)


def _columns(table: TextTable, words: re.Pattern[str]) -> list[int]:
    return [k for k, heading in enumerate(table.headings) if words.search(heading)]


def _of_columns(table: TextTable, *columns: int) -> Iterator[Finding]:
    rows = [numbers for _, numbers in table.rows_with(*columns) if numbers[0].low > 0]
    rows = [row for row in rows if all(_COUNT.fullmatch(count.text) and count.low > 0 for count in row[1:])]
    of_one = sum(row[0].unit != "%" and row[0].high <= 1 for row in rows)
    size = 1 if 2 * of_one > len(rows) else 100
    rights = [_share(*row[1:]) * exact(size) for row in rows]
    apart = [k for k, right in enumerate(rights) if _wide(rows[k][0]).apart(right)]
    agreeing = {(row[1].text, row[2].text) for k, row in enumerate(rows) if k not in apart}
    if len(apart) != 1 or len(agreeing) < _LEAST_ROWS:
        return
    share, part, whole = rows[apart[0]]
    right = rights[apart[0]]
    others = {row[0].text for row in rows if row[0] is not share}
    words = slip(share.text, float(right.low), float(right.high))
    words = words or ("the value of another row" if share.text in others else "") or _in_a_count(rows, apart[0], size)
    if words and not words.endswith("two"):
        yield Finding(
            "inconsistent",
            (share, part, whole),
            f"{part.text} of {whole.text} are {about(middle(right), 4)}, not {with_unit(share)}: the other rows of "
            f"{table_name(table)} follow from their counts ({words}).",
            matters(share.bounds, right),
            "share = part / whole",
        )


def _in_a_count(rows: list[tuple[Number, ...]], place: int, size: int) -> str:
    """The slip of one of the two counts that would make their share right."""
    share, part, whole = rows[place]
    said = Bounds(share.low / size, share.high / size)
    meant = said * exact(middle(whole.bounds)), exact(middle(part.bounds)) / said
    for k, right in enumerate(meant, 1):
        count = rows[place][k]
        first, last = ceil(right.low), floor(right.high)
        if first > last:
            continue  # no whole number
        words = slip(count.text, first, last)
        if words and not words.endswith("two"):
            return f"in {count.text}: {words}"
    return ""


def _share(part: Number, whole: Number) -> Bounds:
    """Both counts are exact."""
    return exact(middle(part.bounds)) / exact(middle(whole.bounds))


def _wide(share: Number) -> Bounds:
    """A share may be cut instead of rounded."""
    room = (share.high - share.low) / 2
    return Bounds(share.low - room, share.high + room)
