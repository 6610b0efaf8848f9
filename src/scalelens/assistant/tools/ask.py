"""Ask a named question of the warehouse, such as batch_stats, scaling, energy_integrated; `list_questions` lists them.

Prefer this to `sql`: these questions know what to leave out and how sure a number is.
"""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalelens.assistant.parameters import Columns, Limit, Offset, Parameters

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

EXAMPLE: dict[str, Any] = {
    "question": "batch_stats", "parameters": {"runs": "precision = 'bf16'"}, "sort": "-step_s", "limit": 5,
}  # fmt: skip


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    question: Annotated[
        str, msgspec.Meta(description="Name of a query.", examples=["scaling"], min_length=1, max_length=100)
    ]
    parameters: Parameters = {}
    where: Annotated[
        str, msgspec.Meta(description="SQL condition on its rows.", examples=["efficiency < 0.8"], max_length=5_000)
    ] = ""
    sort: Annotated[
        str, msgspec.Meta(description="Columns to sort by, - for descending.", examples=["-step_s"], max_length=1_000)
    ] = ""
    columns: Columns = []
    offset: Offset = 0
    limit: Limit = 40


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Page
    from scalelens.question.question import Question, select_of

    chosen = select_of(None, given.where or None, given.sort or None)
    question = Question(given.question, parameters=given.parameters, select=chosen)
    return desk.rows(question, Page(given.columns, given.offset, given.limit))
