"""Numbers of a line of a log, each with the name beside it: `loss: 8.9`, `time=0.31s`, `3.1 it/s`, `Time 0.31 (0.35)`.

    Epoch: [3][20/391]  Time 0.31 (0.35)  Loss 8.9      Epoch 3, step 20 of 391, Time 0.31 (mean 0.35), Loss 8.9

A name is what stands between a number and the one before it, after the last separator.  What counts (`12/391`,
`[12:391]`) is distinguished from what is measured.  Nothing is decided here about what a name means.
"""

import functools
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.progress_bars import Drawing
from scalelens.parsing.recurring_lines import BAR
from scalelens.parsing.values import number
from scalelens.tabular.column_names import SPELT, read_name
from scalelens.tabular.unknown_logs.bars import written_out
from scalelens.tabular.unknown_logs.clock import Stamp, stamp_in
from scalelens.tabular.unknown_logs.known_seconds import with_seconds
from scalelens.tabular.unknown_logs.times_of_several import in_one_form
from scalelens.units import factors

_LONGEST = 4_000  # characters of a line that are read
_MOST_FIELDS = 200
_TAIL = 20  # characters
_LONGEST_NAME = 60
_WORDS_OF_A_NAME = 7

_SPAN = re.compile(r"(?:(?<!\d)(\d+) days?, )?(?<!\d)(?<![\d:]:)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?![\d:])")
_DURATION = re.compile(  # 1m 42s, 2h 03m 04.5s, 1h5m, 0h  1min 27s 344ms
    r"(?<![\w.])(?<!\d:)(?:(?P<h>\d{1,6})\s?h(?:ours?|rs?)?(?:,| and)?\s{0,2}(?P<hm>\d{1,2})\s?m(?:in(?:ute)?s?)?"
    r"|(?P<m>\d{1,6})\s?m(?:in(?:ute)?s?)?(?=(?:,| and)?\s{0,2}\d))"
    r"(?:(?:,| and)?\s{0,2}(?P<s>\d{1,2}(?:\.\d{1,9})?)\s?s(?:ec(?:ond)?s?)?)?(?:\s{0,3}(?P<ms>\d{1,3})\s?ms)?(?![\w/])"
)
_HOURS_OR_MINUTES = re.compile(r"\d\s?(?:h|m(?![/s]))", re.IGNORECASE)  # where one of these may be
_MINUTES = re.compile(
    r"((?<![a-z])(?:time|elapsed|took|duration|eta|remaining|left)[\s:=]{0,3}\d+(?:\.\d+)?) ?([mh])(?![\w/])",
    re.IGNORECASE,
)  # time=0.2m
_RATE = r"(?:[A-Za-z]{1,12}|[kM]?(?:it|B))?/(?:s|sec|second|itr?|iter|iteration|step|batch)\b(?:/(?:gpu|device|rank))?"
_NO_NAME = r"(?![\w/]|\s{0,2}[:=])"  # `loss: 1.2 samples/sec: 405`: the name of what follows is not a unit
_NUMBER = re.compile(
    r"(?<![\w.@#^/\\-])(?<!\d[,:])"
    r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?"
    r"|[-+]?(?:nan|NaN|inf|Inf)(?=\s*(?:[,;|)\]}\t(]|$|\s{2}))"
    r"|(?:(?<=[:=])|(?<=[:=] ))[-+]?(?:nan|NaN|inf|Inf)\b)"
    rf"(?:\s?(?P<rate>{_RATE}{_NO_NAME})|\s?(?P<percent>%)|(?P<unit>[A-Za-zµμ]{{1,12}})\b|\s(?P<apart>[A-Za-zµμ]{{1,12}})(?![\w:=(/]|\.\w)"
    r"|\s?\[(?P<bracketed>[A-Za-zµμ]{1,12})\](?!\s?[:=])|\((?P<parens>m?s|m?secs?|seconds?|minutes?|hours?)\)(?!\s?[:=]))?"
)
_ALL = r"(\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
_OF_ALL = re.compile(
    rf"\s*/\s*{_ALL}(?![\w@/]|\.(?!\.|\s|\Z)|:(?!\s))|\s+(?:out\s+)?of\s+{_ALL}\b|\s?\(\s?of\s+{_ALL}\s?\)|\s?:\s?(\d+)(?=\s*\])"
)
# 18916/18871 tok/s: rates of the source and of the target, not a count.
# `dt 0.23 toks/s 17808`: each name stands before its number, with a blank between them.
_NUMBER_NEXT = re.compile(r"\s[-+]?\d")
_RATES = re.compile(rf"\s*/\s*\d+\s?{_RATE}{_NO_NAME}")
_BAR_IN_ASCII = re.compile(r"==|>\.|##|--")
_HASHES = re.compile(r"\|#*\s*\|(?=\s{0,2}\(?\d+/\d)")  # |####    | (12/391)
_BRACKET_BAR = re.compile(r"\[[=>.]{4,}\]")
_PER_STEP = re.compile(r"\d\s?(?:s|ms|us)/(?:step|epoch)\b")
_PERCENT = re.compile(r"\d\s?%\s?[|\u2500-\u25ff\[]|\d/\d+ @ \u2022 @|\u2501|\d\s*% \d+/\d+ \[")
_POINT, _DIGITS = re.compile(r"\d\.\d"), re.compile(r"\d+")
_RANGE = re.compile(r"\[(\d+)-(\d+)\]")
# `Loss at step 20: 2.5` is `step 20, Loss: 2.5`.  A word before it may say that it is of a validation.
_LOSS_AT = re.compile(
    r"(?<![A-Za-z])(?<![A-Za-z] )"
    r"(?P<name>(?:(?:mini-?batch|batch|average|avg|mean|train|training|current|epoch|total) ){0,2}loss)"
    r" (?:at|after|for|in|of) (?:the )?(?:end of )?"
    r"(?P<count>(?:global )?(?:(?:step|iteration|iter|batch) \d+|epoch \d+(?:/\d+)?))\s?(?:[:=]|is|was)\s?(?=[-+\d.n])",
    re.IGNORECASE,
)
_LOSS_OF = re.compile(r"oss (?:at|after|for|in|of) ")  # where one of these may be
# `Time taken for epoch 3 is 61.2 sec` is `epoch 3, epoch time: 61.2 sec`; a mean or a total is of something else.
_TIME_FOR = re.compile(
    r"(?<![A-Za-z])(?<!total )(?<!avg )(?<!mean )(?<!average )(?<!elapsed )"
    r"(?:total[ _](?=time (?:for|of) epoch \d))?(?:elapsed )?time(?: taken| spent| used| elapsed| cost)?"
    r" (?:for|of|in|on) (?:train(?:ing)? )?(?P<what>epoch|step|iteration|batch) "
    r"(?P<open>\[)?(?P<count>\d+(?: ?/ ?\d+)?)(?(open)\])"
    r" ?(?:is|was|took)? ?[:=]? ?(?=\d)",
    re.IGNORECASE,
)
# `3epoch:train:1-100batch: loss=2.5` is `epoch 3:train:batch 100: loss=2.5`.
# `0.12(0.08s r0.04)s/itr`: the time of a step, and its parts in brackets before the unit.
_PARTS_BEFORE_UNIT = re.compile(
    r"(\d)\s?\((?=[^()]*[A-Za-z])[^()]{1,40}\)\s?(?=m?s/(?:itr?|iter|iteration|step|batch)\b)"
)
# `0.45s per step` and `3.1 steps per second` are `0.45 s/step` and `3.1 steps/second`.
_PER = re.compile(
    r"(?<=\d)(\s?[A-Za-z]{1,12}) per (?=(?:s|sec|second|itr?|iter|iteration|step|batch)\b(?!\s?[:=]|\s\d))"
)
_RULE_BEFORE = re.compile(r"\A\s*#{3,}\s{1,20}(?=[A-Za-z])")  # ##### Running epoch 3/8 #####
_WITH_HASH = re.compile(
    r"(?<![a-z])(epoch|step|iteration|iter|batch|update)[: ]{0,2}#(?=\d)", re.IGNORECASE
)  # Epoch #3
_NUMBERED = re.compile(
    r"(?<![a-z])(epoch|step|iteration|iter|batch|update)[ _]?(?:no\.?|n\u00b0|nr\.?|number|num\.?)[ :=]{0,3}(?=\d)",
    re.IGNORECASE,
)  # Epoch No. 3
_NUMBERS = re.compile(  # where one of these may be
    r"[Nn](?:[OoRr]\.?|\u00b0|[Uu][Mm](?:\.|[Bb][Ee][Rr])?)[ :=]{0,3}\d"
)
_WITH_TOTAL = re.compile(r"((?<![A-Za-z])[Ee]poch ?:? ?)\[ {0,3}(\d{1,6}) {1,3}\| {1,3}(\d{1,6}) {0,3}\]")
# `Epoch: [1-100] Batch: [50-391]` is `Epoch: [1/100] Batch: [50/391]`; one alone may be a range, or a batch.
_DASHED_TOTALS = re.compile(
    r"((?<![a-z])epoch ?:? ?\[\d{1,6})-(\d{1,6}\][,;| ]{0,3}(?:batch|iter|iteration|step) ?:? ?\[\d{1,9})-"
    r"(?=\d{1,9}\])",
    re.IGNORECASE,
)
# `Epoch [3-20/391]` is `Epoch [3][20/391]`.
_DASHED_BATCH = re.compile(r"((?<![a-z])epoch ?:? ?\[\d{1,6})-(?=\d{1,9}/\d{1,9}\])", re.IGNORECASE)
_EPOCH_DASHED = re.compile(r"(?<![\w./-])(epoch)[-_](?=\d{1,6}(?![\w./-]|\.\w))", re.IGNORECASE)  # epoch-3
_EPOCH_DOTTED = re.compile(
    r"(?<![\w./-])(?:ep\. ?(?=\d)|(?:ep|E|epoch)(?=\d{1,6}(?:[,:;|\])/]\s|\]|/\d{1,6}\]| [|-] | [bsi]\d))"
    r"|ep(?=\d{1,6} (?:train|val|loss)))",
    re.IGNORECASE,
)  # Ep. 3, E3:, Ep3 TrainLoss
_COUNT_GLUED = re.compile(
    r"(?<![\w./-])(epoch|step|iter|iteration|batch)(?=\d{1,9}(?![\w./-]|\.\w))", re.IGNORECASE
)  # epoch1,step2
_IN_SHORT = re.compile(  # where one of these may be
    r"[EeSsIiBb](?:(?<=[Ee])[Pp]?[.:=]? ?|[Pp][Oo][Cc][Hh]|[Tt][Ee][Pp]|[Tt][Ee][Rr](?:[Aa][Tt][Ii][Oo][Nn])?"
    r"|[Aa][Tt][Cc][Hh])\d"
)
# `E1 B10` and `e:1 it:10` are `epoch 1, batch 10`.
_PAIR_IN_SHORT = re.compile(
    r"(?<![\w./-])ep?[.:=]? ?(\d{1,6})[ ,;|/]{1,3}(?:b|it|i|s|st)[.:=]? ?(\d{1,9})(?![\w.])", re.IGNORECASE
)
# `23.4 sec(s)` is `23.4 secs`.
_PLURAL_OPEN = re.compile(r"(?<=\d)( ?(?:sec|second|min|minute|hour))\(s\)")
_HASH_ALONE = re.compile(r"\] #(?=\d+\b)")  # [3/50] #10
# `time (s) spent in epoch: 68.3` is `time spent in epoch (s): 68.3`.
_UNIT_WITHIN = re.compile(
    r"(?<![a-z])(time|duration) ?[(\[](s|secs?|seconds?|ms|mins?|minutes?)[)\]] "
    r"((?:spent|taken|used|elapsed)(?: (?:in|on|for|by|per) (?:the |an |each |one )?\w{1,20})?) ?(?=[:=] ?\d)",
    re.IGNORECASE,
)
# `Time (min): 0.27` is in minutes, but where the same line has a maximum or a mean.
_MINUTES_OR_HOURS = re.compile(
    r"(?<![a-z])((?:time(?: (?:spent|taken|used|elapsed))?|elapsed|duration|took) ?[(\[])(min|h)(?=[)\]])",
    re.IGNORECASE,
)
_OF_SEVERAL = re.compile(r"[(\[](?:max|avg|mean|median|std)", re.IGNORECASE)
# `Training (loss: 6.05, grad: 9.94): 100%|###|` is of the bar that began as `Training:   0%|   |`.
_IN_LABEL = re.compile(
    r"(?<=[A-Za-z]) ?\((?:[A-Za-z][\w ]{0,20}[:=] ?[-+]?(?:\d+\.\d+(?:[eE][-+]?\d+)?|nan|inf)(?:, |(?=\)))){1,8}\)"
    r"(?=:? {0,4}\d{1,3}%\|)",
    re.IGNORECASE,
)
# `0.524s / iter` is `0.524s/iter`.
_APART = re.compile(r"(?<=\d)(\s?(?:m?s|sec|seconds?)) / (?=(?:itr?|iter|iteration|step|batch)\b(?!\s?[:=]|\s\d))")
# `30.5 s/epoch` is `epoch time: 30.5 s`.
_PER_EPOCH = re.compile(r"(?<![\w.])(\d+(?:\.\d+)? ?(?:s|secs?|seconds?|mins?|minutes?)) ?(?:/|per) ?epoch\b(?! ?[:=])")
# `Training Time: 30.5/epoch` is `epoch time: 30.5`, in an unknown unit.
_TIME_PER_EPOCH = re.compile(
    r"(?<![a-z])(?:train(?:ing)?[ _])?time ?[:=] ?(\d+(?:\.\d+)?)/epoch\b(?! ?[:=])", re.IGNORECASE
)
# `Finished epoch 3 in 30.5 s` is `Finished epoch 3, took 30.5 s`.
_FINISHED_IN = re.compile(
    r"((?<![a-z])(?:finished|completed|ended|done with|trained) epoch:? \d+(?:/\d+)?) in (?=\d)", re.IGNORECASE
)
# `loss 0.31 in 30.5 s` is `loss 0.31, took 30.5 s`; what is `generated in 30.5 s` is something else.
_IN = re.compile(
    r"(?:(?<=[\d)\]%,;:|-])|(?<=done)|(?<=finished)|(?<=completed)|(?<=ended))\s{1,8}in "
    r"(?=\d{1,9}(?:\.\d{1,9})? ?(?:m?s|secs?|seconds?|mins?|minutes?|hours?)\b(?! ?[/:=]))"
)
_IN_A_SPAN = re.compile(
    r"(?:(?<=[\d)\]%])|(?<=done)|(?<=finished)|(?<=completed)|(?<=ended)) in (?=\d{1,3}:\d\d:\d\d(?![\d:]))"
)
# `0.031 seconds elapsed` is `elapsed: 0.031 seconds`.
_ELAPSED_AFTER = re.compile(
    r"(?<![\w.:=-])(?<![:=] )(\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|mins?|minutes?)) (elapsed)\b(?!\s?[:=]|\s\d)"
)
_OF_EPOCH = re.compile(r" \d{1,6}\.\d{1,4} ?h/epoch\b")  # an estimate beside it
# `[3,  2000] loss: 2.5` is `epoch 3, batch 2000, loss: 2.5`.
# `acc=0.95,5.453 it/s` is `acc=0.95, 5.453 it/s`: after a decimal point, a comma does not group thousands.
_COMMA_ALONE = re.compile(r"(\.\d{1,12}),(?=-?\d{1,12}\.\d|\d{1,4} ?[mh] ?\d)")
_PAIR = re.compile(r"\[(\d{1,6}), {0,8}(\d{1,9})\],?(?= {1,4}(?:(?:train|training|avg|average|mean)[ _])?loss\b)")
_GLUED = re.compile(r"(?<![\w.,:/-])(\d{1,7})(epoch)(?=[:\s])|(?<=:)(?:\d{1,9}-)?(\d{1,9})(batch|iter)(?=:)")
_SEPARATOR = re.compile(
    r"[,;|\t>]|[\"'](?=\s\w)|(?:(?<=\w{6})|(?<=[Dd]one)|(?<=ended))\.\s(?=[A-Z])|\s[-\u2013\u2014\u2022\u00b7]\s|\s{2,}|\s@\s|\.{3}\s|[)\]}](?=[\s\[({|,:-])|\](?=[A-Za-z])|\b(?:INFO|DEBUG|WARNING|root)\b"
)
_COUNTED = re.compile(  # 3/100 epochs, 3/100 epoch finished
    r"\s(epochs|steps|iterations|iters|batches|updates|epoch(?= (?:finished|completed?|done|ended|took)\b))\b"
    r"(?!\s?[:=])",
    re.IGNORECASE,
)
_NO_NAME_BUT_NUMBERS = re.compile(r"[-+\d./e]*\d[-+\d./e]*")  # of `5.00e-05/2.50e-05 | 73.3s`
_AROUND = " \t:=|,;-~>*/@<'\"\u2013\u2014\u2022"
_SCALES = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "k": 1e3}  # 21.5K; "G" may be gigabytes
_IDLE_BEGIN = re.compile(
    r"(?:None|of|and|at|with|in|(?i:finished|completed?|done|ended|summary)"
    r"(?=\s+(?i:(?:(?:epoch|elapsed|train(?:ing)?) )?(?:time|duration)\b)))\s+"
)
_UNIT_AFTER = {**SPELT, "min": "min"}  # "min" in a name is a minimum; after a number it is minutes
_UNITS_IN_FULL = {"min": "minutes", "h": "hours"}
_SECONDS = factors("s", "ms", "us", "min", "h")
_TIME_UNITS = tuple(_SECONDS)
# `step cost: 187.5 ms` and `per step: 187.5 ms` are times; a cost without a unit of time is a loss.
_COST = re.compile(r"(?<=[ _])cost\Z", re.IGNORECASE)
_TIME_COST = re.compile(r"(?<=time)[ _]cost\Z", re.IGNORECASE)
_PER_STEP_NAME = re.compile(r"\Aper[ _](?:step|iter|iteration|batch)\Z", re.IGNORECASE)
_TIME_ROLES = ("time", "batch_time", "epoch_time", "elapsed", "data_time")
# `11.7 ms per image` and `11.7 ms/img` are times, but not of a step or an epoch.
_PER_OTHER = re.compile(
    r"(?: per |\s?/\s?)(?!(?:itr?|iter|iteration|step|batch|epoch|update)\b)[A-Za-z]{2,20}", re.IGNORECASE
)
_NEVER_RATES = ("loss", "learning_rate", "accuracy", "grad_norm")
_NO_TIME = re.compile(r"loss|perplexity|(?<![a-z])(?:ppl|acc|err|bleu|reward|score|wer|cer|f1|iou)", re.IGNORECASE)
# What the name of a number has in it, if a time in brackets after it may be its mean: `Time 0.31 (0.35 s)`.
_MAY_BE_TIME = re.compile(
    r"\A\W*\Z|tim|sec|dur|took|taken|cost|elapsed|eta|spent|wait|data|load|batch|step|iter|forward|backward|fwd|bwd|optim|sync|comm"
    r"|speed|rate|latency|(?<![a-z])(?:t|dt|bt|s|ms|it|mean|avg|average|cpu|gpu)(?![a-z])",
    re.IGNORECASE,
)
# `| INFO     | yolox.core.trainer:after_iter:258 - ` of loguru says where the line was printed.
_LOGURU = re.compile(
    r"(?<=@) \| (?:TRACE|DEBUG|INFO|SUCCESS|WARNING|ERROR|CRITICAL) +\| [\w.<>]{1,80}:[\w<>]{1,60}:\d+ -(?= )"
)
# Of PyTorch/XLA's examples: `Device=xla:0/3` is rank 3, and the time at the end that of the clock.
_XLA = re.compile(r"^(.{0,40}?)\bDevice=xla:\d+(?:/(\d+))?(?=\s(?:.* GlobalRate=\S+ Time=(\d\d:\d\d:\d\d)\s*$)?)")
_NO_TIMES = ("loss", "learning_rate", "accuracy", "grad_norm", "epoch", "step", "batch")
# What stands before a span of time that has passed: `Time elapsed 0:01:01` is 61 s.
_PASSED = re.compile(
    r"\b(?:elapsed|took|total(?=[\s:=]*\Z)|time[ _](?:taken|used|spent|cost|elapsed)"
    r"|(?:elapsed|total|epoch|step|iteration|batch|training|train|run|wall|cost)[ _](?:time|duration)|duration|runtime"
    r"|(?<![a-z])dt(?==))"
    r"[\s:=(\['\"]*\Z",
    re.IGNORECASE,
)
# `Time: 0:01:01` is 61 s; `time: 10:01:01` may be a time of day.
_TIMED = re.compile(r"\btime[\s:=(\['\"]*\Z", re.IGNORECASE)
_THEN_LEFT = re.compile(r" ?< ?(?:\d+ days?, )?\d+:[0-5]\d:[0-5]\d")
_THEN_S = re.compile(r"s(?![\w/])")
_THEN_ELAPSED = re.compile(r"(?= elapsed\W*\Z)")  # 0:01:01 elapsed
# `[Time: 0:2:15]` is `[Time: 0:02:15]`: nothing else is printed so after such a name.
_UNPADDED = re.compile(
    r"((?<![a-z])(?:time(?:[ _](?:taken|used|spent|cost|elapsed))?|elapsed|took|duration)[\s:=(\[]{1,3}\d{1,3}):"
    r"([0-5]?\d):([0-5]?\d)(?![\d:.])",
    re.IGNORECASE,
)
_LEFT_NAME = re.compile(r"(?:eta|(?:time )?(?:remaining|left)|remaining time)", re.IGNORECASE)
_LEFT = re.compile(r"\b(?:eta|remain\w*|left)\b[\s:=(]*\Z", re.IGNORECASE)


class _WithExponent(float):
    """A number printed with an exponent, whose text tells its last digit: `4.5e+01`."""

    printed: str

    def __new__(cls, text: str) -> "_WithExponent":
        value = super().__new__(cls, text)
        value.printed = text
        return value

    def __str__(self) -> str:
        return self.printed


class Field(NamedTuple):
    """A number with what stands beside it."""

    name: str
    value: float | None  # None where the number is ambiguous, such as `0,5`
    unit: str | None
    total: int | None = None  # of `12/391`
    is_mean: bool = False  # stands in brackets after another number: a running mean of it
    is_integer: bool = False
    start: int = 0  # where the name begins


class Parsed(NamedTuple):
    """A line taken apart."""

    text: str
    fields: list[Field]
    stamp: Stamp | None
    left_s: float | None  # time left, as the line states it
    tail: str  # what stands after the last number
    bar: str  # its progress bar: `tqdm`, `percent` as others draw it, `keras`, `other` that counts no steps, or none
    drawing: Drawing | None = None  # what tqdm's bar shows


def _without_its_place(text: str) -> tuple[str, Stamp | None]:
    """A line with `@` for its time stamp, and without what says where it was printed; and the stamp."""
    if "=xla:" in text and (of_xla := _XLA.search(text)):
        text = f"{of_xla[3] or ''} {of_xla[1]}{f'Rank={of_xla[2]}' if of_xla[2] else ''}{text[of_xla.end() :]}".lstrip()
    stamp = stamp_in(text)
    if stamp:
        text = f"{text[: stamp.span[0]]}@{text[stamp.span[1] :]}"
        text = _LOGURU.sub("", text, count=1) if " | " in text else text
    return text, stamp


def parsed(text: str) -> Parsed:
    """Takes a line apart."""
    text = text[:_LONGEST].rstrip()
    text, stamp = _without_its_place(text)
    bar, drawing = "", None
    if drawn := written_out(_IN_LABEL.sub("", text, count=1) if "%|" in text else text):
        text, bar, drawing = drawn.text, "tqdm" if drawn.counts_steps else "other", drawn.drawing
    text = _RULE_BEFORE.sub("", text) if "###" in text else text
    text = in_one_form(text.replace(" epcoh took", " epoch took"))  # as a tutorial that many copied prints it
    text = with_seconds(_with_counts_named(text))
    if "," in text:
        text = _COMMA_ALONE.sub(r"\1, ", text)
    if "m" in text and _HOURS_OR_MINUTES.search(text):
        text = _DURATION.sub(_as_seconds, text)
        text = _MINUTES.sub(_written_out, text)
    if "|" in text:
        text = _HASHES.sub(" \u2022 ", text)
    if "(s)" in text:
        text = _PLURAL_OPEN.sub(r"\1s", text)
    if " in " in text:
        text = _IN_A_SPAN.sub(", took ", _FINISHED_IN.sub(r"\1, took ", text))
    text, left_s = _without_spans(text, bar)
    if not bar and (not text.isascii() or _BAR_IN_ASCII.search(text)):
        masked = BAR.sub(" \u2022 ", text)
        if masked != text:
            keras = _BRACKET_BAR.search(text) or _PER_STEP.search(text)
            bar = "percent" if _PERCENT.search(text) and not _PER_STEP.search(text) else "keras" if keras else ""
        text = masked
    if "-" in text:
        text = _RANGE.sub(r"[\2]", text)
    if "oss " in text and _LOSS_OF.search(text):
        text = _LOSS_AT.sub(r"\g<count>, \g<name>: ", text)
    if ")s/" in text or ")ms/" in text or ") s/" in text:
        text = _OF_EPOCH.sub("", _PARTS_BEFORE_UNIT.sub(r"\1 ", text))
    if "loss" in text and "[" in text:
        text = _PAIR.sub(r"epoch \1, batch \2,", text, count=1)
    if "ime (" in text or "ime [" in text or "ion (" in text:
        text = _UNIT_WITHIN.sub(r"\1 \3 (\2)", text)
    if ("min)" in text or "h)" in text or "min]" in text or "h]" in text) and not _OF_SEVERAL.search(text):
        text = _MINUTES_OR_HOURS.sub(lambda match: match[1] + _UNITS_IN_FULL[match[2].lower()], text)
    if "s / " in text or "sec / " in text:
        text = _APART.sub(r"\1/", text)
    if " elapsed" in text:
        text = _ELAPSED_AFTER.sub(r"\2: \1", text)
    if "/epoch" in text or "/ epoch" in text or "per epoch" in text:
        text = _TIME_PER_EPOCH.sub(r"epoch time: \1", _PER_EPOCH.sub(r"epoch time: \1", text))
    if " in " in text:
        text = _IN.sub(", took ", text)
    if " per " in text:
        text = _PER.sub(r"\1/", text)
    if "epoch" in text or "atch:" in text:
        text = _GLUED.sub(lambda match: f"{match[2] or match[4]} {match[1] or match[3]}", text)
    if "ime " in text or "uration " in text:
        text = _TIME_FOR.sub(r"\g<what> \g<count>, \g<what> time: ", text)
    fields, end = _fields_of(text)
    if left_s is None:
        left_s = next(filter(None, map(_left_in, fields)), None)
    tail = text[end:].strip()[:_TAIL]
    return Parsed(text, fields, stamp, left_s, _DIGITS.sub("#", tail) if tail else "", bar, drawing)


def _with_counts_named(text: str) -> str:
    """A line in which counts stand after their names: `epoch 3` for `Epoch #3`, `epoch-3`, `Epoch No. 3` and `E3:`.

    A total stands after a slash: `Epoch: [3/60]` for `Epoch: [3 | 60]`, and `Epoch: [3/60] Batch: [20/391]` for
    `Epoch: [3-60] Batch: [20-391]`.
    """
    if " | " in text and "poch" in text:
        text = _WITH_TOTAL.sub(r"\1[\2/\3]", text)
    if "-" in text and "poch" in text and "[" in text:
        text = _DASHED_BATCH.sub(r"\1][", _DASHED_TOTALS.sub(r"\1/\2/", text))
    if "#" in text:
        text = _WITH_HASH.sub(r"\1 ", _HASH_ALONE.sub("] step ", text))
    if "poch-" in text or "poch_" in text:
        text = _EPOCH_DASHED.sub(r"\1 ", text)
    if _NUMBERS.search(text):
        text = _NUMBERED.sub(r"\1 ", text)
    if _IN_SHORT.search(text):
        text = _COUNT_GLUED.sub(r"\1 ", text)
        text = _EPOCH_DOTTED.sub("ep ", _PAIR_IN_SHORT.sub(r"epoch \1, batch \2", text))
    return text


def _left_in(field: Field) -> float | None:
    """Seconds that are left, by a number with a unit: `ETA: 37.5m`."""
    if field.unit not in _SECONDS or field.value is None or not names_time_left(field.name):
        return None
    return field.value * _SECONDS[field.unit]


def names_time_left(name: str) -> bool:
    """Whether a name, or that of a column with its unit, is of the time that is left."""
    return _LEFT_NAME.fullmatch(name.partition(" [")[0]) is not None


def _without_spans(text: str, bar: str) -> tuple[str, float | None]:
    """A line in which times such as 0:05:25 are masked, or in seconds if they have passed, and the time left.

    `[0:01:05<0:05:00]` of a line without a bar is the time that has passed and what is left.
    """
    left_s: float | None = None
    if ":" not in text:
        return text, None
    text = _UNPADDED.sub(_padded, text)
    pieces, done = [], 0
    for match in _SPAN.finditer(text):
        before = text[done : match.start()]
        if (
            text[match.start() - 1 : match.start()] == "["
            and match[4] is None
            and text[match.end() : match.end() + 1] == "]"
        ):
            continue  # [12:391] counts
        days, first, second, third = (float(part or 0) for part in match.groups())
        seconds = days * 86_400 + (first * 3600 + second * 60 + third if match[4] else first * 60 + second)
        if left_s is None and (_LEFT.search(before) or before.endswith("<")):
            left_s = seconds
        unlike_day = match[4] and (not first or len(match[2]) == 1) and not match[1]  # 1:01:01 is no time of day
        named = _PASSED.search(before) or (unlike_day and _TIMED.search(before))
        in_seconds = match[4] and (_THEN_S.match(text, match.end()) or _THEN_ELAPSED.match(text, match.end()))
        passed = in_seconds or (named and not text[match.end() : match.end() + 1].isalnum())
        if not passed and not bar and match[4] and _THEN_LEFT.match(text, match.end()):
            pieces += [before, f"elapsed {seconds:.10g} s "]
        else:
            pieces += [before, f"{seconds:.10g} s" if passed else "@"]
        done = in_seconds.end() if in_seconds else match.end()
    return "".join((*pieces, text[done:])), left_s


def _padded(span: re.Match[str]) -> str:
    """`0:2:15` as `0:02:15`."""
    return f"{span[1]}:{int(span[2]):02d}:{int(span[3]):02d}"


def _written_out(time: re.Match[str]) -> str:
    """`time=0.2m` as `time=0.2 minutes`."""
    return f"{time[1]} {'minutes' if time[2] in 'mM' else 'hours'}"


def _as_seconds(duration: re.Match[str]) -> str:
    """`1m 42s` as `102 s`; what is not followed by its seconds stays."""
    if duration["m"] and not duration["s"]:
        return duration[0]
    hours, minutes, seconds = int(duration["h"] or 0), int(duration["hm"] or duration["m"]), float(duration["s"] or 0)
    seconds += int(duration["ms"] or 0) / 1000
    return f"{hours * 3600 + minutes * 60 + seconds:.10g} s"


def _fields_of(text: str) -> tuple[list[Field], int]:
    """The numbers of a line with their names, and where the last one ends."""
    fields: list[Field] = []
    done = 0
    point = "," in text and _POINT.search(text) is not None
    for match in _NUMBER.finditer(text):
        if match.start() < done or len(fields) >= _MOST_FIELDS:
            continue
        unit, scale, end = _unit_of(match)
        if unit == "?":
            continue  # 3x, 4th: a word
        if rates := _RATES.match(text, match.end("number")):
            done = rates.end()
            continue
        gap = text[done : match.start()]
        value = _value_of(match["number"], point, text[match.end("number") : match.end("number") + 2])
        digits = match["number"].replace(",", "")
        if text[match.end("number") : match.end("number") + 1] in ("", " "):
            digits = digits.removesuffix(".")  # `Step: 12000. Time elapsed: 23.4 s`: the sentence ends
        whole = value is not None and digits.isdecimal()
        of_all = _OF_ALL.match(text, match.end("number")) if whole else None
        before = fields[-1] if fields else None
        is_mean = (gap.strip() == "(" and before is not None) or (
            gap.strip() == "," and before is not None and before.is_mean
        )
        is_mean = is_mean and not of_all and not _is_other_quantity(before, unit)  # Epoch 1 (10/40) counts batches
        name, ahead = (before.name, 0) if is_mean and before else _name_in(gap)
        if of_all and (counted := _COUNTED.match(text, of_all.end())):
            name = counted[1]
        if unit in _TIME_UNITS and "/" not in (unit or ""):
            name = "took" if name.lower() == "cost" else name
            name = _PER_STEP_NAME.sub(r"\g<0> time", _COST.sub("time", _TIME_COST.sub("", name)))
            name = f"{name}{per[0]}".strip() if (per := _PER_OTHER.match(text, end)) else name
        if before and not name and not is_mean and _is_again(before, value, unit, match["number"]):
            done = end
            continue  # `9.23 seconds, 0.15 min`
        if match["rate"] and not is_mean and _names_what_follows(name, text, match.end()):
            unit, end = None, match.end("number")
        fields.append(
            Field(
                name, value if value is None or scale == 1 else value * scale, unit,
                int(of_all[of_all.lastindex or 1].replace(",", "")) if of_all else None,
                is_mean, whole and scale == 1, done + ahead,
            )
        )  # fmt: skip
        done = of_all.end() if of_all else end
    return fields, done


def _names_what_follows(name: str, text: str, end: int) -> bool:
    """Whether a rate after a number is the name of the next: `loss 8.9 it/s 3.1`, `dt 0.23 toks/s 17808`."""
    role = read_name(name).role if name else None
    return role in _NEVER_RATES or (role in _TIME_ROLES and _NUMBER_NEXT.match(text, end) is not None)


def _is_other_quantity(before: Field | None, unit: str | None) -> bool:
    """Whether a number in brackets is not a mean of the one before it: `loss 2.3 (0.12 sec)`, `(405 images/sec)`."""
    if unit in (None, "%") or before is None or before.unit not in (None, "%"):
        return False
    if unit in _TIME_UNITS and "/" not in (unit or "") and not _MAY_BE_TIME.search(before.name):
        return True
    return bool(_NO_TIME.search(before.name)) or read_name(before.name).role in _NO_TIMES


def _is_again(before: Field, value: float | None, unit: str | None, digits: str) -> bool:
    """Whether a time is the one before it, in another unit, within its digits."""
    if unit not in _SECONDS or before.unit not in _SECONDS or unit == before.unit or not (value and before.value):
        return False
    last_digit = 10.0 ** -len(digits.partition(".")[2])
    return abs(before.value * _SECONDS[before.unit] / _SECONDS[unit] - value) <= last_digit


def _value_of(text: str, point: bool, after: str) -> float | None:
    """A number as printed.  A comma groups thousands only where another number of the line has a decimal point."""
    if after[:1] == "," and after[1:].isdigit():
        return None
    if "," in text and not (point and not text.startswith("0")):
        return None
    if text[-3:].lower() in ("nan", "inf"):
        return float(text)
    digits = text.replace(",", "")
    value = number(digits)
    return _WithExponent(digits) if value is not None and ("e" in digits or "E" in digits) else value


def _unit_of(match: re.Match[str]) -> tuple[str | None, float, int]:
    """Unit, scale, and end of a number; `?` as unit where the number is part of a word."""
    if match["rate"]:
        return match["rate"], 1.0, match.end()
    if match["percent"]:
        return "%", 1.0, match.end()
    for word, must in ((match["unit"], True), (match["apart"], False), (match["bracketed"] or match["parens"], False)):
        if not word:
            continue
        if word.lower() in _UNIT_AFTER:
            return _UNIT_AFTER[word.lower()], 1.0, match.end()
        if must:
            return (None, _SCALES[word], match.end()) if word in _SCALES else ("?", 1.0, match.end())
    return None, 1.0, match.end("number")


@functools.lru_cache(maxsize=4096)  # most lines of a log have the same texts between their numbers
def _name_in(gap: str) -> tuple[str, int]:
    """The name at the end of what stands before a number, and where in it it begins."""
    text = gap.rstrip(_AROUND + "([{<")
    if not text:
        return "", len(gap)
    tail = 0
    for match in _SEPARATOR.finditer(text, 0, len(text) - 1):
        tail = match.end()
    name = text[tail:]
    if ":" in name:
        tail += name.rfind(":") + 1
        name = text[tail:]
    if (name.endswith(")") and "(" not in name) or (name.endswith("]") and "[" not in name):
        name = name.rstrip(")]")
    stripped = name.strip(_AROUND + "[({}<").removeprefix(". ")
    if stripped.count("(") > stripped.count(")"):
        stripped = stripped.rpartition("(")[2]
    if "=" in stripped and (own := stripped.rpartition("=")[2].partition(" ")[2].strip()):
        stripped = own  # `level=info msg=train step`, where level and msg have words as values
        return stripped, text.rfind(stripped)
    if (
        len(stripped) > _LONGEST_NAME
        or stripped.count(" ") >= _WORDS_OF_A_NAME
        or _NO_NAME_BUT_NUMBERS.fullmatch(stripped)
    ):
        return "", len(gap)
    if idle := _IDLE_BEGIN.match(stripped):
        stripped = stripped[idle.end() :]
    return stripped, tail + name.find(stripped[:1]) if stripped else len(gap)
