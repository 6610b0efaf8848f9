"""Tables that people make of a log, and event files that a training writes beside it: they belong to its run.

Neither a name nor a folder tells it, but the losses at the same steps do: a few of each file, at the steps with the
roundest numbers, stand in its facts.  A table that is made of a log has the log's losses at all of these, up to the
digits that both give, and takes as long where both have times.  It lies in the folder of the log, below it or above.
"""

from decimal import Decimal
from math import floor, isfinite, log, log10

from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part
from scalelens.runs.run import Run

_FEWEST = 5  # losses that must agree, no two of them the same
_FEWEST_DIGITS = 3  # of the losses, on average
_DEEPEST = 3  # folders between a table and its log
_BUCKET = 1.1  # losses that agree lie in one bucket or in two beside each other
_CUT = 0.1  # of the steps of a log that its table may lack at the end: it may have been made a little earlier
_LOOSE = 0.05  # of the time of a step, between two ways to read it from a log


def attach_tables(runs: list[Run], ties: list[Tie]) -> list[Run]:
    """The runs, with each table moved to the run of the log that it was made of, if it is clear which one that is.

    The log counts, unless only the table has times of steps.
    """
    logs = Lookup[tuple[Run, Part]]("losses", ties)
    for run in runs:
        for part in run.parts:
            if (first := _first_loss(part)) and not part.is_table:
                logs.offer((part.root, *first), (run, part), part)
    of_log: dict[str, list[Part]] = {}
    moved: set[str] = set()
    for run in runs:
        table = run.parts[0]
        if len(run.parts) > 1 or not table.is_table or table.named_run is not None:
            continue
        hosts = {host.run_id: host for host in _hosts(table, logs)}
        if len(hosts) == 1:
            of_log.setdefault(next(iter(hosts)), []).append(table)
            moved.add(run.run_id)
    return [_with_tables(run, of_log.get(run.run_id, [])) for run in runs if run.run_id not in moved]


def _with_tables(run: Run, tables: list[Part]) -> Run:
    """A run with the tables that were made of its log.  Of several that alone have times the first counts."""
    if not tables:
        return run
    timed = [] if any(part.facts.timed for part in run.parts) else [part for part in tables if part.facts.timed][:1]
    logs = [part._replace(joined_by="twin") if timed and part.facts.steps else part for part in run.parts]
    others = [part._replace(joined_by="twin") for part in tables if part not in timed]
    return run._replace(parts=[*timed, *logs, *others])


def _hosts(table: Part, logs: Lookup[tuple[Run, Part]]) -> list[Run]:
    """The runs of the logs that a table may have been made of."""
    if not (first := _first_loss(table)):
        return []
    step, bucket = first
    near = [pair for k in (-1, 0, 1) for pair in logs.seek((table.root, step, bucket + k), table)]
    return [
        run
        for run, part in near
        if _are_near(part, table) and _may_be_of_one_job(run, table) and _is_made_of(table, part)
    ]


def _first_loss(part: Part) -> tuple[str, int] | None:
    """The first step whose loss is kept, and the bucket of the loss."""
    for step, (loss, _) in part.facts.losses.items():
        return (step, floor(log(loss, _BUCKET))) if loss > 0 and isfinite(loss) else None
    return None


def _may_be_of_one_job(run: Run, table: Part) -> bool:
    return table.job_id is None or {part.job_id for part in run.parts} <= {None, table.job_id}


def _are_near(log_: Part, table: Part) -> bool:
    """Whether one of both lies in the folder of the other, or not far below it."""
    shorter, longer = sorted((log_.folder, table.folder), key=len)
    return f"{longer}/".startswith(f"{shorter}/") and longer[len(shorter) :].count("/") <= _DEEPEST


def _is_made_of(table: Part, log_: Part) -> bool:
    """Whether a table has the losses of a log at its steps, and takes as long."""
    if len(table.facts.steps) > 1 or len(log_.facts.steps) > 1 or not _is_within(table, log_):
        return False
    shared = [
        (table.facts.losses[step], other) for step, other in log_.facts.losses.items() if step in table.facts.losses
    ]
    if 2 * len(shared) <= len(table.facts.losses):
        return False
    losses = [(own[0], other[0]) for own, other in shared]
    units = _units(losses)
    known = [round(min(pair) / unit) for pair, unit in zip(losses, units, strict=True)]
    if len({*known}) < _FEWEST or sum(len(str(abs(count))) for count in known) < _FEWEST_DIGITS * len(known):
        return False
    return all(abs(one - other) <= unit for (one, other), unit in zip(losses, units, strict=True)) and _take_as_long(
        [(own[1], other[1]) for own, other in shared if own[1] and other[1]]
    )


def _is_within(table: Part, log_: Part) -> bool:
    """Whether the log has all steps of a table, and the table goes nearly to its end."""
    (first, last), (begin, end) = *table.facts.steps.values(), *log_.facts.steps.values()
    between = (last - first) / max(1, table.facts.rows["steps"] - 1)  # steps of the table
    return begin <= first and last <= end and end - last <= max(_CUT * (end - begin), between)


def _take_as_long(times: list[tuple[float, float]]) -> bool:
    """Whether times of the same steps agree: to the coarser unit of both, or nearly all of them closely."""
    agree = [
        abs(one - other) <= max(unit, _LOOSE * min(one, other))
        for (one, other), unit in zip(times, _units(times), strict=True)
    ]
    return 4 * sum(agree) >= 3 * len(agree)


def _units(pairs: list[tuple[float, float]]) -> list[float]:
    """The unit of the last digit of each pair that both files give: each has as many decimals, or as many digits."""
    written = [[_digits(pair[k]) for pair in pairs] for k in (0, 1)]
    decimals = min(max((decimals for decimals, _ in of_file), default=0) for of_file in written)
    digits = min(max((digits for _, digits in of_file), default=1) for of_file in written)
    # Numbers that are rounded twice may be a little further apart.
    return [1.01 * 10.0 ** max(-decimals, _place(max(map(abs, pair))) - digits) for pair in pairs]


def _digits(value: float) -> tuple[int, int]:
    """Digits after the point of a value as it is written, and digits of the whole number."""
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    exponent = exponent if isinstance(exponent, int) else 0
    return max(0, -exponent), len(digits) + max(0, exponent)


def _place(value: float) -> int:
    """Digits before the point, below zero where zeros follow it."""
    return floor(log10(value)) + 1 if value > 0 else 0
