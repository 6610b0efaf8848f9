"""What the rows of a warehouse can show, for a user whose first choice of a figure has nothing to draw."""

from pathlib import Path

from scalelens.charts.style import MOST_SERIES
from scalelens.charts.temporal_breakdown import MOST_RANKS
from scalelens.question.question import Question, call
from scalelens.question.run_names import RUN_NAMES, in_command
from scalelens.question.session import ask
from scalelens.report.findings.step_times import FEWEST_TIMES

# How names of accuracies and losses begin, or go on after a sign: Top1_val, train/loss.
_SCORE = r"(?i)^([\w/. -]*[^a-z])?(acc|top.?1|prec.?1|map|bleu|dice|iou|loss)[\w/. -]*$"
_FEWEST_RECORDS = 3  # of a run, as two of them may be warm-up
# Scores of MLPerf whose time is known, two of one run; for these benchmarks the score is an accuracy (accuracy_curve).
_EVALUATED = (
    "SELECT '' FROM metrics JOIN runs USING (run_id) WHERE metrics.name = 'eval_accuracy' AND coalesce(model, '') {} "
    "AND run_id IN (SELECT run_id FROM phases WHERE phase = 'evaluation' AND ts IS NOT NULL) "
    "GROUP BY run_id HAVING count(*) > 1 LIMIT 1"
)
_SELECTED = "$selected"  # in conditions: that a run is one of those that the user chose
_LARGEST_RUN = "{} GROUP BY run_id ORDER BY count(*) DESC, run_id LIMIT 1"  # with the most rows of a table, or sensors
# A command, and the rows that it needs: the first with a row is named.  {} is what the row says, {run} the run whose id
# it says.
_SHOWN_BY = (
    (
        "plot batch_cdf -o batch_cdf.pdf",
        "SELECT '' FROM kept_times() WHERE reason IS NULL "
        f"HAVING max(n_steps) FILTER (label = 'single steps') >= {FEWEST_TIMES} AND count(*) <= {MOST_SERIES}",
    ),
    (
        "plot throughput -o throughput.pdf",
        "SELECT '' FROM steps JOIN runs USING (run_id) WHERE phase = 'train' AND devices > 0 "
        "AND (samples_per_s > 0 OR step_s > 0 AND coalesce(samples, tokens) > 0) "
        f"HAVING count(DISTINCT run_id) > 1 AND count(*) >= {_FEWEST_RECORDS} * count(DISTINCT run_id)",
    ),
    (
        "plot time_to_train -o time_to_train.pdf",
        "SELECT '' FROM phases JOIN runs USING (run_id) WHERE phase = 'run' AND span_s > 0 AND devices > 0 "
        "HAVING count(DISTINCT devices) > 1",
    ),
    ("plot accuracy -o accuracy.pdf", _EVALUATED.format("IN ('resnet', 'bert')")),
    ("plot accuracy score_name=eval_accuracy -o accuracy.pdf", _EVALUATED.format("NOT IN ('resnet', 'bert')")),
    (
        'plot step_times runs="{run}" -o step_times.pdf',
        _LARGEST_RUN.format(f"SELECT run_id FROM steps WHERE phase = 'train' AND step_s > 0 AND {_SELECTED}"),
    ),
    (
        "plot accuracy score_name=loss -o accuracy.pdf",
        "SELECT '' FROM steps WHERE phase = 'train' AND loss IS NOT NULL "
        "GROUP BY run_id HAVING count(DISTINCT coalesce(step, epoch, line)) > 1 LIMIT 1",
    ),
    (
        'plot accuracy score_name="{}" -o accuracy.pdf',
        rf"SELECT name FROM metrics WHERE step IS NOT NULL AND regexp_matches(name, '{_SCORE}') "
        "GROUP BY name HAVING count(DISTINCT (run_id, step)) > count(DISTINCT run_id) "
        "ORDER BY name ILIKE '%loss%', name ILIKE '%train%', count(*) DESC, name LIMIT 1",
    ),
    (
        'plot temporal_breakdown runs="{run}" -o temporal_breakdown.pdf',
        f"SELECT run_id FROM events WHERE category = 'kernel' AND {_SELECTED} GROUP BY run_id "
        f"HAVING count(DISTINCT rank) BETWEEN 2 AND {MOST_RANKS} ORDER BY count(*) DESC, run_id LIMIT 1",
    ),
    (
        'plot kernel_summary runs="{run}" -o kernel_summary.pdf',
        _LARGEST_RUN.format(f"SELECT run_id FROM events WHERE category = 'kernel' AND {_SELECTED}"),
    ),
    (
        'plot power_over_time runs="{run}" -o power_over_time.pdf',
        _LARGEST_RUN.format(
            "SELECT run_id FROM (SELECT run_id, node, device, scope FROM power "
            f"WHERE isfinite(power_w) AND flag IS DISTINCT FROM 'implausible' AND {_SELECTED} "
            "GROUP BY ALL HAVING count(DISTINCT ts) > 1)"
        ),
    ),
    ("plot energy -o energy.pdf", "SELECT '' FROM energy WHERE energy_j > 0 LIMIT 1"),
    ("query collective_benchmarks", "SELECT '' FROM collective_benchmarks LIMIT 1"),
    ("query op_summary", "SELECT '' FROM events WHERE category IN ('cpu_op', 'operator', 'nvtx') LIMIT 1"),
    ("query batch_stats", "SELECT '' FROM steps WHERE step_s > 0 LIMIT 1"),
)


def remedy(root: Path, refused: str, runs: str = "") -> str:
    """Advice that names what shows the warehouse, other than the chart that was `refused`; empty if nothing does."""
    command = shown_by(root, refused, runs)
    return f"what these logs can show: scalelens {command}" if command else ""


def shown_by(root: Path, refused: str, runs: str = "") -> str:
    """A command that shows what the warehouse holds, other than the chart that was `refused`; empty if none does.

    Where `runs` were selected, a command that draws one run names one of these.
    """
    offered = [
        (command, rows)
        for command, rows in _SHOWN_BY
        if "score_name" in command or not command.startswith(f"plot {refused} ")
    ]
    selected = f"run_id IN (FROM {call('selected_runs', {'runs': runs})})"
    of_runs = [rows.replace(_SELECTED, selected if runs.strip() else "true") for _, rows in offered]
    statement = "SELECT " + ", ".join(f"({rows})" for rows in of_runs)
    answer = ask(root, Question(sql=statement), also=RUN_NAMES)
    (found,) = answer.frame.rows()
    for (command, _), value in zip(offered, found, strict=True):
        if value is not None:
            run = in_command(answer.run_names, value) if "{run}" in command else ""
            return command.format(value, run=run)
    return ""
