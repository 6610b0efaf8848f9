"""Sizes that were run and are in no series: who looks for five sizes and sees two is told where the others are."""

from collections.abc import Iterable, Mapping
from typing import Any

from scalelens.database.errors import MissingNameError
from scalelens.question.question import Question, call
from scalelens.question.session import Session, ask

_MOST_SIZES = 4


def remark(session: Session, parameters: Mapping[str, Any], shown: Iterable[int | None]) -> str:
    """That runs with times of steps are on sizes that are not `shown`, and how to see why; empty where all are."""
    selected = call("selected_runs", {"runs": parameters.get("runs", "")})
    timed = "SELECT run_id FROM steps WHERE phase = 'train' AND step_s > 0"
    sql = f"SELECT DISTINCT devices FROM runs WHERE run_id IN ({timed}) AND run_id IN (FROM {selected})"
    try:
        answer = session.ask(Question(sql=sql))
    except MissingNameError:  # the session was opened for a query of the user's that needs less
        answer = ask(session.root, Question(sql=sql), session.folders)
    sizes = answer.table["devices"].to_pylist()
    missing = sorted({*sizes} - {*shown, None})
    if not missing:
        return ""
    listed = ", ".join(f"{size:,}" for size in missing[:_MOST_SIZES])
    more = f" and {len(missing) - _MOST_SIZES} more numbers of" if len(missing) > _MOST_SIZES else ""
    return f"no series has the runs on {listed}{more} devices; see why: scalelens query not_compared"
