"""What the rows of a warehouse can show, for a user whose first choice of a figure has nothing to draw."""

from pathlib import Path

from scalelens.charts.style import MOST_SERIES
from scalelens.question.question import Question
from scalelens.question.session import ask

# A command, and the rows that it needs: the first with a row is named.  {} is what the row says.
_SHOWN_BY = (
    (
        "plot batch_cdf -o batch_cdf.pdf",
        "SELECT '' FROM steps WHERE phase = 'train' AND value_kind = 'instant' AND step_s > 0 "
        f"HAVING count(DISTINCT run_id) BETWEEN 1 AND {MOST_SERIES}",
    ),
    (
        "plot throughput -o throughput.pdf",
        "SELECT '' FROM steps JOIN runs USING (run_id) WHERE phase = 'train' AND samples_per_s > 0 "
        "HAVING count(DISTINCT devices) > 1",
    ),
    (
        "plot step_times runs=\"run_id = '{}'\" -o step_times.pdf",
        "SELECT run_id FROM steps WHERE phase = 'train' AND step_s > 0 GROUP BY run_id "
        "ORDER BY count(*) DESC, run_id LIMIT 1",
    ),
    ("plot kernel_summary -o kernel_summary.pdf", "SELECT '' FROM events WHERE category = 'kernel' LIMIT 1"),
    ("plot power_over_time -o power_over_time.pdf", "SELECT '' FROM power LIMIT 1"),
    ("query collective_benchmarks", "SELECT '' FROM collective_benchmarks LIMIT 1"),
    ("query op_summary", "SELECT '' FROM events LIMIT 1"),
    ("query batch_stats", "SELECT '' FROM steps LIMIT 1"),
)


def remedy(root: Path, refused: str) -> str:
    """A command that shows what the warehouse holds, other than the chart that was `refused`; empty if none does."""
    offered = [(command, rows) for command, rows in _SHOWN_BY if not command.startswith(f"plot {refused} ")]
    statement = "SELECT " + ", ".join(f"({rows})" for _, rows in offered)
    (found,) = ask(root, Question(sql=statement)).frame.rows()
    for (command, _), value in zip(offered, found, strict=True):
        if value is not None:
            return f"what these logs can show: scalelens {command.format(value)}"
    return ""
