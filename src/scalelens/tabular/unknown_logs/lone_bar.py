"""The one bar of a log of a training in which no other line counts.

    train_walker.py:31: FutureWarning: ...
      4%|4         | 1281/30000 [05:10<1:54:07,  4.19it/s]

The name of the script says that it trains, or a warning that a library prints in trainings alone.  The bar has no
label.  A bar of a thousand steps or fewer may count epochs, where it does not fill more often than folds or
launches would make it; and one whose steps take less than 10 ms may read data.
"""

from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.progress_bars import is_of_training
from scalelens.parsing.recurring_lines import RECURS
from scalelens.parsing.source import Source
from scalelens.tabular.unknown_logs.lines import log_lines
from scalelens.tabular.unknown_logs.shapes import Shape

_TRAINS = re.compile(
    r"(?:(?<![a-z])|(?<=pre)|(?<=re))(?:train(?:ing|er)?|fine-?_?tun(?:e|ing)|sft)(?![a-z])", re.IGNORECASE
)
_SCRIPT = re.compile(r"(?<![\w.])[\w-]{1,60}\.py(?!\w)")
# What libraries print in trainings alone.
_WARNS_IN_TRAINING = re.compile(
    r"floating-point operations will not be computed|is incompatible with gradient checkpointing"
    r"|/trl/trainer/\w{1,20}_trainer\.py:\d|`lr_scheduler\.step\(\)` before `optimizer\.step\(\)`"
    r"|torch/utils/checkpoint\.py:\d|None of the inputs have requires_grad=True"
)
_OF_A_LIBRARY = re.compile(r"site-packages|dist-packages|/lib/python")
# What a log says that holds other work, too, whose bar this one may be.
_OTHER_WORK = re.compile(
    r"(?<![a-z])(?:preprocess|evaluat|validat|tokeniz(?!er)|extract|infer(?:ence|ring)|generating|predict|testing|download)"
    r"|(?<![a-z])loss",
    re.IGNORECASE,
)
_MOST_EPOCHS, _MOST_FOLDS = 1_000, 10
_LEAST_S, _LEAST_STEP_S = 30, 0.01
_SHORTER = 20  # times: a bar that was hardly begun beside it says nothing
_MOST_TEXTS = 20_000  # lines beside the drawings of the bar: a log with more of them is not that of a bar alone


def lone_bar(source: Source, shapes: Sequence[Shape]) -> Shape | None:
    """The bar without a label that is the training's, as nothing else in its log counts, and the log is of a training.

    None where another line counts, or says of other work.
    """
    bars = [shape for shape in shapes if shape.bar == "tqdm" and is_of_training(shape.label)]
    others = [shape for shape in shapes if not shape.bar and shape.lines >= RECURS]
    longest = max((bar.longest_s for bar in bars), default=0)
    bars = [bar for bar in bars if bar.lines >= RECURS or _SHORTER * bar.longest_s >= longest]
    if len(bars) != 1 or others or not (bars[0].is_unlabeled and bars[0].fills and bars[0].lines >= RECURS):
        return None
    bar = bars[0]
    total = int(bar.key[-1])
    if bar.bar_of_samples or bar.longest_s * bar.bars < _LEAST_S or bar.longest_s < _LEAST_STEP_S * bar.counted_last:
        return None
    if total <= _MOST_EPOCHS and bar.bars <= _MOST_FOLDS:
        return None
    return bar if _trains(source) else None


def _trains(source: Source) -> bool:
    """Whether the name of a script in the lines, or a warning, is that of a training, and no line says else."""
    texts: list[str] = []
    for line, _ in log_lines(source, lambda raw: texts.append(raw.decode("utf-8", "replace"))):
        if "%|" not in line.text:
            texts.append(line.text)
        if len(texts) > _MOST_TEXTS:
            return False
    own = [text for text in texts if not _OF_A_LIBRARY.search(text)]
    scripts = {name[:-3] for text in own for name in _SCRIPT.findall(text)}
    told = any(_TRAINS.search(name) and is_of_training(_TRAINS.sub("", name)) for name in scripts)
    told = told or any(map(_WARNS_IN_TRAINING.search, texts))
    return told and not any(map(_OTHER_WORK.search, own))
