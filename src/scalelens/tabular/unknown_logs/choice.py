"""Which shape of line is the record of a training step: one, or none with the reason."""

from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.progress_bars import is_of_training
from scalelens.parsing.recurring_lines import ELSEWHERE, RECURS
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.filled_bars import are_training_and_validation
from scalelens.tabular.unknown_logs.kept_bars import LEAST as LEAST_BARS
from scalelens.tabular.unknown_logs.records import FRAMES_PER_S, MEAN_TIME, TIME_IN_SHORT, TIMES, column_of
from scalelens.tabular.unknown_logs.shapes import CONSTANT, Shape

_MEASURED = (
    "loss", "learning_rate", "grad_norm", "accuracy", "batch_time", "running_time", "time", "elapsed", "samples_per_s",
    "tokens_per_s", "tflops_per_device", "epoch_time",
)  # fmt: skip
_LOSS = re.compile(
    r"loss|perplexity|(?<![a-z])(?:ppl|nll|bpd|bits?/dim|l_pix|l_total)", re.IGNORECASE
)  # by its name, or by what follows from it
COST = re.compile(r"(?:(?:train|training|avg|average|mean|batch) )?cost", re.IGNORECASE)  # which has no unit
_TRAINED, _VALIDATED = {"train", "training"}, {"val", "valid", "validation", "dev"}
_CROSS = re.compile(r"(?<![A-Za-z])CV\s?\Z")  # the validation, as speech toolkits call it
_RECALLS = re.compile(r"(?<![a-z])best(?![a-z])", re.IGNORECASE)  # `best accuracy 0.9 at epoch 3` counts nothing
# `Epoch 13: new best val_loss = 0.88` stands in the epochs that were better alone, the first ones mostly.
_NEW_BEST = re.compile(r"(?<![a-z])new best(?![a-z])|(?<![a-z])improved(?![a-z])", re.IGNORECASE)
_SAME = 0.01  # two views of the same steps have the same number of lines, up to this share
_MOSTLY = 0.9
_SEVERAL = 5  # epochs for each line of a step, or lines of steps for each that sums up an epoch
_LEAST_OFTEN = 2  # times that a bar fills for each time that another does, at most, if either may be the training's
_OFTENER = 3  # epochs that follow one another, for each restart
_SURE = "batch_time with its unit"
_TIMES_ALONE = ("batch_time", "running_time", "time", "elapsed", "samples_per_s", "tokens_per_s")


def _roles_of(shape: Shape) -> set[str]:
    """What the names of a shape claim to be, apart from its counts."""
    usual = [name for name, lines in shape.names.items() if 2 * lines >= shape.lines]
    units = {name: shape.units[name] for name in usual}
    plain = {name: "time" if unit in TIMES and name in ("", *TIME_IN_SHORT) else name for name, unit in units.items()}
    readings = [read_name(column_of(plain[name], unit)) for name, unit in units.items()]
    roles = {reading.role for reading in readings}
    roles |= {"loss" for name in usual if _LOSS.search(name) and not ELSEWHERE.search(name)}
    roles |= {"loss" for name in usual if COST.fullmatch(name) and not shape.units[name]}
    bare = {name.lower() for name, unit in units.items() if not unit or name.lower() in _VALIDATED}
    roles |= {"loss"} if bare & _TRAINED and bare & _VALIDATED else set()  # `Train 9.68 | Val 9.67`
    means = any(MEAN_TIME.fullmatch(name) and shape.units[name] in TIMES for name in usual)
    roles |= {"running_time"} if shape.bar == "tqdm" or means else set()
    roles |= {"samples_per_s"} if shape.in_play and {name.lower() for name in usual} & set(FRAMES_PER_S) else set()
    in_unit = {_SURE for reading in readings if reading.role == "batch_time" and reading.unit}
    return in_unit | {role for role in roles if role in _MEASURED}


def measures_time(shape: Shape) -> bool:
    """Whether its lines hold what may be the time of a step or an epoch, or since the start."""
    return not _roles_of(shape).isdisjoint({"batch_time", "running_time", "time", "elapsed", "epoch_time"})


def _is_record(shape: Shape) -> bool:
    """Whether lines of a shape are records of training: a count rises, and something of training is measured."""
    told = (shape.in_training or shape.amid > 0) and not (shape.counts_parts or shape.is_bar_of_epochs)
    return told and _counts_up(shape) and bool(_roles_of(shape)) and shape.lines >= _least(shape)


def _least(shape: Shape) -> int:
    """How many lines a shape must have to be a record."""
    roles = _roles_of(shape)
    sure = "step" in shape.roles and _SURE in roles
    if shape.of_epochs_alone:
        return _least_epochs(shape)
    if shape.one_for_each_epoch:
        return LEAST_BARS
    return 2 if sure or ("loss" in roles and shape.of_known_epoch and not shape.bar) else RECURS


def _least_epochs(shape: Shape) -> int:
    """How many lines that count epochs are enough: fewer where one follows the other, and says the loss or the time."""
    if shape.rises[0] != shape.lines - 1:
        return RECURS
    if shape.ends_epochs:
        return 2 if shape.has_total else 3
    if shape.goes_on and shape.ended >= max(3, shape.lines - 1):
        return 3  # the line that begins an epoch and the one that ends it are one record
    return 3 if "epoch_time" in _roles_of(shape) or _times_each_epoch(shape) else RECURS


def _counts_up(shape: Shape) -> bool:
    """Whether a count rises, and nothing says that it is of other work than training."""
    lead, names, phase, *_ = shape.key
    if _RECALLS.search(f"{lead} {names[0]}"):
        return False
    if ELSEWHERE.search(f"{lead} {names[0]}") or _CROSS.search(lead) or phase.startswith(("val", "eval", "test")):
        return False
    if not is_of_training(shape.label):
        return False
    if shape.one_for_each_epoch or (shape.is_drawn_full and shape.bars >= RECURS):
        return True  # each bar is drawn once, when it is full
    steps = [k for k, role in enumerate(shape.roles) if role not in ("epoch", CONSTANT)] or range(len(shape.roles))
    return any(shape.rises[k] >= 1 and shape.rises[k] >= shape.falls[k] for k in steps)


def _is_filled_by_training(shape: Shape) -> bool:
    """Whether a bar without a label is the training's by what comes each time that it is full."""
    filled = shape.fills and shape.fills.of_training and not shape.is_bar_of_epochs
    return bool(filled) and _counts_up(shape) and shape.lines >= RECURS


def records_among(shapes: Sequence[Shape], by_fills: bool = True) -> list[Shape]:
    """The shapes that are records of training, the one that says most first."""
    records = [shape for shape in shapes if _is_record(shape)]
    if not records and by_fills:
        records = [shape for shape in shapes if _is_filled_by_training(shape)]
    return sorted(records, key=_rank_of, reverse=True)


def tells_epochs(shape: Shape) -> bool:
    """Whether the time stamps of its lines tell the time of epochs: each line stands at the same place of its epoch.

    A heading that says nothing else is left to what reads the lines below it, unless a loss is printed at once.
    """
    if _RECALLS.search(f"{shape.key[0]} {shape.key[1][0]}"):
        return False
    if _NEW_BEST.search(shape.example) and shape.epochs_told > shape.lines:
        return False
    enough = shape.of_epochs_alone and shape.lines >= _least_epochs(shape) and shape.with_stamp == shape.lines
    restarts = shape.falls[0] if _OFTENER * shape.falls[0] <= shape.rises[0] else 0
    enough = enough and (len(shape.names) > len(shape.roles) or shape.ended >= _MOSTLY * shape.lines)
    return enough and shape.rises[0] + restarts >= _MOSTLY * (shape.lines - 1)


def begins_epochs(shape: Shape) -> bool:
    """Whether its lines stand where epochs begin: nothing that an epoch gave is in them, nor printed at once."""
    if shape.spaced.end_once:
        return tells_epochs(shape)
    measured = [name for name in shape.names if name and read_name(name).role not in ("epoch", "learning_rate")]
    return tells_epochs(shape) and shape.ended < _MOSTLY * shape.lines and not measured


def _rank_of(shape: Shape) -> tuple[bool, bool, bool, int, int]:
    """How much a shape says about steps, as a key for sorting."""
    roles = _roles_of(shape)
    timed = bool(roles & {"batch_time", "running_time", "time"})
    clear = timed or bool(shape.with_stamp)
    return shape.counts_steps, clear and not shape.bar, timed, len(roles), shape.lines


def chosen(shapes: Sequence[Shape], by_fills: bool = True) -> Shape | str:
    """The shape that records steps, or why there is none; empty for a text without such lines.

    `by_fills`: where no other line is a record, what follows a bar without a label may show that it is the training's.
    """
    records = records_among(shapes, by_fills)
    if not records:
        epochs = [shape for shape in shapes if tells_epochs(shape)]
        return max(epochs, key=lambda shape: shape.lines, default="")
    best = records[0]
    if best.is_unlabeled and (first := _first_by_turns(shapes)):
        return first
    for other in shapes:
        if _is_other_bar(best, other):
            return (
                f"{_both(best, other)} fill again and again, and nothing tells which is the training's; give the "
                "training's a label (desc='train'), or choose by the format that scalelens identify FILE --preset "
                "FORMAT.py writes"
            )
        if _is_of_few_steps(best, other) or _counts_as_the_trained(best, other):
            return other
        if _is_rival(best, other) or _is_bar_of_other_training(best, other):
            if not other.bar and _times_each_epoch(other):
                return other  # of the few lines of steps it is not known what they stand for
            return (
                f"lines such as line {best.first} and such as line {other.first} both look like records of training; "
                "scalelens identify FILE --preset FORMAT.py writes a format that reads one of them"
            )
    return best


def _first_by_turns(shapes: Sequence[Shape]) -> Shape | None:
    """The first of the only two bars, if it is the training's and the second that of its validation."""
    bars = [shape for shape in shapes if shape.bar == "tqdm"]
    if len(bars) != 2 or not all(bar.is_unlabeled and _counts_up(bar) and not bar.is_bar_of_epochs for bar in bars):
        return None
    first, second = bars
    if not (first.fills and second.fills):
        return None
    steps, others = first.key[4], second.key[4]
    as_slow = (first.longest_s + 1) * others >= second.longest_s * steps  # a bar shows whole seconds
    larger = steps > others
    return first if larger and as_slow and are_training_and_validation(first.fills, second.fills) else None


def _is_other_bar(best: Shape, other: Shape) -> bool:
    """Whether another bar may as well be the training's as one without a label."""
    if best.is_unlabeled and not _is_record(best) and _may_train(other) and _LEAST_OFTEN * other.bars >= best.bars:
        return True
    if other is best or not (best.fills and other.fills and other.fills.again) or other.fills.of_validation:
        return False
    if best.amid and not other.amid:
        return False  # lines of training stand within the one alone
    return not best.in_training or other.in_training


def _both(bar: Shape, other: Shape) -> str:
    """Two bars, as a message calls them."""
    if other.is_unlabeled:
        return f"bars without a label, of {bar.key[4]:,} and of {other.key[4]:,} steps,"
    return f"a bar without a label, of {bar.key[4]:,} steps, and one called {other.label.strip(' :')!r}"


def _may_train(shape: Shape) -> bool:
    """Whether a bar has a label that neither says what it is of nor excludes that it is the training's: `Steps:`."""
    return shape.bar == "tqdm" and not shape.is_unlabeled and not shape.is_bar_of_epochs and _counts_up(shape)


def _is_of_few_steps(best: Shape, other: Shape) -> bool:
    """Whether lines of steps are so few beside those of epochs that they are from the first of these alone."""
    few = best.counts_steps and not best.bar and _SEVERAL * best.lines <= other.lines
    return few and other is not best and _is_record(other) and tells_epochs(other)


def _counts_as_the_trained(best: Shape, other: Shape) -> bool:
    """Whether lines tell nothing but a time, and others, of another number, state the loss of what they count.

    `iters: 100, speed: 0.13s/iter` in the loop of a test, where those of the training are `iters: 100 | loss: 0.41`.
    """
    if best.bar or other.bar or other is best or best.key[1][0] not in other.key[1]:
        return False
    untrained = best.counts_steps and not _roles_of(best) - {*_TIMES_ALONE, _SURE}
    of_training = _is_record(other) and other.counts_steps and other.states_loss
    return untrained and of_training and abs(best.lines - other.lines) > _SAME * best.lines


def _is_rival(best: Shape, other: Shape) -> bool:
    """Whether another shape makes it doubtful what a record is: it is about other steps, or about epochs more often."""
    if other is best or other.bar or best.bar or not best.counts_steps:
        return False
    if not other.counts_steps:
        return other.lines > best.lines and other.of_training and any(other.rises)
    both_timed = _is_record(other) and _SURE in _roles_of(best) & _roles_of(other)
    are_as_many = abs(best.lines - other.lines) <= _SAME * best.lines
    sums_up = "epoch" in other.roles and best.first < other.first and _SEVERAL * other.lines <= best.lines
    return both_timed and not sums_up and not (are_as_many and _alternate(best, other))


def _times_each_epoch(shape: Shape) -> bool:
    """Whether its lines count one epoch after the other, each with its time."""
    roles = _roles_of(shape)
    follow = shape.rises[0] >= _MOSTLY * (shape.lines - 1)
    return shape.of_epochs_alone and follow and bool(roles & {"time", "epoch_time"}) and _in_seconds(shape)


def _is_bar_of_other_training(best: Shape, other: Shape) -> bool:
    """Whether bars with another label fill again and again where those of the best do not: another loop that trains."""
    bars = [shape for shape in (best, other) if shape.bar == "tqdm" and not shape.is_unlabeled and _is_record(shape)]
    if other is best or len(bars) < 2 or any(bar.bars < LEAST_BARS or not bar.counts_steps for bar in bars):
        return False
    return best.lines <= _SEVERAL * other.lines and not _alternate(best, other)


def _in_seconds(shape: Shape) -> bool:
    """Whether a time has its unit in nearly all lines of a shape."""
    return any(shape.units[name] in TIMES and lines >= _MOSTLY * shape.lines for name, lines in shape.names.items())


def _alternate(one: Shape, other: Shape) -> bool:
    """Whether the lines of two shapes stand among each other, as two views of the same steps do."""
    return one.first <= other.last and other.first <= one.last
