"""One SELECT in DuckDB's SQL over the documented tables; every named question is a table macro: FROM scaling().

It reads the warehouse alone and changes nothing.  Columns end in their unit: step_s is in seconds.
"""

from typing import TYPE_CHECKING, Annotated

import msgspec

from scalelens.assistant.parameters import LONGEST_TEXT, Limit, Offset

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

EXAMPLE = {"statement": "SELECT run_id, max(loss) AS loss FROM steps WHERE phase = 'train' GROUP BY run_id"}


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    statement: Annotated[
        str,
        msgspec.Meta(
            description="SQL.", examples=["SELECT count(*) FROM steps"], min_length=1, max_length=LONGEST_TEXT
        ),
    ]
    offset: Offset = 0
    limit: Limit = 40


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Page, Reply, sql_rows

    page = Page((), given.offset, given.limit)
    return Reply(desk.study.in_session(lambda session: sql_rows(session, given.statement, page)))
