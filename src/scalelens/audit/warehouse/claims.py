"""Claims: sentences of a text, each bound to the query that gives its number.

    "77 % at 64 nodes" = "scaling.efficiency[devices=256]"

A file of claims is TOML with such lines.  The text must have the sentence, with any spaces and line breaks.  Its first
number with the measure of the column is compared, at the printed digits.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from scalelens.audit.finding import Finding
from scalelens.audit.numerals import numerals
from scalelens.audit.printed import Number, bounds_of
from scalelens.audit.warehouse.digits import ends_of, like, within
from scalelens.audit.warehouse.measures import Measure, measure_of, measure_of_unit
from scalelens.errors import UserError
from scalelens.queries.header import QueryColumn
from scalelens.question.session import Session
from scalelens.report.selectors import SELECTOR, SelectedValue, is_number, selected_value
from scalelens.whole_files import write_file

_LINE = '"77 % at 64 nodes" = "scaling.efficiency[devices=256]"'
_WORDS_AROUND = 5  # of a number, in a proposed claim


def read_claims(path: Path) -> dict[str, str]:
    """Selectors by sentence.  Raises UserError if the file is not a file of claims."""
    try:
        claims: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error})", f"write lines such as {_LINE}") from None
    wrong = next((name for name, value in claims.items() if not isinstance(value, str)), None)
    if wrong is not None:
        raise UserError(f"{path}: '{wrong}' is not bound to a text", f"write lines such as {_LINE}")
    return claims


def broken_claims(claims: Mapping[str, str], text: str, root: Path, folders: tuple[Path, ...] = ()) -> list[Finding]:
    """The claims that do not hold, with the reason and the line of the text."""
    broken = []
    session = Session(root, folders)
    for sentence, selector in claims.items():
        line = _line_of(sentence, text)
        fault = "the text has no such sentence" if line is None else _fault_of(sentence, selector, session)
        if fault:
            number = Number(sentence, Decimal(0), Decimal(0), "", line or 0, 1, sentence)
            broken.append(Finding("claim", (number,), f'"{sentence}": {fault}', "conclusion", selector))
    return broken


def _line_of(sentence: str, text: str) -> int | None:
    """The line of the text at which a sentence begins."""
    found = re.search(r"[\s~]+".join(map(re.escape, sentence.split())), text)
    return text.count("\n", 0, found.start()) + 1 if found else None


def _fault_of(sentence: str, selector: str, session: Session) -> str:
    """Why a claim does not hold; empty if it does."""
    try:
        value = selected_value(session, "the claim", selector)
    except UserError as error:
        return str(error)
    if not is_number(value.value):
        return f"the warehouse has '{value.value}', which is not a number"
    measure = _measure_of_selected(value)
    number = _number_of(sentence, measure)
    if number is None:
        return f"the sentence has no number{f' in {value.unit}' if value.unit else ''} that could be compared"
    printed = measure_of_unit(number.unit) if measure else None
    now = float(value.value) * (measure.factor if measure else 1.0) / (printed.factor if printed else 1.0)
    return "" if within(now, ends_of(number)) else f"the warehouse has {like(number, now)}"


def _measure_of_selected(value: SelectedValue) -> Measure | None:
    """What a selected value measures; None for counts, and for SQL, whose columns have no units."""
    if value.unit:
        return measure_of_unit(value.unit)
    found = SELECTOR.fullmatch(value.selector)
    kind = "BIGINT" if isinstance(value.value, int) else "DOUBLE"
    return measure_of(QueryColumn(found["column"], kind, None, "")) if found else None


def _number_of(sentence: str, measure: Measure | None) -> Number | None:
    """The first number with this measure in a sentence; without a measure, the first number."""
    for token in numerals(sentence):
        own = measure_of_unit(token.unit)
        if measure is None or (own and own.name == measure.name):
            ends = bounds_of(token.text)
            return Number(token.text, ends.low, ends.high, token.unit, 1, token.start + 1, sentence)
    return None


def _proposed(selectors: Mapping[Number, str], text: str) -> dict[str, str]:
    """Claims for the numbers in prose that a warehouse reproduces, if their words can be found in the text again."""
    claims: dict[str, str] = {}
    for number, selector in selectors.items():
        measure = measure_of_unit(number.unit)
        for sentence in _snippets(number) if number.table is None else ():
            first = _number_of(sentence, measure)
            if first and first.text == number.text and _line_of(sentence, text) is not None:
                claims.setdefault(sentence, selector)
                break
    return claims


def _snippets(number: Number) -> Iterable[str]:
    """A few words around a number: first those of its clause, then those from the number on."""
    words = number.words.split()
    index = next((k for k, word in enumerate(words) if number.text.split()[0] in word), None)
    if index is not None:
        ends = [k + 1 for k, word in enumerate(words) if word[-1] in ",;.:"]
        start = max([index - _WORDS_AROUND, 0, *(end for end in ends if end <= index)])
        end = min([index + _WORDS_AROUND + 1, *(end for end in ends if end > index)])
        yield " ".join(words[start:end]).rstrip(",;.:")
        yield " ".join(words[index:end]).rstrip(",;.:")


def write_claims(path: Path, selectors: Mapping[Number, str], text: str) -> int:
    """Adds claims to a file, without changing those that it has.  Returns the number of new ones."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    known = read_claims(path) if old else {}
    new = {name: selector for name, selector in _proposed(selectors, text).items() if name not in known}
    write_file(path, _claims_text(new, old).encode())
    return len(new)


def _claims_text(claims: Mapping[str, str], old: str = "") -> str:
    """A file of claims: the old text, then the new claims."""
    before = f"{old.rstrip()}\n" if old.strip() else ""
    lines = (f"{_quoted(sentence)} = {_quoted(selector)}\n" for sentence, selector in claims.items())
    return before + "".join(lines)


def _quoted(text: str) -> str:
    """A text as a TOML string, which allows whatever a JSON string does."""
    return json.dumps(text, ensure_ascii=False)
