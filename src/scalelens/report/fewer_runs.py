"""A condition on the runs under which a chart of series can be drawn, where those of all runs are too many."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import polars as pl

from scalelens.database.texts import sql_text
from scalelens.errors import UserError
from scalelens.question.question import Question
from scalelens.question.session import Session

_COLUMNS = ("model", "system", "framework", "dataset", "precision", "device_model")  # of `runs`: the most telling first
_PLAIN = re.compile(r"[\w.,:/+@% -]+")  # a value that is the same between double quotes of a shell
_MOST_ASKED = 3  # conditions under which the query is asked again


def example(
    session: Session, rows: pl.DataFrame, runs: Sequence[str], given: str,
    draw_rows: Callable[[pl.DataFrame], object], draw_runs: Callable[[str], object],
) -> str:  # fmt: skip
    """A condition such as `model = 'resnet50'` that leaves as many runs as can be drawn; empty where none was found.

    `given` is what the user selected, `draw_rows` draws rows of the chart, `draw_runs` asks for those of a condition,
    too.  Both raise UserError for what cannot be drawn.
    """
    if given and not session.ask(Question(sql=f"SELECT is_condition({sql_text(given)})")).frame.item():
        return ""
    asked = 0
    for term, selected in _terms(session, runs):
        kept = _of_runs(rows, selected)
        if kept.is_empty() or not _succeeds(draw_rows, kept):
            continue
        text = f"({given}) AND {term}" if given else term
        if _succeeds(draw_runs, text):
            return text
        asked += 1
        if asked == _MOST_ASKED:
            break
    return ""


def _of_runs(rows: pl.DataFrame, runs: Collection[str]) -> pl.DataFrame:
    """Rows that are about any of these runs."""
    if "run_id" in rows.columns:
        return rows.filter(pl.col("run_id").is_in(list(runs)))
    if "run_ids" in rows.columns:
        return rows.filter(pl.col("run_ids").list.eval(pl.element().is_in(list(runs))).list.any())
    return rows.clear()


def _terms(session: Session, runs: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
    """Conditions on one column of `runs`, each with the runs that it leaves: those with the most first."""
    listed = ", ".join(map(sql_text, runs))
    columns = ", ".join(f"{column}::VARCHAR AS {column}" for column in _COLUMNS)
    facts = session.ask(Question(sql=f"SELECT run_id, {columns} FROM runs WHERE run_id IN ({listed})")).frame
    found = []
    for column in _COLUMNS:
        for value, group in facts.group_by(column, maintain_order=True):
            text = value[0]
            if isinstance(text, str) and _PLAIN.fullmatch(text) and group.height < facts.height:
                found.append((f"{column} = '{text}'", set(group["run_id"])))
    yield from sorted(found, key=lambda each: -len(each[1]))


def _succeeds(draw: Callable[[Any], object], of: object) -> bool:
    try:
        draw(of)
    except UserError:
        return False
    return True
