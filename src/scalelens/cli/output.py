"""Results on stdout in the format asked for; everything else goes to stderr."""

import io
import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scalelens.errors import UserError

if TYPE_CHECKING:
    import polars as pl

errors = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)


class Format(StrEnum):
    """Output formats of every command that prints rows."""

    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    parquet = "parquet"


def show(rows: "pl.DataFrame", format: Format | None) -> None:
    """Prints rows; a table for people on a terminal, CSV when piped."""
    try:
        write(rows, format or (Format.table if sys.stdout.isatty() else Format.csv))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # `| head` has what it wants
            raise UserError(f"the result cannot be written ({error.strerror})", "write it to another place") from None


def write(rows: "pl.DataFrame", chosen: Format) -> None:
    """Rows on stdout in a format."""
    if chosen is Format.parquet:
        whole = io.BytesIO()  # polars would not say why a file cannot be written
        rows.write_parquet(whole)
        sys.stdout.buffer.write(whole.getbuffer())
        return
    if chosen is Format.csv:
        text = flat(rows).write_csv(datetime_format="%Y-%m-%d %H:%M:%S%.f")
    elif chosen is Format.json:
        text = json_text(rows)
    elif chosen is Format.markdown:
        text = delimited([rows.columns, ["---"] * rows.width, *cells(rows)], "| ", " | ", " |\n")
    elif chosen is Format.latex:
        text = latex(rows)
    else:
        print_table(rows)
        return
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def flat(rows: "pl.DataFrame") -> "pl.DataFrame":
    """Rows without the types that CSV has not: lists and the like become text."""
    import polars as pl

    nested = [name for name, kind in rows.schema.items() if kind.is_nested() or kind == pl.Binary]
    texts = ([None if value is None else cell(value) for value in rows[name].to_list()] for name in nested)
    return rows.with_columns(pl.Series(name, text, pl.String) for name, text in zip(nested, texts, strict=True))


def json_text(rows: "pl.DataFrame") -> str:
    """JSON array of objects; NaN and infinities, which JSON has not, become null."""
    import msgspec

    def plain(value: Any) -> Any:
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return None
        return value

    objects = [{name: plain(value) for name, value in row.items()} for row in rows.iter_rows(named=True)]
    return msgspec.json.Encoder(decimal_format="number").encode(objects).decode()


def cells(rows: "pl.DataFrame") -> list[list[str]]:
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
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1e4):
        return f"{value:.0f}"
    return f"{value:.4g}"


def delimited(lines: list[list[str]], left: str, between: str, right: str) -> str:
    return "".join(left + between.join(item.replace("|", "\\|") for item in line) + right for line in lines)


LATEX_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
                 "~": r"\textasciitilde{}",
                 "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}  # fmt: skip


def latex(rows: "pl.DataFrame") -> str:
    """A tabular with booktabs rules; numbers to the right."""

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


WIDEST = 44  # characters of a text; longer ones are shortened
ROWS_SHOWN = 1000
ROWS_CONTINUED = 24  # a table of so many rows goes on in a second one below it; a longer one names what had no room


def print_table(rows: "pl.DataFrame") -> None:
    """Tables for people: rows of one `series` (or what stands first and repeats) together, under what they share."""
    import polars as pl

    console = Console(highlight=False)
    shown = rows.head(ROWS_SHOWN)
    first = rows.columns[0] if rows.columns else ""
    grouped = bool(first) and rows.schema[first] == pl.String and 1 < shown[first].n_unique() < shown.height
    missing: set[str] = set(rows.columns)
    undrawn: set[str] = set()
    for group in shown.partition_by(first, maintain_order=True) if grouped or first == "series" else [shown]:
        missing &= {name for name in group.columns if group[name].null_count() == group.height}
        undrawn |= print_group(console, group)
    for names, why in ((undrawn, "no room for"), (missing if rows.height else (), "nothing known of")):
        if names:
            errors.print(
                f"{why}: {', '.join(name for name in rows.columns if name in names)}", style="dim", markup=False
            )
    if rows.height > ROWS_SHOWN:
        errors.print(f"{rows.height - ROWS_SHOWN:,} more rows; --format csv prints all")
    if not rows.height:
        errors.print("no rows", style="dim")


def print_group(console: Console, rows: "pl.DataFrame") -> set[str]:
    """Tables no wider than the terminal, and above them what is the same in all rows.  Returns what had no room."""
    known = [name for name in rows.columns if rows[name].null_count() < rows.height or not rows.height]
    same = [name for name in known if rows.height > 1 and rows[name].null_count() == 0 and rows[name].n_unique() == 1]
    if same:
        first = rows.row(0, named=True)  # plain values: a column gives a list as a Series
        head = cell(first["series"]) if "series" in same else ""
        shared = ((name, cell(first[name])) for name in same if name != "series")
        said = [f"{name} {value}" for name, value in shared if value not in head.split(" \u00b7 ")]
        console.print(Text(head, style="bold"), end="\n" if head else "")
        console.print(Text(" \u00b7 ".join(said)), end="\n" if said else "", soft_wrap=False)
    names = [name for name in known if name not in same]
    lines = [[shortened(text) for text in line] for line in cells(rows.select(names))]
    widths = [max([len(name), *(len(line[k]) for line in lines)]) for k, name in enumerate(names)]
    drawn = 0
    while drawn < len(names):
        block = [0] if drawn else []  # a table that goes on begins with what tells its rows apart
        room = console.width - sum(widths[k] + 2 for k in block)
        end = drawn + 1
        while end < len(names) and sum(widths[drawn : end + 1]) + 2 * (end - drawn) <= room:
            end += 1
        table = Table(box=None, pad_edge=False, header_style="bold")
        block += range(drawn, end)
        for k in block:
            table.add_column(names[k], justify="right" if rows.schema[names[k]].is_numeric() else "left", no_wrap=True)
        for line in lines:
            table.add_row(*(Text(line[k]) for k in block))
        console.print(table)
        drawn = end
        if len(lines) > ROWS_CONTINUED:
            break
    return set(names[drawn:])


def shortened(text: str) -> str:
    """A text that leaves room for others: the end of a path, the beginning of anything else."""
    text = text.replace("\n", " ")
    if len(text) <= WIDEST:
        return text
    return "\u2026" + text[-WIDEST + 1 :] if text.startswith("/") else text[: WIDEST - 1] + "\u2026"
