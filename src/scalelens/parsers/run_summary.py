"""One JSON object that sums up one run, or the runs of a sweep.

Tool: any benchmark that writes its result so; pytorch-ddp-scaling-benchmark among them
Versions: an object with a number of devices (world_size, num_gpus, ...) and a mean or median time per step with its unit,
    or the time of the steps after some that were not timed
Yields: steps, params, metrics
Source: the user's own; tabular/role_table.py says which names are recognized

Asked last, as generic_csv is.  `mean_step_sec`, `avg_batch_time_ms` become rows `run_mean`, `median_...` and `p50_...`
rows `run_median`, without a step, of the whole job and, from a list of objects that each name their rank, of each rank.
`averaged_steps` is the number of steps that the object says it timed.  Of both the median counts in statistics.  A rate
is next to the mean alone.  A `step_time_ms` that is called neither is the mean where it sums up timed steps: they and the
`warmup_steps` are together as many as the object says that were taken (`global_step`).  Settings become params; all other numbers are metrics, under their names joined by dots.
Of two names for one thing neither is read.  A rate that does not fit the batch and the mean time is a problem, and not the
rate of the run: it may be of one device, of other steps, or wrong.

Where the times are not at the top but in the objects of one list, each of these is a run, with what stands at the top.

Samples:
    {"world_size": 8, "model": "resnet50", "batch_size_per_gpu": 64, "timed_steps": 400, "mean_step_sec": 0.2512, "p50_step_sec": 0.2498, "per_rank": [{"rank": 0, "mean_step_sec": 0.2511}]}
    {"world_size": 4, "precision": "bf16", "global_batch_size": 32, "steps": 20, "warmup_steps": 5, "global_step": 25, "step_time_ms": 17.8}
    {"mode": "ddp", "num_gpus": 2, "sweep": [{"batch_size_per_gpu": 8, "avg_step_time_ms": 17.4}, {"batch_size_per_gpu": 16, "avg_step_time_ms": 24.2}]}
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_count, json_number, number
from scalelens.tabular.cells import nested_values
from scalelens.tabular.column_names import metric_unit, read_name
from scalelens.tabular.role_table import ROLE, UNITS_OF_KIND
from scalelens.tabular.runs import RUN_SETTINGS

VERSION = 4
LAST = True  # any other format comes first

_KINDS = {"mean": "run_mean", "avg": "run_mean", "average": "run_mean", "median": "run_median", "p50": "run_median"}
_STATISTIC = re.compile(rf"(?:^|(?<=_))({'|'.join(_KINDS)})(?:_|$)", re.IGNORECASE)
_COUNTS = ("timed_steps", "bench_steps", "measured_steps", "n_steps", "num_steps", "steps", "timed_iters", "num_iters")
_UNTIMED = ("warmup_steps", "num_warmup_steps", "n_warmup_steps", "warmup_iters", "num_warmup_iters")
_LIMIT = 4 << 20
_LONGEST = 200  # characters of a fact
_MOST_RUNS = 1000  # of a sweep
_OF_A_RANK = re.compile(
    r"(?<![a-z])(?:rank|gpu|device|worker|host|node|uuid|id)(?:_?id|_?index|name)?\Z", re.IGNORECASE
)
_TOLERANCE = 0.1  # a mean of rates is not quite the rate of the mean


def recognise(head: bytes, name: str) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith(b"{"):
        return False
    keys = re.findall(rb'"([\w ()/.-]{1,80})"\s*:', text)
    named = [key.decode() for key in keys]
    has_time = any(_statistic(key) for key in named) or (
        any(read_name(key).role == "batch_time" for key in named) and not {*named}.isdisjoint(_UNTIMED)
    )
    return has_time and any(read_name(key).role == "devices" for key in named)


def read(source: Source, rows: Rows) -> str | None:
    text = source.text()
    try:
        summary = json.loads(text) if len(text) < _LIMIT else None
    except (ValueError, RecursionError) as error:
        rows.problem(getattr(error, "lineno", None), "the summary is cut, or its JSON is damaged")
        return None
    runs = _runs_in(summary, text) if isinstance(summary, dict) else []
    if not any(read_name(key).role == "devices" for run, _ in runs for key in run):
        return "a JSON object without a number of devices and a mean or median time per step at its top"
    for number_of_run, (run, lines) in enumerate(runs):
        if number_of_run:
            rows.new_part()
        _write_run(run, rows, lines)
    return None


def _runs_in(summary: Mapping[str, Any], text: bytes) -> list[tuple[Mapping[str, Any], Mapping[str, int]]]:
    """What the object says of each run, with the lines of its keys; empty where no time of a step is known."""
    lines = _where(text)
    if _statistics(summary):
        return [(summary, lines)]
    sweeps = [(name, parts) for name, parts in summary.items() if _is_sweep(parts)]
    if len(sweeps) != 1:
        return []
    name, parts = sweeps[0]
    shared = {key: value for key, value in summary.items() if not isinstance(value, list | dict)}
    return [
        (shared | part, {**lines, **own}) for part, own in zip(parts, _lines_of_parts(text, name, parts), strict=True)
    ]


def _is_sweep(parts: Any) -> bool:
    """Whether these are runs, each with what it was tried with."""
    if not isinstance(parts, list) or not 2 <= len(parts) <= _MOST_RUNS:
        return False
    if not all(isinstance(part, dict) for part in parts) or not any(map(_statistics, parts)):
        return False
    shared = [key for key in parts[0] if all(key in part for part in parts) and not _OF_A_RANK.fullmatch(key)]
    tried = (key for key in shared if isinstance(parts[0][key], str) or read_name(key).role in RUN_SETTINGS)
    return any(len({str(part[key]) for part in parts}) > 1 for key in tried)


def _lines_of_parts(text: bytes, name: str, parts: Sequence[Any]) -> list[dict[str, int]]:
    """Lines of the keys of each object of a list; empty from where they cannot be told."""
    whole, decoder = text.decode("utf-8", "replace"), json.JSONDecoder()
    opening = re.compile(rf"{json.dumps(name)}\s*:\s*\[").search(whole)
    place, found = opening.end() if opening else len(whole), list[dict[str, int]]()
    before = counted = 0  # lines up to a place
    for part in parts:
        begin = whole.find("{", place)
        value, place = decoder.raw_decode(whole, begin) if begin >= 0 else (None, len(whole))
        if value != part:
            break
        before += whole.count("\n", counted, begin)
        counted = begin
        found.append({key: before + line for key, line in _where(whole[begin:place].encode()).items()})
    return found + [{}] * (len(parts) - len(found))


def _write_run(run: Mapping[str, Any], rows: Rows, lines: Mapping[str, int]) -> None:
    _settings(run, rows, lines)
    _contradictions(run, rows, lines)
    _times(run, rows, lines, None)
    for parts in run.values():
        if _is_ranks(parts):
            for part in parts:
                _times(part, rows, lines, part["rank"])


def _statistic(name: str) -> tuple[str, float] | None:
    """The kind of value, and the factor to seconds, of a name that is a statistic of the step time."""
    match = _STATISTIC.search(name)
    if not match:
        return None
    role, unit = read_name(name[: match.start()] + name[match.end() :])
    return (_KINDS[match[1].lower()], UNITS_OF_KIND["time"][unit]) if role == "batch_time" and unit else None


def _statistics(summary: Mapping[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """Times of a step by kind of value, each with its name."""
    by_kind: dict[str, list[tuple[str, float]]] = {}
    for name, value in summary.items():
        if (what := _statistic(name)) and (time := json_number(value)) is not None:
            by_kind.setdefault(what[0], []).append((name, time * what[1]))
    return by_kind or ({"run_mean": _times_of_timed_steps(summary)} if _sums_up_timed_steps(summary) else {})


def _times_of_timed_steps(summary: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Times of a step that no name calls a mean or a median."""
    named = ((name, read_name(name), json_number(value)) for name, value in summary.items())
    return [
        (name, value * UNITS_OF_KIND["time"][what.unit])
        for name, what, value in named
        if what.role == "batch_time" and what.unit and value is not None
    ]


def _sums_up_timed_steps(summary: Mapping[str, Any]) -> bool:
    """Whether an object times the steps after some untimed ones, and no others: `warmup_steps` may be of a schedule."""
    timed, untimed = ([json_count(summary[name]) for name in names if name in summary] for names in (_COUNTS, _UNTIMED))
    taken = [json_count(value) for name, value in summary.items() if read_name(name).role == "step"]
    both = [count for count in (*timed, *untimed) if count]
    adds_up = len(timed) == len(untimed) == 1 and len(both) == 2 and {*taken} == {sum(both)}
    return adds_up and len(_times_of_timed_steps(summary)) == 1


def _times(summary: Mapping[str, Any], rows: Rows, lines: Mapping[str, int], rank: int | None) -> None:
    """Rows of the whole job, or of one rank, and its other numbers."""
    counts = [value for name in _COUNTS if isinstance(value := summary.get(name), int) and 0 < value < 1 << 31]
    read_as_role: set[str] = set()
    rates = [name for name in summary if read_name(name) == ("samples_per_s", "global" if rank is None else "rank")]
    if rank is None:
        rates = [name for name in rates if not _misfit(summary, rows.params, name)]
    if not rates and rank is not None:
        rates = [name for name in summary if read_name(name) == ("samples_per_s", None)]
    for kind, named in _statistics(summary).items():
        if len(named) > 1:
            names = " and ".join(name for name, _ in named)
            rows.problem(
                lines.get(named[0][0]), f"{names} both claim to be the {kind.removeprefix('run_')}, and neither is read"
            )
            continue
        name, step_s = named[0]
        rate = number(summary[rates[0]]) if len(rates) == 1 and kind == "run_mean" else None
        read_as_role |= {name, *(rates if rate is not None else ())}
        rows.add(
            "steps", lines.get(name), attempt=0, rank=rank, phase="train", step_s=step_s, value_kind=kind,
            averaged_steps=counts[0] if len(counts) == 1 else None, samples=rows.params.get("global_batch_size"),
            samples_per_s=rate, rate_scope=None if rate is None else "global" if rank is None else "rank",
        )  # fmt: skip
    for name, value in nested_values(summary):
        key, role = name.partition(".")[0], read_name(name).role
        if (
            name not in read_as_role
            and role not in (*RUN_SETTINGS, "rank")
            and (measured := json_number(value)) is not None
        ):
            rows.metric(lines.get(key), rank, None, None, name, measured, metric_unit(name, read_name(name).unit))


def _contradictions(summary: Mapping[str, Any], rows: Rows, lines: Mapping[str, int]) -> None:
    """Says which rates of the job do not fit its batch and its mean time."""
    for name in summary:
        if problem := _misfit(summary, rows.params, name):
            rows.problem(lines.get(name), problem)


def _misfit(summary: Mapping[str, Any], params: Mapping[str, Any], name: str) -> str | None:
    """How a rate contradicts the batch and the mean time next to it; None where it fits, or nothing can be said."""
    role, scope = read_name(name)
    rate, means = json_number(summary[name]), _statistics(summary).get("run_mean", [])
    if role != "samples_per_s" or not rate or rate < 0 or len(means) != 1 or means[0][1] <= 0:
        return None
    seconds, devices = means[0][1], json_count(params.get("devices")) or 0
    batch = json_count(params.get("global_batch_size")) or json_count(summary.get("batch_size"))
    if not batch or not devices:
        return None
    # A batch_size may be of one device, a rate without a scope too.
    batches = [batch] if "global_batch_size" in params else [batch, batch * devices]
    shares = {"global": [1], "rank": [devices]}.get(scope or "", [1, devices] if len(batches) > 1 else [1])
    rates = sorted({whole / seconds / share for whole in batches for share in shares})
    if any(abs(rate / expected - 1) <= _TOLERANCE for expected in rates):
        return None
    return (
        f"{name} is {rate:.5g}, but a batch of {batch} in {seconds:.4g} s (devices: {devices}) is "
        f"{' or '.join(f'{expected:.5g}' for expected in rates)} samples per second"
        + (" and device" if scope == "rank" else "")
    )


def _settings(summary: Mapping[str, Any], rows: Rows, lines: Mapping[str, int]) -> None:
    """What the object says of the run: settings by role, texts and switches by their names."""
    by_role: dict[str, list[str]] = {}
    for name, value in summary.items():
        role = read_name(name).role
        if (
            role in RUN_SETTINGS
            and (ROLE[role].kind == "text" or json_count(value, 32) is not None)
            and isinstance(value, str | int)
        ):
            by_role.setdefault(role, []).append(name)
        elif isinstance(value, bool) or (isinstance(value, str) and 0 < len(value) <= _LONGEST):
            rows.param(name, value, lines.get(name))
    for role, names in by_role.items():
        if len({str(summary[name]) for name in names}) > 1:
            rows.problem(lines.get(names[0]), f"{' and '.join(names)} both claim to be {role}, and differ")
            continue
        rows.param(role, summary[names[0]], lines.get(names[0]))


def _is_ranks(parts: Any) -> bool:
    """Whether these are the parts of ranks."""
    return (
        isinstance(parts, list)
        and bool(parts)
        and all(isinstance(part, dict) and json_count(part.get("rank"), 32) is not None for part in parts)
    )


def _where(text: bytes) -> dict[str, int]:
    """Line of each key, where it comes first."""
    lines: dict[str, int] = {}
    for line, content in enumerate(text.split(b"\n"), 1):
        for key in re.findall(rb'"([^"\\]*)"\s*:', content):
            lines.setdefault(key.decode("utf-8", "replace"), line)
    return lines
