"""Single values of a study as macros of LaTeX, so that a text cannot go stale.

A value is named by a selector, `scaling.efficiency[system='lumi', devices=256]`, which must match one row of a query,
or by SQL that gives one row, whose first column counts.  It is rounded to two digits of its interval.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.errors import UserError
from scalelens.report.selectors import SelectedValue, is_number, question_of, selected_value

if TYPE_CHECKING:
    import polars as pl

    from scalelens.queries.header import Query
    from scalelens.question.session import Session

_DIGITS_OF_INTERVAL = 2
_DIGITS = 3  # of a value without an interval
_MOST_DECIMALS = 12
_WORDS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_USE = "% Use \\SI{\\name}{\\nameUnit} of siunitx, or \\name{} alone.  \\nameLow and \\nameHigh end its interval.\n"


def numbers_text(
    root: Path, selectors: Mapping[str, str], folders: tuple[Path, ...] = ()
) -> tuple[str, dict[str, Any], dict[str, str], "pl.DataFrame"]:
    """The file of numbers, its provenance, the files that it rests on, and the values as rows.

    Raises UserError for a name that LaTeX cannot hold and for a selector that does not match one value.
    """
    import polars as pl

    from scalelens.queries.load import needed_by
    from scalelens.question.inputs import NEEDED_FOR_INPUTS, inputs_of
    from scalelens.question.provenance import make_provenance
    from scalelens.question.session import in_session
    from scalelens.report.provenance_in_files import latex_comment
    from scalelens.report.text.latex import comment

    _check_names(selectors)
    sql = ";\n".join(question_of(name, selector).statement for name, selector in selectors.items())

    def in_open(session: "Session") -> "tuple[list[SelectedValue], dict[str, str], dict[str, Query]]":
        found = [selected_value(session, name, selector) for name, selector in selectors.items()]
        rest_on_all = any(not number.run_ids for number in found)
        runs = set() if rest_on_all else {run for number in found for run in number.run_ids}
        return found, inputs_of(session.connection, session.warehouse, sorted(runs)), needed_by(sql, session.queries)

    found, inputs, queries = in_session(root, in_open, folders, about=f"{sql}; {NEEDED_FOR_INPUTS} runs")
    rows = pl.DataFrame([_as_row(number) for number in found], schema_overrides={"run_ids": pl.List(pl.String)})
    made = make_provenance({"numbers": [*selectors.items()]}, sql, inputs, rows, queries)
    lines = (comment(_described(number)) + "".join(_macros(number)) for number in found)
    return _USE + latex_comment(made) + "".join(lines), made, inputs, rows


def _check_names(selectors: Mapping[str, str]) -> None:
    """Raises UserError for a name that cannot be that of a macro, or that another number's macros have."""
    for name in selectors:
        if not re.fullmatch("[A-Za-z]+", name):
            letters = re.sub("[^A-Za-z]", "", re.sub(r"\d", lambda digit: _WORDS[int(digit[0])], name))
            raise UserError(
                f"'{name}' cannot be the name of a macro, which may contain only letters",
                f"call it {letters or 'someName'}",
            )
        if name.startswith("end"):
            raise UserError(f"LaTeX defines no macro whose name begins with 'end', such as '{name}'", "rename it")
        for suffix in ("Low", "High", "Unit"):
            if f"{name}{suffix}" in selectors:
                raise UserError(f"'{name}{suffix}' is a macro of '{name}' already", "rename one of them")


def _as_row(number: SelectedValue) -> dict[str, Any]:
    """A number as a row: `text` is what is no number."""
    low, high, kind = number.ends or (None, None, None)
    return {
        "name": number.name, "value": float(number.value) if is_number(number.value) else None,
        "text": None if is_number(number.value) else str(number.value), "low": low, "high": high, "kind": kind,
        "unit": number.unit, "run_ids": number.run_ids, "doubt": number.doubt,
    }  # fmt: skip


def _described(number: SelectedValue) -> str:
    """What a reader of the file should know of a number."""
    kinds = {"ci95": "its interval is one of 95 %", "range": "its interval is the range", None: "it has no interval"}
    kind = number.ends[2] if number.ends else None
    parts = [f"{number.name} = {number.selector}", kinds.get(kind, f"its interval: {kind}"), number.doubt]
    return "; ".join(filter(None, parts))


def _macros(number: SelectedValue) -> list[str]:
    """The definitions of a number."""
    from scalelens.report.text.latex import escaped, unit

    if not is_number(number.value):
        return [_macro(number.name, escaped(str(number.value)))]
    if not math.isfinite(number.value):
        raise UserError(f"{number.name} is {number.value}", "name a number")
    places = decimals(number.value, number.ends)
    lines = [_macro(number.name, _rounded(number.value, places))]
    if number.ends:
        low, high, _ = number.ends
        lines += [_macro(f"{number.name}{end}", _rounded(at, places)) for end, at in (("Low", low), ("High", high))]
    return lines + ([_macro(f"{number.name}Unit", unit(number.unit))] if number.unit else [])


def _macro(name: str, text: str) -> str:
    return f"\\newcommand{{\\{name}}}{{{text}}}\n"


def decimals(value: float, ends: tuple[float, float, str] | None) -> int:
    """Decimals to round to: two digits of the interval; three of a value without one; a whole number stays."""
    half = max(value - ends[0], ends[1] - value) if ends else 0.0
    if half > 0:
        return min(_DIGITS_OF_INTERVAL - 1 - math.floor(math.log10(half)), _MOST_DECIMALS)
    if value == int(value):
        return 0
    return min(_DIGITS - 1 - math.floor(math.log10(abs(value))), _MOST_DECIMALS)


def _rounded(value: float, places: int) -> str:
    return f"{round(value, places):.{max(places, 0)}f}"
