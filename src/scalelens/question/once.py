"""Helpers once per question: what several parts of a question ask in the same way is computed once, as a table.

A query calls helpers, which call others, and DuckDB plans and computes each call by itself: `scaling_times` asks three
times for the same medians.  Here the calls of a question are followed before it is asked.  A helper that is called
twice or more with the same values becomes a table.  A macro of its name takes its place, which reads that table where
it is called with these values, and asks the helper for all others.

When it pays was measured (docs/decisions.md): a table and its macro cost about 4 ms, so a helper is shared where its
SQL is long.

Of a helper whose rows rest on single runs (`Partition: run_id, unordered`), a table of all runs has those of some, too.

What reads all records to give one row per run is a table even for one call, where an answer without rows would make the
next question, why there are none, read them again.

A query is not planned where all is empty that it `Needs`, by its header: a macro without rows takes its place.  So it
does where a helper saves less than planning it takes (`Pays from`), unless somebody asks for that helper itself.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import duckdb

from scalelens.database.errors import duckdb_errors_as_user_errors
from scalelens.database.stand_ins import SHARED, in_place_of, no_rows, original, users_sql
from scalelens.database.texts import sql_text
from scalelens.queries.calls import QUERY, TEXT, Call, calls_in, expression, parts_of_with, sources_in
from scalelens.queries.header import Query, names_in
from scalelens.queries.old_columns import selected_columns
from scalelens.question.question import literal

_LONG_SQL = 900  # characters of a helper below its header
_RUNS, _ALL_RUNS = "runs", "''"  # a parameter, and its value for all of them
MANY_STEPS = 500_000  # records: of fewer, a table of all takes less than to gather and sort some of them once more
_COMPRESSED_FROM = 100_000  # rows: the names of files and runs, which recur, take a tenth then
_ANSWERED = re.compile(r"[\s(]*(SELECT|FROM|WITH)\b", re.IGNORECASE)  # others, such as DESCRIBE, compute nothing


class _Use(NamedTuple):
    """A helper, and the values of all its parameters as SQL, in the order of its header."""

    name: str
    values: tuple[str, ...]


class _Asked:
    """What statements ask: how often each helper, and of which some runs are asked that only DuckDB knows."""

    def __init__(self) -> None:
        self.counts: dict[_Use, int] = {}  # a helper comes after those that it calls
        self.of_some: set[_Use] = set()  # as they would be asked of all runs


class SharedHelpers:
    """The helpers that a connection has as tables."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, queries: Mapping[str, Query],
        known: "SharedHelpers | None" = None,
    ) -> None:  # fmt: skip
        """`known` are those of another connection to the same records: their tables are not computed again."""
        self.connection, self.queries, self.known = connection, queries, known
        self.names = frozenset(queries)
        self.tables: dict[_Use, str] = {}
        self.users_sql = users_sql(queries)
        self.columns = selected_columns(self.users_sql, queries)  # of queries that have old names of columns now
        self.evaluated: dict[str, Any] = {}
        self.has_rows: dict[str, bool] = {}  # by what queries need
        self.empty: set[str] = set()  # queries without rows, whatever their parameters
        self.spared: set[str] = set()  # those of them that would have rows, which their callers do without
        self.named = names_in(self.users_sql)  # what people may ask for
        self.looked_below: set[str] = set()

    def share(self, *statements: str, keeps_light: bool = False) -> None:
        """Makes tables of the helpers that statements use twice, and lets the statements use old names of columns.

        With `keeps_light`, also of those of a light partition that they use once.
        Raises UserError where one cannot be computed.
        """
        self._select(selected_columns("\n".join([*statements, self.users_sql]), self.queries))
        self.named |= names_in("\n".join(statements))
        for name in self.spared & self.named:
            self.spared.remove(name)
            self.empty.remove(name)
            self._take_place(name)
        asked = _Asked()
        for statement in filter(_ANSWERED.match, statements):
            for call in calls_in(statement, self.names):
                self._count(call, {}, statement, asked)
        made = []
        for use, count in asked.counts.items():
            is_kept = keeps_light and self.queries[use.name].is_light
            serves_some = use in asked.of_some and not self._has_many(MANY_STEPS, "steps")
            if (count > 1 or is_kept or serves_some or self._is_known(use)) and self._is_long(use.name):
                made.append(use)
        for use in self._in_turn(made):
            self._make(use, lasts=len(statements) > 1)

    def forget(self) -> None:
        """Drops the tables, and the old names that only statements needed."""
        tables, self.tables = self.tables, {}
        empty, self.empty, self.spared, self.has_rows = self.empty, set(), set(), {}
        self.looked_below, self.named = set(), names_in(self.users_sql)
        for name in {use.name for use in tables} | empty:
            self._take_place(name)
        self._select(selected_columns(self.users_sql, self.queries))
        for table in tables.values():
            self.connection.execute(f"DROP TABLE {table}")

    def _in_turn(self, made: list[_Use]) -> list[_Use]:
        """Helpers after what they call, those first whose table has rows for calls that are not counted."""
        first: set[str] = set()
        called = {use.name for use in made if self.queries[use.name].is_unordered and self._is_of_all_runs(use)}
        while called:
            first |= called
            called = {name for one in called for name in self.queries[one].reads() & self.names} - first
        return sorted(made, key=lambda use: use.name not in first)

    def _is_of_all_runs(self, use: _Use) -> bool:
        names = [parameter.name for parameter in self.queries[use.name].parameters]
        return use.values[names.index(_RUNS)] == _ALL_RUNS

    def _is_long(self, name: str) -> bool:
        """Whether a helper takes longer than a table and its macro: by its SQL, or since it reads many records."""
        return len(self.queries[name].sql) >= _LONG_SQL or self.queries[name].pays_from is not None

    def _is_known(self, use: _Use) -> bool:
        """Whether the other connection has it as a table.  Columns of a light partition have types that Arrow keeps."""
        return self.known is not None and self.queries[use.name].is_light and use in self.known.tables

    def _make(self, use: _Use, lasts: bool) -> None:
        """Makes the table of a helper; where it `lasts` for several questions, it is compressed."""
        query = self.queries[use.name]
        names = [parameter.name for parameter in query.parameters]
        given = ", ".join(f"{name} := {value}" for name, value in zip(names, use.values, strict=True))
        with duckdb_errors_as_user_errors():
            key = self._evaluated(_key(use.values))
            table = f"{SHARED}.{use.name}_{key}"
            if self.known and self._is_known(use):
                rows = self.known.connection.sql(f"FROM {self.known.tables[use]}").to_arrow_table()
                self.connection.from_arrow(rows).create(table)
            else:
                made = self.connection.execute(f"CREATE TABLE {table} AS FROM {original(query)}({given})").fetchall()
                if lasts and made[0][0] >= _COMPRESSED_FROM:
                    self.connection.execute("CHECKPOINT")
            self.tables[use] = table
            self._take_place(use.name)

    def _is_empty(self, name: str) -> bool:
        """Whether a query has no rows, by its needs or because callers do without: a macro then takes its place."""
        if name not in self.empty:
            needs = self.queries[name].needs
            if not self._pays(name):
                self.spared.add(name)
            if name in self.spared or (needs and not any(map(self._has_values, needs))):
                self.empty.add(name)
                self._take_place(name)
        return name in self.empty

    def _pays(self, name: str) -> bool:
        """Whether callers are given the rows of a query."""
        if name in self.named or (least := self.queries[name].pays_from) is None:
            return True
        enough, table, spoiled_by = least
        if not self._has_many(enough, table) or spoiled_by is None:
            return self._has_many(enough, table)
        spoiled = f"SELECT run_id FROM main.{table} WHERE run_id IS NOT NULL AND ({spoiled_by})"
        return self._has_many(enough, table, f"WHERE run_id NOT IN ({spoiled})")

    def _has_many(self, enough: int, table: str, where: str = "") -> bool:
        """Whether a table has so many rows."""
        rows = f"SELECT 1 FROM main.{table} {where} LIMIT {enough}"
        counted = f"SELECT count(*) AS n FROM ({rows})"  # an OFFSET reads far more
        return self._has_rows(f"({counted}) WHERE n = {enough}")

    def _has_values(self, needed: str) -> bool:
        """Whether a table has rows, or a column of one has values: `steps.energy_j`."""
        table, _, column = needed.partition(".")
        return self._has_rows(f"main.{table} {f'WHERE {column} IS NOT NULL' if column else ''} LIMIT 1")

    def _has_rows(self, source: str) -> bool:
        """Whether a part of a SELECT has rows, from its source on."""
        if source not in self.has_rows:
            with duckdb_errors_as_user_errors():
                self.has_rows[source] = bool(self.connection.execute(f"SELECT 1 FROM {source}").fetchall())
        return self.has_rows[source]

    def _select(self, columns: dict[str, str]) -> None:
        """Makes queries select these columns from now on, and no other old names."""
        before, self.columns = self.columns, columns
        for name in before.keys() | columns.keys():
            if before.get(name) != columns.get(name):
                self._take_place(name)

    def _take_place(self, name: str) -> None:
        """Puts a macro in the place of a query that has rows in tables, or old names of columns; else drops it."""
        query = self.queries[name]
        tables = ", ".join(sql_text(table) for use, table in self.tables.items() if use.name == name)
        if not tables and name not in self.columns and name not in self.empty:
            self.connection.execute(f"DROP MACRO TABLE {name}")
            return
        rows = no_rows(query) if name in self.empty else _rows_in(query, tables) if tables else ""
        self.connection.execute(in_place_of(query, self.columns.get(name, "*"), rows))

    def _count(self, call: Call, given: Mapping[str, str], caller: str, asked: _Asked) -> None:
        """Counts a call and those that it makes.  `given` are the values of the parameters of its caller.

        What is called with values that only DuckDB knows is not counted, nor what is a table or has no rows.
        """
        counts = asked.counts
        if call.name == QUERY:
            text = expression((call.arguments or {})[TEXT], given)
            for inner in calls_in(self._evaluated(text) or "", self.names) if text else ():
                self._count(inner, {}, caller, asked)
            return
        if self._is_empty(call.name):
            return
        values = self._values_of(call, given, caller)
        if values is None:
            self._empty_below(call.name)
            if self.queries[call.name].is_unordered and call.arguments:
                others = {name: value for name, value in call.arguments.items() if name != _RUNS}
                if of_all := self._values_of(Call(call.name, others), given, caller):
                    asked.of_some.add(_Use(call.name, tuple(of_all.values())))
            return
        use = _Use(call.name, tuple(values.values()))
        if use in self.tables:
            return
        if use not in counts or not self._is_long(use.name):
            query = self.queries[use.name]
            for inner in calls_in(query.sql, self.names):
                self._count(inner, values, query.sql, asked)
        counts[use] = counts.get(use, 0) + 1

    def _empty_below(self, name: str) -> None:
        """Puts macros without rows in the place of what a query calls, whatever the values it is called with."""
        if name == QUERY or name in self.looked_below or self._is_empty(name):
            return
        self.looked_below.add(name)
        for inner in calls_in(self.queries[name].sql, self.names):
            self._empty_below(inner.name)

    def _values_of(self, call: Call, given: Mapping[str, str], caller: str) -> dict[str, str] | None:
        """The values of all parameters of a call, as SQL; None where they are not known beforehand."""
        values = {parameter.name: parameter.default for parameter in self.queries[call.name].parameters}
        if call.arguments is None or not call.arguments.keys() <= values.keys():
            return None
        for name, tokens in call.arguments.items():
            text = expression(tokens, given)
            if text is None:
                return None
            values[name] = text if len(tokens) == 1 else self._value_of(text)
            if sources_in(values[name]) & parts_of_with(caller):
                return None  # what only the caller understands
        return values

    def _value_of(self, text: str) -> str:
        """The value of an expression, as SQL."""
        value = self._evaluated(text)
        return sql_text(value) if isinstance(value, str) else literal(value)

    def _evaluated(self, text: str) -> Any:
        if text not in self.evaluated:
            with duckdb_errors_as_user_errors():
                self.evaluated[text] = self.connection.execute(f"SELECT {text}").fetchall()[0][0]
        return self.evaluated[text]


def _rows_in(query: Query, tables: str) -> str:
    """SQL for the rows of a call: those of a table, if one has them, else of the query itself.  `tables` are names."""
    own, of_all = (
        f"{sql_text(f'{SHARED}.{query.name}_')} || "
        + _key(_ALL_RUNS if of_all and one.name == _RUNS else one.name for one in query.parameters)
        for of_all in (False, True)
    )
    others = f"'FROM {original(query)}(' || {_arguments(query)} || ')'"
    some = f"'FROM ' || {of_all} || ' WHERE run_id IN (FROM selected_runs(runs := ' || quoted({_RUNS}) || '))'"
    from_all = f"WHEN {of_all} IN ({tables}) THEN {some} " if query.is_unordered else ""
    return f"FROM query(CASE WHEN {own} IN ({tables}) THEN 'FROM ' || {own} {from_all}ELSE {others} END)"


def _key(values: Iterable[str]) -> str:
    """SQL for a text that differs where values do, which are SQL."""
    texts = "".join(f", coalesce(({value})::VARCHAR, 'NULL')" for value in values)
    return f"md5(concat_ws('|', ''{texts}))"


def _arguments(query: Query) -> str:
    """SQL for a text with the arguments of a call, made of the parameters of a query."""
    texts = []
    for name, default, _ in query.parameters:
        value = f"quoted({name}::VARCHAR)" if default.startswith("'") else f"{name}::VARCHAR"
        texts.append(f"'{name} := ' || coalesce({value}, 'NULL')")
    return " || ', ' || ".join(texts) or "''"
