"""A measure over the runs of one configuration in time: since when is it slower, by how much, what changed there."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalelens.assistant.parameters import Columns, Limit, Offset, Runs

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

EXAMPLE = {"measure": "step_s", "runs": "devices = 1"}


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    measure: Annotated[
        str, msgspec.Meta(description="What is followed.", examples=["step_s", "tokens_per_s"], max_length=100)
    ] = "step_s"
    runs: Runs = ""
    since: Annotated[
        str, msgspec.Meta(description="Only runs from this time on.", examples=["2026-11-01"], max_length=40)
    ] = ""
    columns: Columns = []
    offset: Offset = 0
    limit: Limit = 40


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Page
    from scalelens.question.question import Question

    parameters: dict[str, Any] = {"measure": given.measure, "runs": given.runs, "since": given.since}
    parameters = {name: value for name, value in parameters.items() if value}
    return desk.rows(Question("history", parameters=parameters), Page(given.columns, given.offset, given.limit))
