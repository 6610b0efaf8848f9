"""An answer at a glance: the columns that matter, in blocks, in units that people read.

A query names these columns in its header (`-- Glance: run_id devices step_s efficiency%`), the most important first.
The rows of a series, or of a run, form a block; its heading has the values that they share.  Rows that look the same
are folded into one, and so are rows that differ only in columns marked by ~, which then show their range.
"""

import re
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scalelens.report.columns import Columns
from scalelens.report.text.table_columns import NAME_RUNS, REMARKS, TableColumn, table_column

if TYPE_CHECKING:
    from scalelens.queries.header import Query, QueryColumn

_SHORTEST = 12  # characters to which a text may be shortened
_SHORTEST_NAME = 20  # the same of names, which distinguish the rows
_MOST_NAME = 48  # characters that are enough for any name
_KEPT_OF_END = (0.5, 0.25, 0.1, 0.75, 0.9)  # shares of a shortened text that are its end, the usual one first
_FACTS = {"model", "system", "device", "device_model", "framework", "configuration"}  # what a run is
_WIDE_FACT = 20  # characters: where such a column needs more, numbers go before it
_NAMES = ("run_id", "name", "operators", "sequence", "series")
REMARKS_SHOWN = 6  # of a block, on a terminal
ROWS_NAMED = 3  # before a remark; more are counted
_LEAST_OF_GROUP = 5  # rows that each series or run shows if there is no room for all
_UNREMARKABLE = {  # not worth a mention if it holds for all rows
    ("attempt", "0"), ("n_problems", "0"), ("n_steps", "0"), ("peers", "0"),
    ("is_cut", "no"), ("is_knee", "no"), ("median_contaminated", "no"),
}  # fmt: skip
_NEED_NO_NAME = {  # columns whose values speak for themselves
    "run_id", "name", "model", "system", "precision", "device", "device_model", "framework", "configuration",
}  # fmt: skip


class GlanceBlock(NamedTuple):
    """Rows below a heading, and remarks, each with the rows that it is about, named by their first column."""

    heading: str
    columns: list[TableColumn]
    remarks: dict[str, list[str]]
    height: int  # number of rows before folding


def blocks(
    rows: Columns, names: Sequence[str], columns: Mapping[str, "QueryColumn"], runs: Mapping[str, str]
) -> list[GlanceBlock]:
    """The blocks of an answer.  `names` come from the header of the query; `runs` are names by id.

    Rows in the order of run_id, which means nothing to people, are sorted by name.
    """
    rows = rows.with_floats()
    if names[0] == "run_id" and (run_ids := [run_id or "" for run_id in rows["run_id"]]) == sorted(run_ids):
        rows = by_names(rows, runs)
    wanted = [name for name in names if name.rstrip("%~") in rows.columns]
    groups = [rows.at(indexes) for indexes in _groups_of(rows, wanted)]
    neighbors = [name.rstrip("~") for name in wanted if "%" not in name]
    result: list[GlanceBlock] = []
    for group in groups or [rows]:
        heading = table_column(group.head(1), wanted[0], columns, runs).texts[0] if groups else ""
        shown = wanted[1:] if groups else wanted
        every = [table_column(group, name, columns, runs, rows, neighbors) for name in shown]
        result.append(_block(heading, [column for column in every if any(column.texts)]))
    return result


def by_names(rows: Columns, runs: Mapping[str, str]) -> Columns:
    """The rows, sorted by the names of their runs: n2 comes before n16."""
    names = [_by_numbers(runs.get(run_id, run_id or "")) for run_id in rows["run_id"]]
    return rows.at(sorted(range(rows.height), key=names.__getitem__))


def _by_numbers(name: str) -> list[tuple[str, int]]:
    """What a name is sorted by: its texts, each with the number after it."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", name)]


def within(block: GlanceBlock, most: int) -> tuple[GlanceBlock, int]:
    """The first rows of a block, and the number of rows left out."""
    height = len(block.columns[0].texts) if block.columns else 0
    columns = [column._replace(texts=column.texts[:most]) for column in block.columns]
    return block._replace(columns=columns), max(height - most, 0)


def _groups_of(rows: Columns, names: Sequence[str]) -> list[list[int]]:
    """Indexes of the rows of each series, or of each run or other text that occurs three times on average.

    Empty if there are no groups.
    """
    first = names[0]
    groups = rows.indexes_by(first)
    repeated = 3 * len(groups) <= rows.height and not rows.is_number(first) and not any("~" in n for n in names)
    in_groups = len(groups) < rows.height if first == "series" else repeated
    return groups if in_groups else []


def first_rows(rows: Columns, names: Sequence[str], most: int) -> Columns:
    """At most `most` rows, the first ones of each series or run."""
    groups = _groups_of(rows, names) if rows.height > most else []
    if not groups:
        return rows.head(most)
    each = max(most // len(groups), _LEAST_OF_GROUP)
    return rows.at([k for indexes in groups for k in indexes[:each]][:most])


def _block(heading: str, columns: list[TableColumn]) -> GlanceBlock:
    """A block whose heading takes over the constant columns, unless it has their values already."""
    remarks = _remarks_of(columns)
    columns = [column for column in columns if column.name not in REMARKS]
    if not columns:
        return GlanceBlock(heading, [], remarks, 0)
    parts = heading.split(" · ")
    constant = [column for column in columns[1:] if len(column.texts) > 1 and len({*column.texts}) == 1]
    facts = [
        column.texts[0] if column.name in _NEED_NO_NAME else f"{column.header} {column.texts[0]}"
        for column in constant
        if column.texts[0] not in {"", *parts} and (column.name, column.texts[0]) not in _UNREMARKABLE
    ]
    height = len(columns[0].texts)
    remarked = {row for rows in list(remarks.values())[:REMARKS_SHOWN] for row in _named_before(rows, height)}
    varying = _without_silent_rows(_ranged([column for column in columns if column not in constant]), remarked)
    return GlanceBlock(" · ".join(filter(None, [heading, *facts])), varying, remarks, height)


def _named_before(rows: Sequence[str], height: int) -> tuple[str, ...]:
    """The rows that a remark names; none if it is about all rows of a block, or about more than it has room for."""
    names = tuple(dict.fromkeys(rows))
    return names if len(rows) < height and len(names) <= ROWS_NAMED else ()


def _without_silent_rows(columns: list[TableColumn], remarked: Container[str]) -> list[TableColumn]:
    """The columns without rows that have only a name, which a remark gives; empty if all rows are such rows."""
    names, *others = columns
    kept = [
        k for k, name in enumerate(names.texts) if name not in remarked or any(column.texts[k] for column in others)
    ]
    return [column._replace(texts=[column.texts[k] for k in kept]) for column in columns] if kept else []


def _remarks_of(columns: Sequence[TableColumn]) -> dict[str, list[str]]:
    """Remarks, each with the rows that it is about.  Those that differ only in a number at their begin are one."""
    keys = next((column.texts for column in columns if column.name not in REMARKS), [])
    counts: dict[str, list[int]] = {}
    about: dict[str, list[str]] = {}
    for column in (column for column in columns if column.name in REMARKS):
        for k, text in enumerate(column.texts):
            # The line of a log is one piece: GPU 0; 31.75 GiB total capacity; 29.14 GiB already allocated.
            for sentence in filter(None, [text] if column.name == "outcome_text" else text.split("; ")):
                number, rest = re.fullmatch(r"(\d{1,9} )?(.*)", sentence, re.DOTALL).groups()  # type: ignore[union-attr]
                counts.setdefault(rest, []).extend([int(number)] if number else [])
                about.setdefault(rest, []).append(keys[k] if keys else "")
    ends = {rest: f"{min(n)} " if min(n) == max(n) else f"{min(n)} – {max(n)} " for rest, n in counts.items() if n}
    return {f"{ends.get(rest, '')}{rest}": rows for rest, rows in about.items()}


def _ranged(columns: list[TableColumn]) -> list[TableColumn]:
    """The columns with rows folded that differ only in columns with `values`, and a column of their number."""
    alike = _rows_alike([column for column in columns if column.values is None])
    if len(alike) == len(columns[0].texts) or all(column.values is None for column in columns):
        return columns
    first, *others = (column._replace(texts=[_text_of(column, rows) for rows in alike]) for column in columns)
    return [first, TableColumn("", "n", [str(len(rows)) for rows in alike], True), *others]


def _folded(columns: list[TableColumn]) -> list[TableColumn]:
    """The columns with each row once, and a column of how often it occurred."""
    alike = _rows_alike(columns)
    if len(alike) == len(columns[0].texts):
        return [*columns]
    times = [f"×{len(rows)}" if len(rows) > 1 else "" for rows in alike]
    once = [column._replace(texts=[column.texts[rows[0]] for rows in alike]) for column in columns]
    return [*once, TableColumn("", "", times, False)]


def _rows_alike(columns: Sequence[TableColumn]) -> list[list[int]]:
    """Indexes of the rows that look the same, for each such row; rows with the same first column stay together."""
    indexes: dict[tuple[str, ...], list[int]] = {}
    for k, row in enumerate(zip(*(column.texts for column in columns), strict=True)):
        indexes.setdefault(row, []).append(k)
    first_seen: dict[str, int] = {}
    return sorted(indexes.values(), key=lambda rows: first_seen.setdefault(columns[0].texts[rows[0]], rows[0]))


def _text_of(column: TableColumn, rows: Sequence[int]) -> str:
    """What a column shows of folded rows: their text, the smallest and the largest number, or the first text."""
    texts = list(dict.fromkeys(column.texts[k] for k in rows if column.texts[k]))
    if column.values is None or len(texts) < 2:
        return "".join(texts[:1])
    if not column.right:
        return f"{texts[0]} and {len(texts) - 1} more"
    known = sorted((value, column.texts[k]) for k in rows if (value := column.values[k]) is not None)
    return f"{known[0][1]} – {known[-1][1]}"


def fitted(block: GlanceBlock, width: int) -> tuple[GlanceBlock, list[str]]:
    """The block within a width, and the columns without room.

    Texts are shortened first.  A wide column of models or the like goes next, since people look for the numbers; then
    the last columns go.
    """
    kept = list(block.columns)
    dropped: list[str] = []
    while kept:
        narrow = _narrowed(_folded(kept), width)
        if narrow is not None:
            return block._replace(columns=narrow), dropped
        dropped.insert(0, kept.pop(_least_needed(kept)).name)
    return block._replace(columns=kept), dropped


def _least_needed(columns: Sequence[TableColumn]) -> int:
    """Index of the column to drop first when the columns do not fit."""
    facts = (k for k, column in enumerate(columns) if k and column.name in _FACTS)
    return next((k for k in facts if _told_apart(columns[k])[0] > _WIDE_FACT), len(columns) - 1)


def _narrowed(columns: list[TableColumn], width: int) -> list[TableColumn] | None:
    """The columns within a width, with the longest texts shortened; None if that is not enough."""
    widths = [max(len(column.header), *map(len, column.texts)) for column in columns]
    over = sum(widths) + 2 * (len(columns) - 1) - width
    apart = [(0, 0) if column.right else _told_apart(column) for column in columns]
    least = [
        width if column.right else min(room, width)
        for column, width, (room, _) in zip(columns, widths, apart, strict=True)
    ]
    if over > sum(widths) - sum(least):
        return None
    for k in sorted(range(len(columns)), key=lambda k: least[k] - widths[k]):
        room = max(widths[k] - max(over, 0), least[k])
        over -= widths[k] - room
        columns[k] = columns[k]._replace(texts=[shortened(text, room, apart[k][1]) for text in columns[k].texts])
    return columns


def _told_apart(column: TableColumn) -> tuple[int, int]:
    """The fewest characters to which the texts of a column can be shortened and still differ, and where they are cut.

    Names of kernels may differ only after hundreds of characters: those may look alike at MOST_NAME.
    """
    texts = {*column.texts}
    shortest = _SHORTEST_NAME if column.name in _NAMES else _SHORTEST
    least, longest = max(shortest, len(column.header)), max(map(len, texts))
    ways = (
        (room, cut)
        for room in range(least, min(longest, _MOST_NAME))
        for cut in range(len(_KEPT_OF_END))
        if len({shortened(text, room, cut) for text in texts}) == len(texts)
    )
    return next(ways, (max(least, min(longest, _MOST_NAME)), 0))


def shortened(text: str, room: int, cut: int = 0) -> str:
    """A text without its middle, if it is too long; another `cut` leaves less or more of its end."""
    if len(text) <= room:
        return text
    end = int((room - 1) * _KEPT_OF_END[cut])
    return f"{text[: room - 1 - end]}…{text[len(text) - end :]}"


def glance_of(query: "Query", columns: Sequence[str]) -> list[str]:
    """What a query shows at one glance, of the columns that its answer has; empty where it names none of them."""
    return [name for name in query.glance if name.rstrip("%~") in columns]


def shows_runs(query: "Query") -> bool:
    """Whether people see runs in its answer."""
    return any(name.rstrip("~").endswith(NAME_RUNS) for name in query.glance)
