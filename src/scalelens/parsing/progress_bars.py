"""Progress bars as tqdm draws them: what each drawing shows, and which drawings are of one bar.

    train:  37%|###7  | 1.21k/5.00k [00:12<00:20, 121it/s, loss=2.1]        train: 120it [00:30,  4.01it/s]

Source: tqdm/std.py, format_meter(), format_interval() and format_sizeof(): with `unit_scale` a count has three digits.
"""

from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.recurring_lines import ELSEWHERE

_SCALES = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}
_NUMBER = r"\d+(?:\.\d+)?[kMGT]?"
BAR = re.compile(
    rf"(?:\d{{1,3}}(?:\.\d+)?%(?:\|[^|]{{0,500}}\|)?\s+(?P<count>{_NUMBER})/(?P<total>{_NUMBER})"
    rf"|(?<![\w./%|])(?P<alone>{_NUMBER}) ?[A-Za-z]{{1,12}})"
    rf" \[(?P<times>(?P<elapsed>[\d:]+)(?:<[\d:?]+)?),\s*(?P<rate>{_NUMBER}|\?) ?"
    r"(?:(?P<what>[A-Za-z]{1,12})/s|s/(?P<each>[A-Za-z]{1,12}))(?=[\],])"
)
# A narrow terminal cuts the end of a drawing: `1.06it/`, `1.35it/s`, `1.4`.  Two decimals before a unit are whole.
_CUT_SHORT = re.compile(
    r"\d%\|[^|]{0,500}\|\s+\d+/(?P<total>\d+) \[[\d:]+<"
    r"(?:[\d:?]+,\s*\d+\.\d\d(?:(?P<rate>it)(?:/s?)?|s/(?P<each>it))|(?P<hidden>[\d:?]*(?:,\s*[\d.?]*(?:i|s/?i?)?)?))\s*\Z"
)
OF_BATCHES = 32  # most batch sizes are multiples of it, few logging intervals are
_OF_SMALL_BATCHES = 8  # and so are small ones
_LEAST_COUNTS = 10  # of a bar, that show by what it grows
_DRAWN_AFTER_S = 0.1  # what tqdm lets pass between two drawings, at least: its mininterval
# What a bar draws beside training, in addition to what lines tell of.
_OTHER_WORK = re.compile(
    rf"{ELSEWHERE.pattern}|(?<![a-z])(?:dev(?:elopment)?(?![a-z])|sampling|generation|decod(?:e|ing)(?![a-z])"
    r"|comput(?:e|ing)(?![a-z])|calculating|metrics|scoring|collecting|roll-?outs?(?![a-z])|reading|writing|parsing"
    r"|building|packing|merging|quantiz|calibrat|prompts?(?![a-z])|requests?(?![a-z])|episodes?(?![a-z])"
    r"|capturing|games?(?![a-z])|(?<!on )data(?:sets?)?(?![a-z])|examples?(?![a-z]))"
    r"|\.(?:jsonl?|csv|tsv|txt|parquet|arrow|np[yz]|h5|pkl)(?![a-z])",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}):(\d\d)")
_MOST_TOTALS = 1_000
_SKEW = 3  # steps that one rank may draw after another
_SKEW_S = 2


class Drawing(NamedTuple):
    """What a bar shows at one time."""

    step: int
    total: int | None
    elapsed_s: int
    pace_s: float | None  # seconds of one step; None where none is shown
    error: float = 0.0  # of the pace, as a share of it: half a unit of its last digit
    rounding: int = 1  # the count is a multiple of it: 10 for 1.21k


def is_of_training(label: str) -> bool:
    """Whether a bar may be of training by its label, what is printed before it: not one of evaluation or loading."""
    return not _OTHER_WORK.search(label)


def may_count_samples(leap: int, counts: int, elapsed_s: float, last: int) -> bool:
    """Whether a bar may count samples: so many counts of it are all multiples of `leap`, as those of batches are.

    tqdm draws the first step after its `mininterval`: a bar that always grows by eight has learned of all eight at once
    where seven take as long, or where eight take less and are not always as many, though some multiple of eight.
    `elapsed_s` whole seconds had passed when it had counted up to `last`.
    """
    if counts < _LEAST_COUNTS or not leap:
        return False
    if leap % _OF_SMALL_BATCHES or leap % OF_BATCHES == 0:
        return leap % OF_BATCHES == 0
    least = _DRAWN_AFTER_S * last
    return elapsed_s * (leap - 1) >= least or (elapsed_s + 1) * leap < least


def label_of(text: str, start: int) -> str:
    """The label of a bar that begins at a position of a line: what stands before it, and after the bar before it."""
    end = 0
    for bar in BAR.finditer(text, 0, start):
        end = text.find("]", bar.end(), start) + 1 or bar.end()
    return text[end:start]


def drawing_of(bar: re.Match[str]) -> Drawing:
    """What a match of BAR shows."""
    return drawing(bar["count"] or bar["alone"], bar["total"], bar["elapsed"], bar["rate"], bool(bar["each"]))


def drawing(count: str, total: str | None, elapsed: str, rate: str, per_step: bool) -> Drawing:
    """What a bar shows, by the texts of its numbers; `per_step`: the rate is the seconds of a step."""
    pace_s, error = None, 0.0
    if rate != "?" and (printed := in_full(rate)):
        pace_s = printed if per_step else 1 / printed
        error = 0.5 * _unit_of_last_digit(rate) / printed
    rounding = max(round(_unit_of_last_digit(count)), 1)
    of_all = int(in_full(total)) if total else None
    return Drawing(int(in_full(count)), of_all, _seconds_of(elapsed), pace_s, error, rounding)


def _seconds_of(text: str) -> int:
    """`1:02:03` or `02:03` in seconds; 0 where it is neither."""
    time = _TIME.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in time.groups()) if time else (0, 0, 0)
    return hours * 3600 + minutes * 60 + seconds


def in_full(number: str) -> float:
    """A number without a suffix: 1.21k is 1210."""
    scale = _SCALES.get(number[-1:])
    return round(float(number[:-1]) * scale, 6) if scale else float(number)


def _unit_of_last_digit(number: str) -> float:
    scale = _SCALES.get(number[-1:], 1)
    return scale * 10.0 ** -len(number.rstrip("kMGT").partition(".")[2])


def begins(before: Drawing, top: int, now: Drawing) -> bool:
    """Whether a drawing is of a bar that was started after the one drawn before, whose largest count is `top`."""
    if before.total != now.total or now.elapsed_s < before.elapsed_s - _SKEW_S:
        return True
    anew = now.pace_s is None or now.step < top - _SKEW
    return now.step < top and anew and (top > _SKEW or top == now.total)


class CutBars:
    """Completes the drawings of one log that a narrow terminal cut.

    Where the unit of the rate is cut, too, it is that of another drawing of as many steps; the rate is not known then.
    """

    def __init__(self) -> None:
        self._totals: set[str] = set()  # of bars that were seen to count iterations

    def completed(self, text: str) -> str:
        """A line with the end of its bar."""
        cut = _CUT_SHORT.search(text) if "%|" in text and text.rstrip()[-1:] != "]" else None
        if cut is None:
            return text
        if cut["hidden"] is not None:
            return f"{text[: cut.start('hidden')]}?, ?it/s]" if cut["total"] in self._totals else text
        if len(self._totals) < _MOST_TOTALS:
            self._totals.add(cut["total"])
        return f"{text[: cut.end('rate')]}/s]" if cut["rate"] else f"{text[: cut.end('each')]}]"
