"""Start here: the runs of the warehouse, how they ended, what was read, what was not understood, what can be asked."""

from typing import TYPE_CHECKING, Any

import msgspec

from scalelens.assistant.fitting import LONGEST
from scalelens.report.envelopes import json_of

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply
    from scalelens.question.session import Session

EXAMPLE: dict[str, Any] = {}
_FILES = "SELECT status, count(*)::INT AS n FROM files GROUP BY ALL ORDER BY ALL"
_OUTCOMES = "SELECT outcome, count(*)::INT AS n FROM runs GROUP BY ALL ORDER BY ALL"
_PROBLEMS = "SELECT count(*)::INT AS n FROM problems"
_MOST_RUNS = 20
_MEASURED = ("steps", "phases", "metrics", "power", "energy", "events", "collective_benchmarks", "jobs")
# A question worth asking where a table has rows.
_WORTH_ASKING = {
    "steps": ("batch_stats", "scaling", "throughput", "mfu", "exclusions"),
    "events": ("temporal_breakdown", "kernel_summary", "outlier_gpus"),
    "power": ("energy_integrated",), "energy": ("energy_efficiency",), "phases": ("goodput",),
    "collective_benchmarks": ("collective_benchmark_summary",),
}  # fmt: skip


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    pass


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply

    return Reply(desk.study.in_session(lambda session: _overview(desk, session)))


def _overview(desk: "Desk", session: "Session") -> dict[str, Any]:
    from scalelens.assistant.desk import Page
    from scalelens.question.question import Question

    def counts(statement: str) -> dict[str, int]:
        return dict(session.ask(Question(sql=statement)).frame.iter_rows())

    of_tables = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*)::BIGINT AS n FROM {name}" for name in _MEASURED)
    n_rows = counts(of_tables)
    asked = [name for table, names in _WORTH_ASKING.items() if n_rows[table] for name in names]
    content = {
        "runs_by_outcome": counts(_OUTCOMES),
        "files_by_status": counts(_FILES),
        "rows_by_table": n_rows,
        "problems": session.ask(Question(sql=_PROBLEMS)).frame.item(),
        "contradictions": session.ask(Question("contradictions", select="1 AS n FROM {}")).frame.height,
        "worth_asking": [name for name in asked if name in session.queries],
        "hints": [
            "problems: sql with FROM problems; contradictions: ask contradictions",
            "what statistics leave out, and by which rule: ask exclusions",
            "further runs: ask runs_overview with offset, or with a condition in where",
        ],
    }
    room = LONGEST - len(json_of(content)) - len('"runs":')
    return {**content, "runs": desk.content(session, Question("runs_overview"), Page(limit=_MOST_RUNS), room)}
