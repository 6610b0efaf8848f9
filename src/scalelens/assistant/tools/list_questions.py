"""The named questions that `ask` takes, by topic; with a topic also their parameters."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalelens.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

EXAMPLE = {"topic": "energy"}


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    topic: Annotated[
        str, msgspec.Meta(description="A topic; empty for all.", examples=["scaling", "trace"], max_length=100)
    ] = ""


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply
    from scalelens.assistant.fitting import fitted_list
    from scalelens.queries.load import load

    listed = sorted(load(desk.folders).values(), key=lambda query: (query.topic, query.name))
    listed = [query for query in listed if not query.is_helper]
    topics = list(dict.fromkeys(query.topic for query in listed))
    if given.topic and given.topic not in topics:
        near = did_you_mean(given.topic, topics)
        raise UserError(f"there is no topic '{given.topic}'", near or f"there are {', '.join(topics)}")
    if not given.topic:
        rows: list[Any] = [[query.topic, query.name, query.question] for query in listed]
        content = {"columns": ["topic", "name", "question"], "questions": rows}
    else:
        rows = [
            [query.name, query.question, {one.name: f"{one.default}: {one.meaning}" for one in query.parameters}]
            for query in listed
            if query.topic == given.topic
        ]
        content = {"columns": ["name", "question", "parameters"], "questions": rows}
    return Reply(fitted_list(content, "questions", f"name a topic: {', '.join(topics)}"))
