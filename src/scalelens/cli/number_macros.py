"""Single values of a study as macros of LaTeX, so that a text cannot go stale.

A value is named by a selector, `scaling.efficiency[system='lumi', devices=256]`, which must match one row of a query,
or by SQL that gives one row, whose first column counts.  It is rounded to two digits of its interval.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scalelens.errors import UserError
from scalelens.report.column_texts import SCALES, intervals

if TYPE_CHECKING:
    import polars as pl

VALUE = r"""(\w+)\s*=\s*('(?:[^']|'')*'|"[^"]*"|[^\s,'"\])]+)"""
VALUES = rf"\s*(?:{VALUE}\s*(?:,\s*{VALUE}\s*)*)?"
SELECTOR = re.compile(
    rf"(?P<query>\w+)(?:\((?P<parameters>{VALUES})\))?\.(?P<column>\w+)(?:\[(?P<where>{VALUES})\])?"
    r"(?: in (?P<unit>\S+))?"
)
SQL = re.compile(r"\s*(SELECT|FROM|WITH)\b", re.IGNORECASE)
EXAMPLE = "scaling.efficiency[system='lumi', devices=256]"
DIGITS_OF_INTERVAL = 2
DIGITS = 3  # of a value without an interval
MOST_DECIMALS = 12
WORDS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
USE = "% Use \\SI{\\name}{\\nameUnit} of siunitx, or \\name{} alone.  \\nameLow and \\nameHigh end its interval.\n"


class Number(NamedTuple):
    """A value that a text names."""

    name: str
    selector: str
    value: Any
    ends: tuple[float, float, str] | None  # of its interval, and the kind
    unit: str | None
    run_ids: list[str]  # of all rows of its query, because an efficiency rests on its base; empty: of all
    doubt: str


def numbers_text(
    root: Path, selectors: Mapping[str, str], folders: tuple[Path, ...] = ()
) -> tuple[str, dict[str, Any], "pl.DataFrame"]:
    """The file of numbers, its provenance, and the values as rows.

    Raises UserError for a name that LaTeX cannot hold and for a selector that does not match one value.
    """
    import polars as pl

    from scalelens.database.connect import connect
    from scalelens.queries.load import load
    from scalelens.report.inputs import inputs_of
    from scalelens.report.latex import comment
    from scalelens.report.provenance import latex_comment, make_provenance

    check_names(selectors)
    statements = {name: statement_of(name, selector) for name, selector in selectors.items()}
    found = [number_of(root, name, selectors[name], statement, folders) for name, statement in statements.items()]
    rows = pl.DataFrame([as_row(number) for number in found], schema_overrides={"run_ids": pl.List(pl.String)})
    connection = connect(root, folders, "members params", {}, closed=True)
    rest_on_all = any(not number.run_ids for number in found)
    inputs = inputs_of(connection, root, rows.drop("run_ids") if rest_on_all else rows)
    sql = ";\n".join(statements.values())
    made = make_provenance({"numbers": [*selectors.items()]}, sql, inputs, rows, load(folders, sql))
    lines = (comment(described(number)) + "".join(macros(number)) for number in found)
    return USE + latex_comment(made) + "".join(lines), made, rows


def check_names(selectors: Mapping[str, str]) -> None:
    """Raises UserError for a name that cannot be that of a macro, or that another number's macros have."""
    for name in selectors:
        if not re.fullmatch("[A-Za-z]+", name):
            letters = re.sub("[^A-Za-z]", "", re.sub(r"\d", lambda digit: WORDS[int(digit[0])], name))
            raise UserError(
                f"'{name}' cannot be the name of a macro, which has letters alone", f"call it {letters or 'someName'}"
            )
        if name.startswith("end"):
            raise UserError(f"LaTeX defines no macro whose name begins with 'end', such as '{name}'", "rename it")
        for suffix in ("Low", "High", "Unit"):
            if f"{name}{suffix}" in selectors:
                raise UserError(f"'{name}{suffix}' is a macro of '{name}' already", "rename one of them")


def statement_of(name: str, selector: str, whole: bool = False) -> str:
    """The SQL of a selector; that of all rows of its query with `whole`."""
    from scalelens.database.ask import call, literal

    if SQL.match(selector):
        return selector
    found = SELECTOR.fullmatch(selector.strip())
    if not found:
        raise UserError(f"'{selector}' of {name} is neither QUERY.COLUMN[KEY=VALUE] nor SQL", f"write {EXAMPLE}")
    conditions = [
        f"run_id IN (SELECT run_id FROM runs WHERE name = {literal(value)})"
        if key == "run"
        else f"{key} = {literal(value)}"
        for key, value in values_of(found["where"]).items()
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions and not whole else ""
    return f"SELECT * FROM {call(found['query'], values_of(found['parameters']))}{where}"


def values_of(text: str | None) -> dict[str, str]:
    """`system='lumi', devices=256` as a dict."""
    return {
        key: value[1:-1].replace("''", "'") if value[0] in "'\"" else value
        for key, value in re.findall(VALUE, text or "")
    }


def number_of(root: Path, name: str, selector: str, statement: str, folders: tuple[Path, ...]) -> Number:
    """The value of a selector.  Raises UserError where it matches none or several, with what there is."""
    from scalelens.charts.load import run_ids
    from scalelens.database.ask import answer_of, check_call
    from scalelens.queries.load import load

    found = None if SQL.match(selector) else SELECTOR.fullmatch(selector.strip())
    queries = load(folders, statement)
    if found:
        check_call(found["query"], values_of(found["parameters"]), queries, folders)
    columns = {column.name: column for column in queries[found["query"]].columns} if found else {}
    column = found["column"] if found else None
    if column and column not in columns:
        raise UserError(
            f"{name}: {found['query'] if found else ''} has no column '{column}'", f"it has {', '.join(columns)}"
        )
    rows = answer_of(root, statement, folders)
    whole = answer_of(root, statement_of(name, selector, whole=True), folders) if found else rows.clear()
    column = column or rows.columns[0]
    if rows.height != 1:
        asked = values_of(found["where"]) if found else {}
        choice = choices(rows if rows.height else whole, rows.height > 0, asked)
        raise UserError(f"{name}: {rows.height or 'no'} rows match {selector.strip()}", choice)
    value = rows[column][0]
    if value is None:
        raise UserError(f"{name}: the value of {selector.strip()} is not known", "see the row: scalelens query")
    doubt = "; ".join(str(rows[key][0]) for key in ("warning", "note") if key in rows.columns and rows[key][0])
    unit = columns[column].unit if column in columns else None
    number = Number(name, selector.strip(), value, intervals(rows, column, columns)[0], unit, run_ids(whole), doubt)
    return converted(number, found["unit"]) if found and found["unit"] else number


def choices(rows: "pl.DataFrame", matched: bool, asked: Mapping[str, str]) -> str:
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


def converted(number: Number, unit: str) -> Number:
    """A number in another unit.  Raises UserError where that is none of its unit."""
    own = number.unit or ""
    factors = {name: factor for _, name, factor in SCALES.get(own, ())}
    if not own:
        factors = {"%": 0.01}
    if unit not in factors:
        raise UserError(f"{number.name} cannot be given in {unit}", f"take {', '.join(factors) or own}")
    ends = number.ends and (number.ends[0] / factors[unit], number.ends[1] / factors[unit], number.ends[2])
    return number._replace(value=number.value / factors[unit], ends=ends, unit=unit)


def as_row(number: Number) -> dict[str, Any]:
    """A number as a row: `text` is what is no number."""
    low, high, kind = number.ends or (None, None, None)
    return {
        "name": number.name, "value": float(number.value) if is_number(number.value) else None,
        "text": None if is_number(number.value) else str(number.value), "low": low, "high": high, "kind": kind,
        "unit": number.unit, "run_ids": number.run_ids, "doubt": number.doubt,
    }  # fmt: skip


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def described(number: Number) -> str:
    """What a reader of the file should know of a number."""
    kinds = {"ci95": "its interval is one of 95 %", "range": "its interval is the range", None: "it has no interval"}
    kind = number.ends[2] if number.ends else None
    parts = [f"{number.name} = {number.selector}", kinds.get(kind, f"its interval: {kind}"), number.doubt]
    return "; ".join(filter(None, parts))


def macros(number: Number) -> list[str]:
    """The definitions of a number."""
    from scalelens.report.latex import escaped, unit

    if not is_number(number.value):
        return [macro(number.name, escaped(str(number.value)))]
    if not math.isfinite(number.value):
        raise UserError(f"{number.name} is {number.value}", "name a number")
    places = decimals(number.value, number.ends)
    lines = [macro(number.name, rounded(number.value, places))]
    if number.ends:
        low, high, _ = number.ends
        lines += [macro(f"{number.name}{end}", rounded(at, places)) for end, at in (("Low", low), ("High", high))]
    return lines + ([macro(f"{number.name}Unit", unit(number.unit))] if number.unit else [])


def macro(name: str, text: str) -> str:
    return f"\\newcommand{{\\{name}}}{{{text}}}\n"


def decimals(value: float, ends: tuple[float, float, str] | None) -> int:
    """Decimals to round to: two digits of the interval; three of a value without one; a whole number stays."""
    half = max(value - ends[0], ends[1] - value) if ends else 0.0
    if half > 0:
        return min(DIGITS_OF_INTERVAL - 1 - math.floor(math.log10(half)), MOST_DECIMALS)
    if value == int(value):
        return 0
    return min(DIGITS - 1 - math.floor(math.log10(abs(value))), MOST_DECIMALS)


def rounded(value: float, places: int) -> str:
    return f"{round(value, places):.{max(places, 0)}f}"
