"""A selector: the text that names one value of a warehouse.

`scaling.efficiency[system='lumi', devices=256]` must match one row of a query; SQL must give one row, whose first
column counts.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from scalelens.errors import UserError
from scalelens.question.question import Question, literal, select_of
from scalelens.report.columns import Columns
from scalelens.report.text.table_columns import SHOWN_UNITS, intervals
from scalelens.units import ratio

if TYPE_CHECKING:
    import polars as pl

    from scalelens.question.session import Session

_VALUE = r"""(\w+)\s*=\s*('(?:[^']|'')*'|"[^"]*"|[^\s,'"\])]+)"""
_VALUES = rf"\s*(?:{_VALUE}\s*(?:,\s*{_VALUE}\s*)*)?"
SELECTOR = re.compile(
    rf"(?P<query>\w+)(?:\((?P<parameters>{_VALUES})\))?\.(?P<column>\w+)(?:\[(?P<where>{_VALUES})\])?"
    r"(?: in (?P<unit>\S+))?"
)
_SQL = re.compile(r"\s*(SELECT|FROM|WITH)\b", re.IGNORECASE)
_EXAMPLE = "scaling.efficiency[system='lumi', devices=256]"


class SelectedValue(NamedTuple):
    """The value of a selector."""

    name: str
    selector: str
    value: Any
    ends: tuple[float, float, str] | None  # of its interval, and the kind
    unit: str | None
    run_ids: list[str]  # of all rows of its query, because an efficiency rests on its base; empty: of all
    doubt: str


def question_of(name: str, selector: str) -> Question:
    """What a selector asks; `name` is what it stands for.  Raises UserError where it is not a selector."""
    if _SQL.match(selector):
        return Question(sql=selector)
    found = SELECTOR.fullmatch(selector.strip())
    if not found:
        raise UserError(f"'{selector}' of {name} is neither QUERY.COLUMN[KEY=VALUE] nor SQL", f"write {_EXAMPLE}")
    conditions = [
        f"run_id IN (SELECT run_id FROM runs WHERE name = {literal(value)})"
        if key == "run"
        else f"{key} = {literal(value)}"
        for key, value in _values_of(found["where"]).items()
    ]
    select = select_of(where=" AND ".join(conditions) or None)
    return Question(found["query"], parameters=_values_of(found["parameters"]), select=select)


def _values_of(text: str | None) -> dict[str, str]:
    """`system='lumi', devices=256` as a dict."""
    return {
        key: value[1:-1].replace("''", "'") if value[0] in "'\"" else value
        for key, value in re.findall(_VALUE, text or "")
    }


def selected_value(session: "Session", name: str, selector: str) -> SelectedValue:
    """The value of a selector.  Raises UserError where it matches none or several, with what there is."""
    from scalelens.question.answer import run_ids  # what it needs takes long to load

    question = question_of(name, selector)
    found = SELECTOR.fullmatch(selector.strip()) if question.query else None
    answer = session.ask(question)
    columns = {column.name: column for column in answer.query.columns} if answer.query else {}
    column = found["column"] if found else None
    if column and column not in columns:
        raise UserError(f"{name}: {question.query} has no column '{column}'", f"it has {', '.join(columns)}")
    rows = answer.frame
    whole = session.ask(question.all_rows).frame if found else rows.clear()
    column = column or rows.columns[0]
    if rows.height != 1:
        asked = _values_of(found["where"]) if found else {}
        choice = _choices(rows if rows.height else whole, rows.height > 0, asked)
        raise UserError(f"{name}: {rows.height or 'no'} rows match {selector.strip()}", choice)
    value = rows[column][0]
    if value is None:
        raise UserError(f"{name}: the value of {selector.strip()} is not known", "see the row: scalelens query")
    doubt = "; ".join(str(rows[key][0]) for key in ("warning", "note") if key in rows.columns and rows[key][0])
    unit = columns[column].unit if column in columns else None
    number = SelectedValue(
        name,
        selector.strip(),
        value,
        intervals(Columns(answer.table), column, columns)[0],
        unit,
        run_ids(whole.to_arrow()),
        doubt,
    )
    return _converted(number, found["unit"]) if found and found["unit"] else number


def _choices(rows: "pl.DataFrame", matched: bool, asked: Mapping[str, str]) -> str:
    """What tells rows apart, the shortest first; where none matched, what the columns that were asked for hold."""
    if rows.is_empty():
        return "the query has no rows in this warehouse"
    telling = [name for name, kind in rows.schema.items() if not kind.is_float() and not kind.is_nested()]
    telling = [name for name in telling if matched or name in asked] or telling
    values = {name: rows[name].drop_nulls().unique(maintain_order=True).to_list() for name in telling}
    texts = [
        f"{name} {', '.join(map(repr, some[:6]))}{' ...' if len(some) > 6 else ''}"
        for name, some in values.items()
        if len(some) > (1 if matched else 0)
    ]
    return f"{'they differ in' if matched else 'there are'}: {'; '.join(sorted(texts, key=len)[:5])}"


def _converted(number: SelectedValue, unit: str) -> SelectedValue:
    """A number in another unit.  Raises UserError where that is none of its unit."""
    own = number.unit or ""
    factors = {name: ratio(name, own) for _, name in SHOWN_UNITS.get(own, ())}
    if not own:
        factors = {"%": ratio("%", "")}
    if unit not in factors:
        raise UserError(f"{number.name} cannot be given in {unit}", f"take {', '.join(factors) or own}")
    ends = number.ends and (number.ends[0] / factors[unit], number.ends[1] / factors[unit], number.ends[2])
    return number._replace(value=number.value / factors[unit], ends=ends, unit=unit)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
