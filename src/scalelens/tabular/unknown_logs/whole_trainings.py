"""The mean time of an epoch, where a log states no more than how long whole trainings took.

    27 epochs in 24m 6s. Best val acc 98.47%                   of as many epochs as the line says
    Finished in 43.0s (212 epochs)
    Number of epochs: 200 - Training time: 64.01 seconds
    Training wall time: 1673.0s (20.40s/epoch)                 as it says
    Epoch 20: train loss 0.31                                  of as many as the lines before it counted
    Training complete in 4m 12s

What lies between the epochs, such as their validation, is in it.
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.means_of_steps import TIME_AND_EPOCHS
from scalelens.parsing.other_languages import in_english
from scalelens.parsing.recurring_lines import ELSEWHERE
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import lines_of
from scalelens.tabular.unknown_logs.shapes import Shape
from scalelens.tabular.unknown_logs.stated_times import only_time, total_in

_EPOCHS_IN = re.compile(r"(?<![\w./-])([1-9]\d{0,6}) epochs (?:in|took)(?![a-z])", re.IGNORECASE)
_EPOCHS_AND_TIME = re.compile(
    r"(?<![a-z])(?:number of|num|n|total|trained) ?epochs ?[:=] ?([1-9]\d{0,6})(?![\d./]).{0,40}"
    r"(?<![a-z])train(?:ing)?[ _](?:time|duration)",
    re.IGNORECASE,
)
_MEAN_BESIDE = re.compile(
    r"(?<![a-z])train(?:ing)?\b.{0,40}\d ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hours?) {0,2}"
    r"\((?:avg\.? |average |mean )?(\d+(?:\.\d+)?) ?(s|secs?|seconds?|mins?|minutes?)(?:/| per )epoch\)",
    re.IGNORECASE,
)
_OF_SOMETHING_ELSE = re.compile(
    r"(?<![a-z])(?:eval|validat(?:ion|ing)|infer|test(?:ing)? time|left|remain|eta|avg|average|mean|per|each|last)",
    re.IGNORECASE,
)
_LONGEST = 300  # characters of a line that may state one
_UNIT_AT_END = re.compile(r"\d (?:seconds|minutes|hours)\s*\Z")  # the last line, without an end, is whole
_MAY_STATE = re.compile(r"train|epochs", re.IGNORECASE)
_TRAINS = re.compile(r"(?<![a-z])train", re.IGNORECASE)


def means_of_trainings(source: Source, rows: Rows, epochs: Shape | None = None) -> bool:
    """Metrics of the mean time of an epoch, by lines that state the time of a whole training.  Whether there are such.

    `epochs`: the lines that count epochs, none of which has a time; the one total after them is that of all, if they
    count one epoch after the other from the first.
    """
    means: list[tuple[int, float]] = []  # line, and seconds
    totals: list[tuple[int, float]] = []
    for number, line, whole in lines_of(source):
        text = line if line.isascii() else in_english(line, below_a_count=True)
        if len(text) > _LONGEST or not _MAY_STATE.search(text) or not (whole or _UNIT_AT_END.search(text)):
            continue
        if seconds := _of_said_epochs(text):
            means.append((number, seconds))
        elif epochs and number > epochs.last and _TRAINS.search(text) and (total := total_in(text)):
            totals.append((number, total))
    if epochs and not means and len(totals) == 1 and epochs.epochs_told == epochs.lines and epochs.begins_at_first:
        means = [(totals[0][0], totals[0][1] / epochs.lines)]
    for number, seconds in means:
        rows.turn_to(number)
        rows.metrics(number, None, None, None, [("epoch time", seconds, "s")], stat="mean")
    return bool(means)


def _of_said_epochs(text: str) -> float | None:
    """Seconds of an epoch by a line that states them beside the time of a training, or how many epochs that had."""
    if beside := _MEAN_BESIDE.search(text):
        return float(beside[1]) * (60 if beside[2].lower().startswith("m") else 1) or None
    if _OF_SOMETHING_ELSE.search(text) or not (epochs := _epochs_said(text)):
        return None
    seconds = only_time(text)
    return seconds / epochs if seconds else None


def _epochs_said(text: str) -> int | None:
    """How many epochs a line says that a training had, beside its time."""
    if said := _EPOCHS_IN.search(text) or _EPOCHS_AND_TIME.search(text):
        return int(said[1])
    after = None if ELSEWHERE.search(text) else TIME_AND_EPOCHS.search(text)
    return int(after["epochs"].replace(",", "")) if after and "." not in after["epochs"] else None
