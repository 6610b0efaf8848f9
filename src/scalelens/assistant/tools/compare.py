"""Whether b is slower than a, by how much and how sure, which settings differ, and signs of a cause."""

from typing import TYPE_CHECKING, Any

import msgspec

from scalelens.assistant.fitting import LONGEST
from scalelens.assistant.parameters import Parameters, Side
from scalelens.report.envelopes import json_of

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply
    from scalelens.question.session import Session

EXAMPLE = {"a": "fp32-r1", "b": "bf16-r1"}
_OF_SIDES = {"a", "b", "runs"}


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    a: Side
    b: Side
    parameters: Parameters = {}


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply

    return Reply(desk.study.in_session(lambda session: _compared(desk, session, given)))


def _compared(desk: "Desk", session: "Session", given: Arguments) -> dict[str, Any]:
    """The comparison; beside it the settings that differ, the runs of both sides and the evidence."""
    from scalelens.assistant.desk import Page
    from scalelens.question.question import Question

    sides = {"a": given.a, "b": given.b}

    def rows(query: str, *columns: str) -> list[list[Any]]:
        frame = session.ask(Question(query, parameters=sides)).frame
        return [list(row) for row in frame.select(columns or frame.columns).head(20).rows()]

    names, members = session.run_names, rows("two_sides", "side", "run_id")
    beside = {
        "untrusted_settings": {
            "columns": ["setting", "class", "a", "b"],
            "rows": rows("differences", "setting", "class", "a_value", "b_value"),
        },
        "untrusted_signs": {
            "columns": ["cause", "is_there", "evidence"],
            "rows": rows("compare_evidence", "cause", "is_there", "evidence"),
        },
        "untrusted_sides": {"columns": ["side", "run"], "rows": [[side, names.get(run, run)] for side, run in members]},
    }
    question = Question("compare", parameters={**given.parameters, **sides})
    room = LONGEST - len(json_of(beside))
    return {**desk.content(session, question, Page(["*"]), room, [run for _, run in members]), **beside}
