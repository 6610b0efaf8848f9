"""Which shape of line is the record of a training step: one, or none with the reason."""

import re
from collections.abc import Sequence

from scalelens.parsing.recurring_lines import ELSEWHERE, RECURS
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.records import column_of
from scalelens.tabular.unknown_logs.shapes import Shape

_MEASURED = (
    "loss", "learning_rate", "grad_norm", "accuracy", "batch_time", "running_time", "time", "elapsed", "samples_per_s",
    "tokens_per_s", "tflops_per_device", "epoch_time",
)  # fmt: skip
_LOSS = re.compile(r"loss|perplexity|(?<![a-z])ppl", re.IGNORECASE)  # by its name, or by what follows from it
_SAME = 0.01  # two views of the same steps have the same number of lines, up to this share
_MOSTLY = 0.9
_SURE = "batch_time with its unit"


def _roles_of(shape: Shape) -> set[str]:
    """What the names of a shape claim to be, apart from its counts."""
    usual = [name for name, lines in shape.names.items() if 2 * lines >= shape.lines]
    readings = [read_name(column_of(name, shape.units[name])) for name in usual]
    roles = {reading.role for reading in readings}
    roles |= {"loss" for name in usual if _LOSS.search(name) and not ELSEWHERE.search(name)}
    roles |= {"running_time"} if shape.bar == "tqdm" else set()
    in_unit = {_SURE for reading in readings if reading.role == "batch_time" and reading.unit}
    return in_unit | {role for role in roles if role in _MEASURED}


def is_record(shape: Shape) -> bool:
    """Whether lines of a shape are records of training: a count rises, and something of training is measured."""
    lead, names, phase, _ = shape.key
    if ELSEWHERE.search(f"{lead} {names[0]}") or phase.startswith(("val", "eval", "test")):
        return False
    steps = [k for k, role in enumerate(shape.roles) if role != "epoch"] or range(len(shape.roles))
    rising = any(shape.rises[k] >= 1 and shape.rises[k] >= shape.falls[k] for k in steps)
    roles = _roles_of(shape)
    sure = "step" in shape.roles and _SURE in roles
    sure = sure or ("loss" in roles and shape.of_known_epoch and not shape.bar)
    return rising and (shape.in_training or shape.amid > 0) and bool(roles) and shape.lines >= (2 if sure else RECURS)


def tells_epochs(shape: Shape) -> bool:
    """Whether the time stamps of its lines are those of the ends of epochs."""
    enough = shape.of_epochs_alone and shape.lines >= RECURS and shape.with_stamp == shape.lines
    return enough and shape.ended >= _MOSTLY * shape.lines and shape.rises[0] >= _MOSTLY * (shape.lines - 1)


def rank_of(shape: Shape) -> tuple[bool, bool, bool, int, int]:
    """How much a shape says about steps, as a key for sorting."""
    roles = _roles_of(shape)
    timed = bool(roles & {"batch_time", "running_time", "time"})
    clear = timed or bool(shape.with_stamp)
    return shape.counts_steps, clear and not shape.bar, timed, len(roles), shape.lines


def chosen(shapes: Sequence[Shape]) -> Shape | str:
    """The shape that records steps, or why there is none; empty for a text without such lines."""
    records = sorted((shape for shape in shapes if is_record(shape)), key=rank_of, reverse=True)
    if not records:
        epochs = [shape for shape in shapes if tells_epochs(shape)]
        return max(epochs, key=lambda shape: shape.lines, default="")
    best = records[0]
    for other in shapes:
        if _is_rival(best, other):
            return (
                f"lines such as line {best.first} and such as line {other.first} both look like records of training; "
                "scalelens identify FILE --preset FORMAT.py writes a format that reads one of them"
            )
    return best


def _is_rival(best: Shape, other: Shape) -> bool:
    """Whether another shape makes it doubtful what a record is: it is about other steps, or about epochs more often."""
    if other is best or other.bar or best.bar or not best.counts_steps:
        return False
    if not other.counts_steps:
        return other.lines > best.lines and other.in_training and any(other.rises)
    both_timed = is_record(other) and _SURE in _roles_of(best) & _roles_of(other)
    return both_timed and abs(best.lines - other.lines) > _SAME * best.lines
