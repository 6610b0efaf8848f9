"""Results on stdout in the format asked for; everything else goes to stderr."""

import sys
from enum import StrEnum
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

errors = Console(stderr=True, highlight=False, soft_wrap=True)


class Format(StrEnum):
    """Output formats of every command that prints rows."""

    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    parquet = "parquet"


def show(rows: pl.DataFrame, format: Format | None, title: str | None = None) -> None:
    """Prints rows; a table for people on a terminal, CSV when piped."""
    chosen = format or (Format.table if sys.stdout.isatty() else Format.csv)
    if chosen is Format.parquet:
        rows.write_parquet(sys.stdout.buffer)
        return
    if chosen is Format.csv:
        flat = rows.with_columns(pl.col(pl.List(pl.String)).list.join(" ")) if any_list(rows) else rows
        text = flat.write_csv(datetime_format="%Y-%m-%d %H:%M:%S%.f")
    elif chosen is Format.json:
        text = json_text(rows)
    elif chosen is Format.markdown:
        text = delimited([rows.columns, ["---"] * rows.width, *cells(rows)], "| ", " | ", " |\n")
    elif chosen is Format.latex:
        text = latex(rows)
    else:
        print_table(rows, title)
        return
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def any_list(rows: pl.DataFrame) -> bool:
    return any(isinstance(kind, pl.List) for kind in rows.dtypes)


def json_text(rows: pl.DataFrame) -> str:
    """JSON array of objects; NaN and infinities, which JSON has not, become null."""
    import msgspec

    def plain(value: Any) -> Any:
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return None
        return value

    objects = [{name: plain(value) for name, value in row.items()} for row in rows.iter_rows(named=True)]
    return msgspec.json.encode(objects).decode()


def cells(rows: pl.DataFrame) -> list[list[str]]:
    """Values as people read them."""
    return [[cell(value) for value in row] for row in rows.iter_rows()]


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return " ".join(cell(item) for item in value)
    return str(value)


def number(value: float) -> str:
    """Four significant digits; large whole numbers as they are."""
    if value != value:
        return "nan"
    if value == int(value) and abs(value) < 1e15 if abs(value) != float("inf") else False:
        return f"{int(value)}"
    if 1e4 <= abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.4g}"


def delimited(lines: list[list[str]], left: str, between: str, right: str) -> str:
    return "".join(left + between.join(item.replace("|", "\\|") for item in line) + right for line in lines)


LATEX_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
                 "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}  # fmt: skip


def latex(rows: pl.DataFrame) -> str:
    """A tabular with booktabs rules; numbers to the right."""

    def escaped(text: str) -> str:
        return "".join(LATEX_SPECIAL.get(letter, letter) for letter in text)

    align = "".join("r" if kind.is_numeric() else "l" for kind in rows.dtypes)
    body = [" & ".join(map(escaped, line)) + r" \\" for line in [rows.columns, *cells(rows)]]
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


WIDEST = 44  # characters of a text; longer ones are shortened in the middle of a path, at the end of other text


def print_table(rows: pl.DataFrame, title: str | None = None) -> None:
    """A table no wider than the terminal; what is not drawn is named below it, on stderr."""
    console = Console(highlight=False)
    missing = [name for name in rows.columns if rows.height and rows[name].null_count() == rows.height]
    lines = [[shortened(text) for text in line] for line in cells(rows.drop(missing).head(1000))]
    drawn, left = [], console.width + 2
    schema = rows.drop(missing).schema
    for k, name in enumerate(schema):
        left -= 2 + max(len(name), *(len(line[k]) for line in lines)) if lines else 2 + len(name)
        if left < 0 and drawn:
            break
        drawn.append(name)
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for name in drawn:
        table.add_column(name, justify="right" if schema[name].is_numeric() else "left", no_wrap=True)
    for line in lines:
        table.add_row(*(Text(text) for text in line[: len(drawn)]))
    console.print(table)
    undrawn = [name for name in schema if name not in drawn]
    for names, why in ((undrawn, "no room for"), (missing, "nothing known of")):
        if names:
            errors.print(f"{why}: {', '.join(names)}", style="dim", markup=False)
    if rows.height > 1000:
        errors.print(f"{rows.height - 1000:,} more rows; --format csv prints all")
    if not rows.height:
        errors.print("no rows", style="dim")


def shortened(text: str) -> str:
    """A text that leaves room for others."""
    text = text.replace("\n", " ")
    if len(text) <= WIDEST:
        return text
    return "\u2026" + text[-WIDEST + 1 :] if text.startswith("/") else text[: WIDEST - 1] + "\u2026"
