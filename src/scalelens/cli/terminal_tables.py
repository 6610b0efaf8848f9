"""Tables for people on a terminal, by rich."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scalelens.cli.inert_console import errors, results
from scalelens.inert import visible
from scalelens.report.columns import Columns
from scalelens.report.glance import REMARKS_SHOWN, ROWS_NAMED, GlanceBlock, blocks, first_rows, fitted, within
from scalelens.report.text.cells import cell
from scalelens.report.text.table_columns import in_words

if TYPE_CHECKING:
    from scalelens.queries.header import QueryColumn

_WIDEST = 44  # characters of a text; longer ones are shortened
_ROWS_SHOWN = 1000  # on a terminal
_ROWS_AT_A_GLANCE = 40
_ROWS_FOLDED = 20_000  # looked at where many rows may be one
_ROWS_CONTINUED = 24  # a table with more rows is not continued below itself: the columns without room are named instead


def show_at_a_glance(
    rows: Columns, names: Sequence[str], columns: Mapping[str, "QueryColumn"], runs: Mapping[str, str],
    most: int | None = None, has_options: bool = True, n_rows: int | None = None,
) -> None:  # fmt: skip
    """Prints the columns that matter, in one block for each series or run, whatever the width of the terminal.

    `has_options`: whether the command has --limit and --all; else --format csv is what shows the rest.  `n_rows` is how
    many rows there are, where `rows` are the first of them.
    """
    console = results()
    rest = "--all" if has_options else "--format csv"
    most = _ROWS_AT_A_GLANCE if most is None else most
    folds = any("~" in name for name in names)
    shown = rows.head(_ROWS_FOLDED) if folds else first_rows(rows, names, most)
    without_room: list[str] = []
    n_rows = rows.height if n_rows is None else n_rows
    more = n_rows - shown.height
    for whole in blocks(shown, names, columns, runs):
        given, cut = within(whole, most)
        more += cut
        fitting, dropped = fitted(given, console.width)
        without_room += [name for name in dropped if name not in without_room]
        if given.heading:
            console.print(Text(given.heading, style="bold"))
        if fitting.columns:
            console.print(_table_of(fitting))
        _print_remarks(console, given, rest)
    if more:
        errors.print(f"{more:,} more rows: {f'--limit {n_rows}' if has_options else rest}", style="dim")
    hidden = f"no room for {', '.join(without_room)}; " if without_room else ""
    errors.print(f"{hidden}{len(rows.columns)} columns in all: {rest}", style="dim", markup=False)


def _print_remarks(console: Console, given: GlanceBlock, rest: str) -> None:
    """Prints each sentence once, after the rows that it is about, unless it is about all of them."""
    of_rows: dict[tuple[str, ...], list[str]] = {}
    for text, keys in list(given.remarks.items())[:REMARKS_SHOWN]:
        of_rows.setdefault(tuple(dict.fromkeys(keys)) if len(keys) < given.height else (), []).append(text)
    for rows, texts in of_rows.items():
        about = f"{_rows_named(rows, given)}: " if rows else ""
        remark = f"{about}{'; '.join(texts)}"
        console.print(Text(remark, style="dim"), soft_wrap="scalelens " in remark)  # a command is pasted in one piece
    if len(given.remarks) > REMARKS_SHOWN:
        console.print(Text(f"and {len(given.remarks) - REMARKS_SHOWN} more remarks: {rest}", style="dim"))


def _rows_named(rows: tuple[str, ...], given: GlanceBlock) -> str:
    """The rows that a remark is about: their names, or how many they are."""
    if len(rows) <= ROWS_NAMED:
        return ", ".join(rows)
    what = "runs" if given.columns and given.columns[0].header == "run" else "rows"
    return f"{len(rows)} of {given.height} {what}"


def _table_of(given: GlanceBlock) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in given.columns:
        table.add_column(Text(column.header), justify="right" if column.right else "left", no_wrap=True)
    for texts in zip(*(column.texts for column in given.columns), strict=True):
        table.add_row(*map(Text, texts))
    return table


def print_table(rows: Columns, n_rows: int | None = None) -> None:
    """Prints rows for people, a table for each value of the first column if it is `series` or a text that repeats.

    `n_rows` is how many rows there are, where `rows` are the first of them.
    """
    console = results()
    shown = rows.head(_ROWS_SHOWN)
    first = rows.columns[0] if rows.columns else ""
    groups = shown.indexes_by(first) if first and (rows.is_text(first) or first == "series") else []
    grouped = 1 < len(groups) < shown.height or first == "series"
    empty: set[str] = set(rows.columns)
    without_room: set[str] = set()
    for group in map(shown.at, groups) if grouped else [shown]:
        empty &= {name for name in group.columns if _is_empty(group[name])}
        without_room |= _print_group(console, group)
    for names, why in ((without_room, "no room for"), (empty if rows.height else (), "nothing known of")):
        if names:
            errors.print(
                f"{why}: {', '.join(name for name in rows.columns if name in names)}", style="dim", markup=False
            )
    if (more := (n_rows or rows.height) - _ROWS_SHOWN) > 0:
        errors.print(f"{more:,} more rows; --format csv prints all")
    if not rows.height:
        errors.print("no rows", style="dim")


def _is_empty(values: Sequence[Any]) -> bool:
    return all(value is None for value in values)


def _print_group(console: Console, rows: Columns) -> set[str]:
    """Prints rows as tables that fit the terminal, below what all rows share.  Returns the columns without room."""
    filled = [name for name in rows.columns if not _is_empty(rows[name]) or not rows.height]
    same = [name for name in filled if rows.height > 1 and len(rows.indexes_by(name)) == 1]
    if same:
        _print_shared(console, {name: rows[name][0] for name in same}, same)
    names = [name for name in filled if name not in same]
    texts = [[_shortened(cell(in_words(name, value))) for value in rows[name]] for name in names]
    widths = [max(map(len, [name, *column])) for name, column in zip(names, texts, strict=True)]
    printed = 0
    while printed < len(names):
        repeated = [0] if printed else []  # a continued table begins with the column that tells its rows apart
        room = console.width - sum(widths[k] + 2 for k in repeated)
        end = printed + 1
        while end < len(names) and sum(widths[printed : end + 1]) + 2 * (end - printed) <= room:
            end += 1
        table = Table(box=None, pad_edge=False, header_style="bold")
        columns = [*repeated, *range(printed, end)]
        for k in columns:
            side: Literal["left", "right"] = "right" if rows.is_number(names[k]) else "left"
            table.add_column(Text(visible(names[k])), justify=side, no_wrap=True)
        for line in zip(*(texts[k] for k in columns), strict=True):
            table.add_row(*map(Text, line))
        console.print(table)
        printed = end
        if rows.height > _ROWS_CONTINUED:
            break
    return set(names[printed:])


def _print_shared(console: Console, row: dict[str, Any], names: list[str]) -> None:
    """Prints the values that all rows share, the series first; what its name says already is left out."""
    series = cell(in_words("series", row["series"])) if "series" in names else ""
    shared = ((name, cell(in_words(name, row[name]))) for name in names if name != "series")
    texts = [f"{visible(name)} {value}" for name, value in shared if value not in series.split(" \u00b7 ")]
    console.print(Text(series, style="bold"), end="\n" if series else "")
    console.print(Text(" \u00b7 ".join(texts)), end="\n" if texts else "", soft_wrap=False)


def _shortened(text: str) -> str:
    """A text cut to WIDEST characters: the end of a path, the beginning of any other text."""
    if len(text) <= _WIDEST:
        return text
    return "\u2026" + text[-_WIDEST + 1 :] if text.startswith("/") else text[: _WIDEST - 1] + "\u2026"
