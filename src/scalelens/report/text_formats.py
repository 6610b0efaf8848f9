"""Rows as text, for files and for people: values that CSV can hold, JSON, Markdown, LaTeX."""

import re
from typing import TYPE_CHECKING, Any

from scalelens.inert import FORMULA, NUMBER, visible

if TYPE_CHECKING:
    import polars as pl

# A text that is looked at; the classes are those of polars' expressions.
MARKDOWN_ACTIVE = re.compile(r"[|\[\]`]|\\(?=[!-/:-@\[-`{-~])|&(?=#?\w+;)")  # what Markdown would act on
CONTROL_OR_FORMULA = r"^[=+@-]|[\p{Cc}\p{Cf}\p{Cn}]"


def without_nested(rows: "pl.DataFrame") -> "pl.DataFrame":
    """Rows without types that CSV does not have: lists and the like become text."""
    import polars as pl

    nested = [name for name, kind in rows.schema.items() if kind.is_nested() or kind == pl.Binary]
    texts = ([None if value is None else cell(value) for value in rows[name].to_list()] for name in nested)
    return rows.with_columns(pl.Series(name, text, pl.String) for name, text in zip(nested, texts, strict=True))


def inert_csv(rows: "pl.DataFrame", header: bool = True) -> str:
    """Rows as CSV.  Control characters are visible, and no text is a formula: an apostrophe stands before it."""
    import polars as pl

    plain = without_nested(rows)
    texts = [name for name, kind in plain.schema.items() if isinstance(kind, pl.String | pl.Categorical | pl.Enum)]
    plain = plain.with_columns(pl.col(name).cast(pl.String) for name in texts)
    odd = [name for name in texts if plain[name].str.contains(CONTROL_OR_FORMULA).any()]
    shown = (pl.Series(name, [text and inert_cell(text) for text in plain[name]], pl.String) for name in odd)
    plain = plain.with_columns(shown).rename({name: inert_cell(name) for name in plain.columns})
    return plain.write_csv(include_header=header, datetime_format="%Y-%m-%d %H:%M:%S%.f")


def inert_cell(text: str) -> str:
    """A text of a CSV.  Line feeds and tabs stay, because quotation marks hold them."""
    shown = visible(text, lines=True)
    is_formula = re.match(FORMULA, shown) and not re.match(NUMBER, shown)
    return f"'{shown}" if is_formula else shown


def json_text(rows: "pl.DataFrame") -> str:
    """Rows as a JSON array of objects."""
    import msgspec

    return msgspec.json.Encoder(decimal_format="number").encode(plain_rows(rows)).decode()


def plain_rows(rows: "pl.DataFrame") -> list[dict[str, Any]]:
    """Rows as objects.  NaN and infinity become None, because JSON does not have them."""

    def plain(value: Any) -> Any:
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return None
        return value

    return [{name: plain(value) for name, value in row.items()} for row in rows.iter_rows(named=True)]


def cells(rows: "pl.DataFrame") -> list[list[str]]:
    """All values as people read them."""
    return [[cell(value) for value in row] for row in rows.iter_rows()]


def cell(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, list):
        return " ".join(cell(item) for item in value)
    return visible(str(value))


def number_text(value: float) -> str:
    """A number with four significant digits; a large whole number as it is."""
    if value != value:
        return "nan"
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1e4):
        return f"{value:.0f}"
    return f"{value:.4g}"


def markdown(rows: "pl.DataFrame") -> str:
    """Rows as a Markdown table.  No text in it is HTML, a link or an image."""

    def inert(text: str) -> str:
        return MARKDOWN_ACTIVE.sub(r"\\\g<0>", text).replace("<", "&lt;")

    lines = [[*map(inert, map(visible, rows.columns))], ["---"] * rows.width]
    lines += [[*map(inert, line)] for line in cells(rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def latex(rows: "pl.DataFrame") -> str:
    """Rows as a LaTeX tabular with the rules of booktabs; numbers stand to the right."""

    from scalelens.report.latex import escaped

    align = "".join("r" if kind.is_numeric() else "l" for kind in rows.dtypes)
    body = [" & ".join(map(escaped, line)) + r" \\" for line in [[*map(visible, rows.columns)], *cells(rows)]]
    lines = [
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        body[0],
        r"\midrule",
        *body[1:],
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"
