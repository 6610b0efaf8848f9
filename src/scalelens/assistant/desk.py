"""What the tools share: the open study, what may be read and written, and the way from a question to an answer."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scalelens.assistant.fitting import DIGITS, LONGEST, fitted_rows
from scalelens.errors import UserError, did_you_mean
from scalelens.study import Study

if TYPE_CHECKING:
    from scalelens.audit.warehouse.matching import Auditor
    from scalelens.question.answer import Answer
    from scalelens.question.question import Question
    from scalelens.question.session import Session

USUAL_ROWS, MOST_ROWS = 40, 1_000


class Reply(NamedTuple):
    """What a tool gives: an object that becomes JSON, and pictures."""

    content: Mapping[str, Any]
    pictures: Sequence[bytes] = ()  # PNG


class Page(NamedTuple):
    """Which part of an answer is wanted."""

    columns: Sequence[str] = ()  # by name; those at a glance without any
    offset: int = 0
    limit: int = USUAL_ROWS


_FIRST_PAGE = Page()


class Desk:
    """One open study.  `root` is the folder below which files may be read, if any; `writes` allows `ingest`."""

    def __init__(
        self, warehouse: str, root: str | None, writes: bool, query_folders: Sequence[str] = (), drawings: str = ""
    ) -> None:
        self.folders = tuple(map(Path, query_folders))
        self.study = Study(warehouse, self.folders)
        self.root = None if root is None else Path(os.path.realpath(root))
        self.writes = writes
        self._drawings = drawings
        self._beside = ThreadPoolExecutor(1)
        self._auditor: tuple[Session, Future[Auditor]] | None = None

    @cached_property
    def temporary(self) -> Path:
        """A folder of this server for what it draws; it stays, because its files are for the user."""
        if not self._drawings:
            return Path(tempfile.mkdtemp(prefix="scalelens-")).resolve()
        os.makedirs(self._drawings, mode=0o700, exist_ok=True)
        return Path(self._drawings).resolve()

    def path_below(self, name: str, *also: Path) -> Path:
        """A path that may be read: below the root, or below one of `also`.  Raises UserError for any other."""
        places = [*([self.root] if self.root else []), *also]
        if not places:
            raise UserError("this server reads no files", "start it with --root FOLDER")
        if "\0" in name or len(name) > 4096:
            raise UserError("that is not a path", "name a file below the root")
        path = Path(os.path.realpath(os.path.join(places[0], os.path.expanduser(name) if name[:1] == "~" else name)))
        if not any(path == place or path.is_relative_to(place) for place in places):
            raise UserError("the path is outside the folder that this server may read", f"stay below {places[0]}")
        if not path.exists():
            raise UserError(f"no such file or folder: {name}", f"paths are relative to {places[0]}")
        return path

    def rows(self, question: "Question", page: Page) -> Reply:
        """The answer to a question about the warehouse."""
        return Reply(self.study.in_session(lambda session: self.content(session, question, page)))

    def content(
        self,
        session: "Session",
        question: "Question",
        page: Page = _FIRST_PAGE,
        room: int = LONGEST,
        rests_on: Sequence[str] = (),
    ) -> dict[str, Any]:
        """The same within a session, in so many characters; `rests_on` are the runs of rows that name none."""
        from scalelens.question.empty import told_reasons
        from scalelens.question.question import EVERYTHING
        from scalelens.report.envelopes import content_of

        if question.select != EVERYTHING and len(_statements_in(session, question.statement)) != 1:
            raise UserError("`where` takes one condition, and `sort` takes columns", "use `sql` for more")
        asked = session.ask(question)
        answer, in_all = asked.part(page.offset, page.limit)
        names = self._columns_of(answer, page.columns)
        empty = told_reasons(session, question) if not in_all and question.query else []
        rest = {"rows_in_all": in_all, "empty_because": empty, "sql": answer.sql}
        return fitted_rows(content_of(answer, names, DIGITS, rests_on), rest, page.offset, room)

    def _columns_of(self, answer: "Answer", wanted: Sequence[str]) -> list[str]:
        """The columns that are wanted; without any those that matter most, with the ends of their intervals."""
        names = answer.frame.columns
        for name in wanted:
            if name not in (*names, "*"):
                raise UserError(
                    f"there is no column '{name}'", did_you_mean(name, names) or f"there are {', '.join(names)}"
                )
        if "*" in wanted or not (wanted or answer.query):
            return names
        if wanted:
            return [name for name in names if name in wanted or name == "run_id"]
        assert answer.query
        glance = {name.rstrip("%~") for name in answer.query.glance}
        always = ("run_id", "file_id", "line", "interval_kind")
        kept = [name for name in names if name in always or re.sub("_(low|high|kind)$", "", name) in glance]
        return kept if glance else names

    def prepare(self) -> None:
        """Begins to ask what `auditor` holds texts against, beside what else is asked.

        Not of a large warehouse, where that takes long: there it is asked when it is needed.
        """
        session = self.study.in_session(_itself)
        if not session.is_large:
            self._known_values(session)

    def auditor(self) -> "Auditor":
        """The values of the warehouse to hold a text against, asked once for as long as nothing is committed."""
        return self._known_values(self.study.in_session(_itself)).result()

    def _known_values(self, session: "Session") -> "Future[Auditor]":
        if self._auditor is None or self._auditor[0] is not session:
            self._auditor = session, self._beside.submit(self._asked_auditor)
        return self._auditor[1]

    def _asked_auditor(self) -> "Auditor":
        from scalelens.audit.warehouse.matching import Auditor

        auditor = Auditor(self.study.root, self.folders)
        assert auditor.known.values is not None  # asks for them
        return auditor


def _itself(session: "Session") -> "Session":
    session.open()
    return session


def sql_rows(session: "Session", statement: str, page: Page) -> dict[str, Any]:
    """The answer to SQL.  Of one SELECT only the rows of the page are fetched, whatever it would give."""
    from scalelens.question.question import Question
    from scalelens.report.envelopes import content_of

    bounded, is_bounded = _bounded(session, statement, page)
    asked = session.ask(Question(sql=bounded))
    if is_bounded:
        answer, got = asked.part(0, page.limit)
        in_all = page.offset + got if got <= page.limit else None
    else:
        answer, in_all = asked.part(page.offset, page.limit)
    told = [] if answer.frame.height else _no_rows(session, statement)
    rest = {"rows_in_all": in_all, "empty_because": told, "sql": statement}
    return fitted_rows(content_of(answer, digits=DIGITS), rest, page.offset)


def _bounded(session: "Session", statement: str, page: Page) -> tuple[str, bool]:
    """A statement that gives the rows of a page and one more; another than one SELECT stays as it is."""
    parts = _statements_in(session, statement)
    if len(parts) != 1 or str(parts[0].type).rpartition(".")[2] != "SELECT":
        return statement, False
    text = parts[0].query.strip().rstrip(";")
    return f"FROM (\n{text}\n) LIMIT {page.limit + 1} OFFSET {page.offset}", True


def _statements_in(session: "Session", text: str) -> list[Any]:
    """The statements of a text, parsed and not carried out.  Raises UserError where it is no SQL."""
    from scalelens.database.errors import duckdb_errors_as_user_errors

    with duckdb_errors_as_user_errors():
        text.encode()
        return session.connection.extract_statements(text)


def _no_rows(session: "Session", statement: str) -> list[dict[str, str]]:
    """Which of the tables that a statement names are empty; else that its conditions hold for no row."""
    from scalelens.queries.header import names_in
    from scalelens.question.question import Question
    from scalelens.tables import STORED

    named = sorted(names_in(statement) & STORED.keys())
    for table in named:
        if not session.ask(Question(sql=f"SELECT 1 AS one FROM main.{table} LIMIT 1")).table.num_rows:
            return [{
                "untrusted_reason": f"the table {table} is empty: no file that was read holds such records",
                "untrusted_remedy": "overview shows which tables have rows",
            }]  # fmt: skip
    return [{
        "untrusted_reason": "no row meets the conditions of the statement",
        "untrusted_remedy": "ask without WHERE, or for the values that a column has",
    }]  # fmt: skip
