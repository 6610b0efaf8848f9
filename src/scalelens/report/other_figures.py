"""What the rows of a warehouse can show, for a user whose first choice of a figure has nothing to draw."""

import shlex
from typing import NamedTuple

from scalelens.charts.load import load as charts
from scalelens.charts.run_rates import MOST_RUNS
from scalelens.charts.run_times import FEWEST_RUNS
from scalelens.charts.style import MOST_SERIES
from scalelens.charts.temporal_breakdown import MOST_RANKS
from scalelens.database.connect import needed_tables
from scalelens.queries.load import load, needed_by
from scalelens.question.question import Question, call
from scalelens.question.run_names import RUN_NAMES, in_command
from scalelens.question.session import Session
from scalelens.report.findings.printed_rates import SQL as RATES_OF_DEVICES
from scalelens.report.findings.printed_rates import TIMED
from scalelens.report.findings.quality import LEAST_ACCURACY, OF_UNKNOWN_WRITERS, SCORE_OF_METRICS
from scalelens.report.findings.step_times import FEWEST_TIMES

_FEWEST_RECORDS = 3  # of a run, as two of them may be warm-up
_FEWEST_BATCHES = 3  # of a curve over the batch
_MANY_FAILURES = 0.5  # of all runs; where fewer failed, people first ask what the others did
_FEWEST_FAILURES = 3  # that make a rate
# Scores of MLPerf whose time is known, two of one run; for these benchmarks the score is an accuracy (accuracy_curve).
_EVALUATED = (
    "SELECT '' FROM metrics JOIN runs USING (run_id) WHERE metrics.name = 'eval_accuracy' AND coalesce(model, '') {} "
    "AND run_id IN (SELECT run_id FROM phases WHERE phase = 'evaluation' AND ts IS NOT NULL) "
    "GROUP BY run_id HAVING count(*) > 1 LIMIT 1"
)
_TABLES = ("steps", "phases", "metrics", "events", "power", "energy", "collective_benchmarks")  # what charts draw
_HAS_FAILED = "EXISTS (FROM runs WHERE outcome NOT IN ('completed', 'cancelled', 'unknown'))"
_UNLIKE = 50  # how often the scatter within a run fits between the fastest run and the slowest
_SELECTED = "$selected"  # in conditions: that a run is one of those that the user chose
_LARGEST_RUN = "{} GROUP BY run_id ORDER BY count(*) DESC, run_id LIMIT 1"  # with the most rows of a table, or sensors
# In how many ways the runs with times of steps were made: where there are several, a step is not the same work in each,
# or was meant to be faster in one.
_SETTINGS = (
    "(SELECT count(DISTINCT settings) FROM ("
    "SELECT string_agg(setting || ' ' || value, ', ' ORDER BY setting) AS settings "
    f"FROM configuration() WHERE class = 'performance' AND run_id IN ({TIMED}) GROUP BY run_id))"
)
_RATES = (
    "SELECT '' FROM steps JOIN runs USING (run_id) WHERE phase = 'train' AND devices > 0 "
    "AND (samples_per_s > 0 OR step_s > 0 AND coalesce(samples, tokens) > 0) "
    f"HAVING count(DISTINCT run_id) > 1 AND count(*) >= {_FEWEST_RECORDS} * count(DISTINCT run_id)"
)
_TRAINED_ON_SEVERAL_SIZES = (
    "SELECT '' FROM phases JOIN runs USING (run_id) WHERE phase = 'run' AND span_s > 0 AND devices > 0 "
    "HAVING count(DISTINCT devices) > 1"
)
_N_TIMED = f"(SELECT count(DISTINCT run_id) FROM ({TIMED}))"
_RATES_OF_JOBS = (  # whose devices are mostly unknown
    "SELECT '' FROM rates_logged() JOIN runs USING (run_id) WHERE rate_scope = 'global' "
    f"HAVING count(*) BETWEEN 2 AND {MOST_RUNS} AND 2 * count(devices) < count(*) "
    f"AND count(*) > {_N_TIMED} "
    "AND count(DISTINCT coalesce(nodes, 0)) = 1"  # a rate that does not grow with the nodes may be of a device
)
_LARGEST_KEPT = "SELECT coalesce(max(n_steps), 0) FROM kept_times()"
_FEW_TIMES = f"(({_LARGEST_KEPT}) < {FEWEST_TIMES})"


class _Offer(NamedTuple):
    """A command, and the rows that it needs: {} is what the first row says, {run} the run whose id it says."""

    command: str
    rows: str
    fewest_runs: int = 1  # where there are fewer, it has no rows, which is known before they are asked for


# The most telling first.
_SHOWN_BY = (
    _Offer(
        "plot accuracy score_name=loss -o accuracy.pdf",  # of a search for a learning rate, which changes no speed
        "SELECT '' FROM configuration() WHERE setting = 'learning_rate' AND run_id IN (SELECT run_id FROM steps "
        f"WHERE phase = 'train' AND loss IS NOT NULL AND run_id NOT IN {OF_UNKNOWN_WRITERS} "
        f"GROUP BY run_id HAVING count(DISTINCT coalesce(step, epoch, line)) >= {_FEWEST_RECORDS}) "
        f"HAVING count(DISTINCT value) > 1 AND {_SETTINGS} <= 1",
        2,
    ),
    _Offer(
        "plot batch_size_curve -o batch_size_curve.pdf",
        f"SELECT '' FROM batch_size_curve() HAVING count(*) >= {_FEWEST_BATCHES} AND count(DISTINCT series) = 1 "
        f"AND NOT {_FEW_TIMES} "
        f"AND sum(n_runs) = (SELECT count(DISTINCT run_id) FROM ({TIMED}))",
        _FEWEST_BATCHES,
    ),
    _Offer(
        "plot throughput -o throughput.pdf",
        f"{_RATES} AND count(DISTINCT run_id) = {_N_TIMED} "
        f"AND count(DISTINCT run_id) <= {MOST_RUNS} AND {_SETTINGS} > 1 AND NOT {_FEW_TIMES}",
        2,
    ),
    _Offer("plot throughput -o throughput.pdf", f"SELECT '' FROM ({RATES_OF_DEVICES}) LIMIT 1"),
    _Offer(
        "plot throughput -o throughput.pdf",  # step times of runs so unlike that a distribution would be upright lines
        "SELECT '' FROM batch_stats() JOIN runs USING (run_id) "
        f"HAVING count(*) BETWEEN {FEWEST_RUNS} AND {MOST_RUNS} AND count(DISTINCT coalesce(devices, 0)) = 1 "
        "AND count(coalesce(samples_per_s, tokens_per_s)) = 0 "
        f"AND {_UNLIKE} * median(p95_s - p5_s) < max(step_s) - min(step_s)",
        FEWEST_RUNS,
    ),
    _Offer(
        "plot batch_cdf -o batch_cdf.pdf",
        "SELECT '' FROM kept_times() WHERE reason IS NULL "
        f"HAVING max(n_steps) FILTER (label = 'single steps') >= {FEWEST_TIMES} AND count(*) <= {MOST_SERIES}",
    ),
    _Offer(
        "plot failures -o failures.pdf",
        "SELECT '' FROM failures() WHERE part = 'cause' "
        f"HAVING sum(failures) >= greatest({_FEWEST_FAILURES}, {_MANY_FAILURES} * (SELECT count(*) FROM runs)) "
        f"AND {_FEW_TIMES} "
        f"AND NOT EXISTS ({_TRAINED_ON_SEVERAL_SIZES})",
    ),
    _Offer("plot throughput -o throughput.pdf", _RATES, 2),
    _Offer("plot throughput -o throughput.pdf", _RATES_OF_JOBS, 2),
    _Offer(
        "plot throughput -o throughput.pdf",  # rates of whole jobs
        "SELECT '' FROM throughput() WHERE coalesce(samples_per_s, tokens_per_s) > 0 "
        "HAVING count(*) > 1 AND count(devices) = 0 AND count(DISTINCT coalesce(nodes, 0)) = 1",
        2,
    ),
    _Offer(
        "plot throughput -o throughput.pdf",  # of a table that states the rate of each run
        "SELECT '' FROM steps JOIN runs USING (run_id) WHERE phase = 'train' AND devices > 0 AND samples_per_s > 0 "
        f"AND value_kind = 'run_mean' HAVING count(DISTINCT run_id) BETWEEN 2 AND {MOST_RUNS} AND {_N_TIMED} = 0",
        2,
    ),
    _Offer(
        "plot time_to_train -o time_to_train.pdf",
        _TRAINED_ON_SEVERAL_SIZES,
        2,
    ),
    _Offer("plot accuracy -o accuracy.pdf", _EVALUATED.format("IN ('resnet', 'bert')")),
    _Offer("plot accuracy score_name=eval_accuracy -o accuracy.pdf", _EVALUATED.format("NOT IN ('resnet', 'bert')")),
    _Offer(
        "plot throughput -o throughput.pdf",  # step times of runs side by side, where no log states what a step does
        "SELECT '' FROM throughput() "
        f"HAVING count(step_s) >= {FEWEST_RUNS} AND count(DISTINCT coalesce(devices, 0)) = 1 AND count(step_s) > "
        "2 * count(coalesce(samples_per_s, tokens_per_s, printed_samples_per_s, printed_tokens_per_s))",
        FEWEST_RUNS,
    ),
    _Offer(
        "plot throughput exclude=none -o throughput.pdf",  # of runs so short that the warm-up is all they have
        f"SELECT '' FROM throughput(exclude := 'none') WHERE ({_LARGEST_KEPT}) = 0 "
        f"HAVING count(step_s) >= {FEWEST_RUNS} AND count(DISTINCT coalesce(devices, 0)) = 1 "
        f"AND count(*) <= {MOST_RUNS}",
        FEWEST_RUNS,
    ),
    _Offer(
        'plot step_times runs="{run}" -o step_times.pdf',
        f"SELECT run_id FROM steps WHERE phase = 'train' AND step_s > 0 AND {_SELECTED} "
        "GROUP BY run_id HAVING count(*) > 1 ORDER BY count(*) DESC, run_id LIMIT 1",
    ),
    _Offer(
        "plot accuracy -o accuracy.pdf",
        "SELECT '' FROM accuracy_curve() GROUP BY run_id, phase "
        f"HAVING count(*) > 1 AND max(score) >= {LEAST_ACCURACY} LIMIT 1",
    ),
    _Offer(
        "plot accuracy score_name=loss -o accuracy.pdf",
        f"SELECT '' FROM steps WHERE phase = 'train' AND loss IS NOT NULL AND run_id NOT IN {OF_UNKNOWN_WRITERS} "
        "GROUP BY run_id HAVING count(DISTINCT coalesce(step, epoch, line)) > 1 LIMIT 1",
    ),
    _Offer(
        'plot accuracy score_name="{}" -o accuracy.pdf',
        SCORE_OF_METRICS,
    ),
    _Offer(
        "plot epochs -o epochs.pdf",  # of runs that time epochs alone, on devices that no log counts
        f"SELECT '' FROM epoch_stats() WHERE later_epoch_s > 0 HAVING count(DISTINCT run_id) > 1 AND {_N_TIMED} = 0",
        2,
    ),
    _Offer(
        'plot temporal_breakdown runs="{run}" -o temporal_breakdown.pdf',
        f"SELECT run_id FROM events WHERE category = 'kernel' AND {_SELECTED} GROUP BY run_id "
        f"HAVING count(DISTINCT rank) BETWEEN 2 AND {MOST_RANKS} ORDER BY count(*) DESC, run_id LIMIT 1",
    ),
    _Offer(
        'plot kernel_summary runs="{run}" -o kernel_summary.pdf',
        _LARGEST_RUN.format(f"SELECT run_id FROM events WHERE category = 'kernel' AND {_SELECTED}"),
    ),
    _Offer(
        "plot energy_by_limit -o energy_by_limit.pdf",
        "SELECT '' FROM energy_by_limit() GROUP BY run_id HAVING count(*) > 1 LIMIT 1",
    ),
    _Offer(
        "plot energy -o energy.pdf",  # of several runs; the power of one alone is a course
        "SELECT '' FROM energy_reconciled() WHERE energy_j > 0 AND part_of IS NULL "
        "HAVING count(*) > count(DISTINCT coalesce(scope, '')) AND count(*) = count(DISTINCT run_id)",
        2,
    ),
    _Offer(
        'plot power_over_time runs="{run}" -o power_over_time.pdf',
        _LARGEST_RUN.format(
            "SELECT run_id FROM (SELECT run_id, node, device, scope FROM power "
            f"WHERE isfinite(power_w) AND flag IS DISTINCT FROM 'implausible' AND {_SELECTED} "
            "GROUP BY ALL HAVING count(DISTINCT ts) > 1)"
        ),
    ),
    _Offer("plot energy -o energy.pdf", "SELECT '' FROM energy WHERE energy_j > 0 LIMIT 1"),
    _Offer(
        "plot collective_benchmarks -o collective_benchmarks.pdf",
        "SELECT '' FROM collective_benchmarks WHERE busbw_bytes_per_s > 0 AND message_bytes > 0 LIMIT 1",
    ),
    _Offer("query collective_benchmarks", "SELECT '' FROM collective_benchmarks LIMIT 1"),
    _Offer(
        'plot collective_arrivals runs="{run}" -o collective_arrivals.pdf',  # of ranks without a device
        "SELECT run_id FROM events WHERE (collective IS NOT NULL "
        "OR category = 'user_annotation' AND regexp_matches(name, '^(gloo|mpi|ucc):')) "
        f"AND run_id NOT IN (SELECT run_id FROM events WHERE category = 'kernel') AND {_SELECTED} "
        "GROUP BY run_id HAVING count(DISTINCT rank) > 1 ORDER BY count(*) DESC, run_id LIMIT 1",
    ),
    _Offer(
        'plot op_summary runs="{run}" -o op_summary.pdf',
        _LARGEST_RUN.format(
            f"SELECT run_id FROM events WHERE category IN ('cpu_op', 'operator') AND duration_ns > 0 AND {_SELECTED}"
        ),
    ),
    _Offer(
        'plot kernel_summary runs="{run}" -o kernel_summary.pdf',  # of a recording with copies and fills alone
        _LARGEST_RUN.format(
            f"SELECT run_id FROM events WHERE category IN ('gpu_memcpy', 'gpu_memset') AND {_SELECTED}"
        ),
    ),
    _Offer("plot failures -o failures.pdf", "SELECT '' FROM failures() WHERE part = 'cause' AND failures > 0 LIMIT 1"),
    _Offer(
        'sql "SELECT device, scope, avg(power_w) AS mean_w, max(power_w) AS max_w FROM power '
        'GROUP BY ALL ORDER BY ALL"',  # of readings without times, which have no course
        "SELECT '' FROM power WHERE isfinite(power_w) HAVING count(*) > 0 AND count(ts) = 0",
    ),
    _Offer("query op_summary", "SELECT '' FROM events WHERE category IN ('cpu_op', 'operator', 'nvtx') LIMIT 1"),
    _Offer("query batch_stats", "SELECT '' FROM steps WHERE step_s > 0 LIMIT 1"),
)


def remedy(session: Session, refused: str, runs: str = "") -> str:
    """Advice that names what shows the warehouse, other than the chart that was `refused`; empty if nothing does.

    Whoever asked for a chart of traces is named one of traces, where there is any.
    """
    commands = shown_by(session, refused, runs)
    if _is_of_traces(refused):
        commands.sort(key=lambda command: not _is_of_traces(shlex.split(command)[1]))
    return f"what these logs can show: scalelens {commands[0]}" if commands else ""


def about(refused: str, runs: str = "") -> str:
    """What `shown_by` asks of a warehouse with rows of each kind: a session for it is about that."""
    return f"{_statement(_offered(refused, runs))}; {RUN_NAMES}"


def _statement(offered: list[_Offer]) -> str:
    return "SELECT " + ", ".join(f"({offer.rows})" for offer in offered)


def _offered(refused: str, runs: str) -> list[_Offer]:
    selected = f"run_id IN (FROM {call('selected_runs', {'runs': runs})})" if runs.strip() else "true"
    return [
        offer._replace(rows=offer.rows.replace(_SELECTED, selected))
        for offer in _SHOWN_BY
        if any(word in offer.command for word in ("score_name", "exclude"))
        or not offer.command.startswith(f"plot {refused} ")
    ]


def shown_by(session: Session, refused: str, runs: str = "") -> list[str]:
    """Commands that show what the warehouse has, other than the chart that was `refused`: the most telling first.

    Where `runs` were selected, a command that draws one run names one of these.
    """
    offered = _with_rows(session, _offered(refused, runs))
    if not offered:
        return []
    answer = session.ask(Question(sql=_statement(offered)))
    (found,) = answer.frame.rows()
    commands = [
        offer.command.format(value, run=in_command(answer.run_names, value) if "{run}" in offer.command else "")
        for offer, value in zip(offered, found, strict=True)
        if value is not None
    ]
    return list(dict.fromkeys(commands))


def _is_of_traces(name: str) -> bool:
    """Whether a chart or a query reads events, and no times of steps."""
    about = f"FROM {charts()[name].QUERY if name in charts() else name}()"
    queries = load()  # a session knows only those that its question needs
    needed = needed_tables(about, needed_by(about, queries))
    return "events" in needed and "step_times" not in needed


def _with_rows(session: Session, offered: list[_Offer]) -> list[_Offer]:
    """Those that may have rows: they read a table with rows, and there are as many runs as they need.

    Of the others the answer is known before it takes time to plan.
    """
    counted = ", ".join(f"EXISTS (FROM {table})" for table in _TABLES)
    asked = f"SELECT (SELECT count(*) FROM runs), {_HAS_FAILED}, {counted}"
    ((n_runs, has_failed, *found),) = session.ask(Question(sql=asked)).frame.rows()
    filled = {table for table, has_rows in zip(_TABLES, found, strict=True) if has_rows}
    if has_failed:
        filled.add("failed_runs")
    queries = session.queries
    return [
        offer
        for offer in offered
        if offer.fewest_runs <= n_runs and filled & needed_tables(offer.rows, needed_by(offer.rows, queries))
    ]
