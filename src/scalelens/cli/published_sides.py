"""Runs beside published numbers, for `compare --published`."""

import re
from pathlib import Path

from scalelens.cli.options import OutputFormat, pairs
from scalelens.cli.output import errors
from scalelens.cli.written import show_answer
from scalelens.errors import UserError, did_you_mean

_PARAMETER = re.compile(r"\w+=(?!=)")  # warmup=3; a condition has blanks around its sign


def beside_published(
    root: Path, name: str, given: list[str | None], format: OutputFormat, folders: tuple[Path, ...]
) -> None:
    """Prints the runs that have published rows of `name` beside them.  `given`: a condition, and KEY=VALUE.

    Raises UserError for a name that is not published, and for more than one condition.
    """
    from scalelens.catalog import rows
    from scalelens.question.question import Question
    from scalelens.question.run_names import RUN_NAMES
    from scalelens.question.session import ask

    names = list(dict.fromkeys(row["name"] for row in rows("published")))
    if name not in names:
        meant = f"{did_you_mean(name, names, 1)} ".lstrip()
        raise UserError(f"no published table is called '{name}'", f"{meant}There are {', '.join(names)}")
    texts = [text for text in given if text is not None]
    parameters = pairs([text for text in texts if _PARAMETER.match(text)], "warmup=3")
    conditions = [text for text in texts if not _PARAMETER.match(text)]
    if len(conditions) > 1:
        raise UserError("--published takes one condition", "combine the conditions with AND")
    chosen = {"runs": conditions[0]} if conditions else {}
    question = Question("compare_published", parameters={"published_name": name, **chosen, **parameters})
    answer = ask(root, question, folders, also=RUN_NAMES)
    show_answer(root, answer, format, folders)
    if not answer.table.num_rows:
        errors.print(f"no run has the devices and the batch of any row of {name}", markup=False)
        errors.print(f"its rows: scalelens sql \"FROM published WHERE name = '{name}'\"", style="dim", markup=False)
