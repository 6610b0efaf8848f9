"""Times of several steps in one line, in the one form that is read: what took how long, for how many steps.

    step 40 | loss 2.1 (3.10 s/10 iters)              step 40 | loss 2.1 (took 3.10 s for 10)
    iter 40: loss 2.1, 10 iterations took 3.1 s       iter 40: loss 2.1, took 3.1 s for 10
    Time for the last 10 steps: 3.1 s                 per step time: 0.31 s

Whether that many steps lie between two lines is for the counts to show: `step 40: 40 steps took 12.4 s` is since the
start.  The last ten steps are those before the line.  What is called a mean is of one step already.
"""

from scalelens.parsing import lazy_re as re

_WHAT = r"(?:step|iteration|iter|it|batch|update)(?:e?s)?"
_COUNT = r"(?P<count>[1-9]\d{0,6})"
_TIME = r"(?P<time>\d+(?:\.\d+)?)\s?(?P<unit>ms|msecs?|s|secs?|seconds?|mins?|minutes?)"
_ENDS = r"(?![\w/]|\s?[:=]|\s/)"
_LAST = r"(?:(?:the )?(?P<last>last|past|previous) )?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # Time for the last 100 steps: 12.5 s    elapsed (last 10 iters): 2.5 s    time/20 iters: 6.2s
        r"(?<![A-Za-z])(?:time|duration|elapsed|took)(?: taken| spent| elapsed| used)?\s?(?:[(/]\s?)?"
        rf"(?:(?:for|of|per|in|over) )?{_LAST}{_COUNT}[ _-]{_WHAT}\)?\s?(?:is|was|:|=)?\s{{0,2}}{_TIME}{_ENDS}",
        # 10 iterations took 2.5 s    (20 steps: 6.2 sec)    10 iters in 2.5 seconds
        rf"{_LAST}(?<![\w.,/-]){_COUNT}[ _-]{_WHAT}\s?(?:[:=]|took|in|done in|time\s?[:=]?)\s{{0,2}}{_TIME}{_ENDS}",
        # 2.5 s/10 iters    2.5 sec for the last 10 steps    2.5 s per 10 it
        rf"(?<![\w.]){_TIME}\s?(?:/|per\s|(?:for|over)\s(?=.{{0,4}}last )){_LAST}\s?{_COUNT}[ _-]?{_WHAT}\b"
        r"(?!\s?[:=]|\s\d)",
    )
)
_MAY_BE = re.compile(r"\d[ _-]?(?:step|iter|it|batch|update)", re.IGNORECASE)
_MEANS = re.compile(r"(?<![a-z])(?:avg|average|mean|median|moving|smooth|every|each|total|eta|left)", re.IGNORECASE)
# What stands before it, in which a word says that it is a mean, or of all: `avg_loss 1.9; 50 steps took 4.7s` has none.
_BEFORE = 24
_SEPARATOR = re.compile(r"[,;|\t]|\d\s|\s-\s")


def in_one_form(text: str) -> str:
    """A line in which the time of several steps is written as all others are."""
    if not _MAY_BE.search(text):
        return text
    for form in _FORMS:
        found = form.search(text)
        if found and not _MEANS.search(text, _begin_of(text, found.start()), found.end()):
            told = f"took {found['time']} {found['unit']} for {found['count']}"
            if found["last"]:
                told = f"per step time: {float(found['time']) / int(found['count']):.10g} {found['unit']}"
            return f"{text[: found.start()]}{told}{text[found.end() :]}"
    return text


def _begin_of(text: str, end: int) -> int:
    """Where the words just before a place begin."""
    begin = max(0, end - _BEFORE)
    return max((match.end() for match in _SEPARATOR.finditer(text, begin, end)), default=begin)
