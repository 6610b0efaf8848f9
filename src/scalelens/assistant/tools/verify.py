"""Whether figures and tables that ScaleLens wrote are still what the logs give: below --root, or made by `plot`."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalelens.assistant.parameters import FilePath
from scalelens.errors import UserError

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

EXAMPLE: dict[str, Any] = {"files": ["figure.png"]}
LIMIT_S = 300


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    files: Annotated[
        list[FilePath], msgspec.Meta(description="Figures, tables, envelopes.", min_length=1, max_length=20)
    ]


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply
    from scalelens.assistant.fitting import fitted_list, short

    verdicts: list[dict[str, Any]] = []
    for name in given.files:
        path = desk.path_below(name, desk.temporary)
        try:
            (found,) = desk.study.verify(path).values()
            sentences = [*found.differences, *found.doubts, *found.remarks]
            verdicts.append({"file": name, "verdict": found.verdict, "untrusted_sentences": short(sentences)})
        except UserError as error:
            verdicts.append({"file": name, "verdict": "cannot", "untrusted_sentences": [short(str(error))]})
    return Reply(fitted_list({"verdicts": verdicts}, "verdicts", "name fewer files"))
