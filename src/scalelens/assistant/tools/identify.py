"""Which format takes which lines of a file below --root, what its columns are read as, and what is not understood."""

from typing import TYPE_CHECKING

import msgspec

from scalelens.assistant.parameters import FilePath
from scalelens.errors import UserError

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

EXAMPLE = {"path": "fp32-r1/rank0.log"}
LIMIT_S = 300


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    path: FilePath


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply
    from scalelens.assistant.fitting import fitted_list, short
    from scalelens.ingestion.identify import identify

    path = desk.path_below(given.path)
    if not path.is_file():
        raise UserError("that is a folder", "name one file; ingest with dry_run looks at a folder")
    sentence, counts = identify(path)
    content = {
        "untrusted_sentence": short(sentence),
        "columns": counts.columns,
        "untrusted_rows": [[short(value) for value in row] for row in counts.rows()],
    }
    return Reply(fitted_list(content, "untrusted_rows", "the rest are formats with fewer rows"))
