"""An open warehouse, as the parts of a report ask it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scalelens.queries.header import QueryColumn
from scalelens.question.answer import Answer
from scalelens.question.question import Question
from scalelens.question.session import Session
from scalelens.report.columns import Columns
from scalelens.report.glance import GlanceBlock, blocks

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 500  # of a table; more are counted


class ReportTable(NamedTuple):
    """Rows as people see them, and the SQL that gives them."""

    blocks: list[GlanceBlock]
    n_rows: int  # more than the blocks have, where they were cut
    sql: str


class Asking:
    """An open warehouse, and what every table of the page needs of it."""

    def __init__(self, session: Session) -> None:
        self.session, self.names = session, session.run_names
        self.drawn: set[str] = set()  # charts that the page has already
        self.too_large: set[str] = set()  # commands of charts that were drawn and are too large for the page
        self.answers: dict[str, Answer] = {}  # to what charts ask, by statement: a page may show a chart in two widths
        self.members: list[tuple[str, str]] = [
            *self.rows("SELECT run_id, file_id FROM members ORDER BY ALL").iter_rows()
        ]
        self.columns = {column.name: column for query in session.queries.values() for column in query.columns}
        self.columns["size_bytes"] = QueryColumn("size_bytes", "BIGINT", "bytes", "size of the file")

    def rows(self, sql: str) -> "pl.DataFrame":
        return self.session.ask(Question(sql=sql)).frame

    def answer(self, question: Question) -> Answer:
        """The answer to what a chart asks, which is asked once."""
        if question.statement not in self.answers:
            self.answers[question.statement] = self.session.ask(question)
        return self.answers[question.statement]

    def table(self, sql: str, glance: Sequence[str], rows: "pl.DataFrame | None" = None) -> ReportTable:
        """The answer to a statement; `rows` are its rows where they are known."""
        rows = self.rows(sql) if rows is None else rows
        shown = Columns(rows.head(MOST_ROWS).to_arrow())
        made = blocks(shown, glance, self.columns, self.names) if rows.height else []
        return ReportTable(made, rows.height, sql.strip())

    def inputs(self, runs: Iterable[str] | None) -> list[str]:
        """Files of these runs, by id; of all where there is no `runs`."""
        wanted = None if runs is None else set(runs)
        return sorted({file for run, file in self.members if wanted is None or run in wanted})
