"""Rows as text, for files and for people: values that CSV can hold, JSON, Markdown, LaTeX."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

LATEX_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
                 "~": r"\textasciitilde{}",
                 "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}  # fmt: skip


def without_nested(rows: "pl.DataFrame") -> "pl.DataFrame":
    """Rows without types that CSV does not have: lists and the like become text."""
    import polars as pl

    nested = [name for name, kind in rows.schema.items() if kind.is_nested() or kind == pl.Binary]
    texts = ([None if value is None else cell(value) for value in rows[name].to_list()] for name in nested)
    return rows.with_columns(pl.Series(name, text, pl.String) for name, text in zip(nested, texts, strict=True))


def json_text(rows: "pl.DataFrame") -> str:
    """Rows as a JSON array of objects.  NaN and infinity become null, because JSON does not have them."""
    import msgspec

    def plain(value: Any) -> Any:
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return None
        return value

    objects = [{name: plain(value) for name, value in row.items()} for row in rows.iter_rows(named=True)]
    return msgspec.json.Encoder(decimal_format="number").encode(objects).decode()


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
    return str(value)


def number_text(value: float) -> str:
    """A number with four significant digits; a large whole number as it is."""
    if value != value:
        return "nan"
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1e4):
        return f"{value:.0f}"
    return f"{value:.4g}"


def markdown(rows: "pl.DataFrame") -> str:
    """Rows as a Markdown table."""
    lines = [rows.columns, ["---"] * rows.width, *cells(rows)]
    return "".join("| " + " | ".join(text.replace("|", "\\|") for text in line) + " |\n" for line in lines)


def latex(rows: "pl.DataFrame") -> str:
    """Rows as a LaTeX tabular with the rules of booktabs; numbers stand to the right."""

    def escaped(text: str) -> str:
        return "".join(LATEX_SPECIAL.get(letter, letter) for letter in text)

    align = "".join("r" if kind.is_numeric() else "l" for kind in rows.dtypes)
    body = [" & ".join(map(escaped, line)) + r" \\" for line in [rows.columns, *cells(rows)]]
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
