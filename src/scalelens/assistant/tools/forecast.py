"""What a size that was not run would take: an interval, or why none can be given; `explain` has its parameters."""

from typing import TYPE_CHECKING, Any

import msgspec

from scalelens.assistant.parameters import Columns, Limit, Offset, Parameters

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

QUERY = "forecast"
EXAMPLE: dict[str, Any] = {"parameters": {}}


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    parameters: Parameters = {}
    columns: Columns = []
    offset: Offset = 0
    limit: Limit = 40


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Page
    from scalelens.question.question import Question

    return desk.rows(Question(QUERY, parameters=given.parameters), Page(given.columns, given.offset, given.limit))
