"""Lines that state the mean or the median time of a step, as skeletons: `#` stands for a number.

average step time: # ms            step time: #s ± #s            # steps in # s (# s/step)

And lines that state the time of a whole training and how many epochs it had: `Finished in #s (# epochs)`.
"""

from scalelens.parsing import lazy_re as re

_STEP = r"(?:(?:training|train|global)[ _-])?(?:step|iteration|iter|batch)"
_SECONDS = r"(?:(?:m|u|µ)?s|(?:m|micro)?secs?|(?:milli|micro)?seconds?)"
_MEAN = r"(?<![a-z])(?:avg|average|mean|median)"
_NO_MEAN = r"(?<![a-z])(?<!avg[ _])(?<!mean[ _])(?<!average[ _])(?<!median[ _])"
_TIME_PER = r"(?:training |train |wall )?time(?:[ _](?:per|for an?|of an?|for one|of one)[ _]| ?/ ?)"
_PER_STEP = rf"{_SECONDS} ?(?:/|per ){_STEP}(?![a-z])"
_SPREAD = r"(?:±|\+/-|\+-)"


def _stated(name: str) -> str:
    """The value after the name of a mean: with its unit before it, in brackets, or after it, or without one."""
    brackets = rf"(?: ?[(\[]{_SECONDS}[)\]])?(?: ?\([^()]{{1,40}}\))?"
    spread = rf"(?: ?{_SPREAD} ?#)?"
    value = rf"(?P<{name}>#)(?![,.:/]?#){spread}(?:\s?{_SECONDS}(?![\w/])|(?![\w/%]))"
    return rf"{brackets}(?: (?:is|was))?[\s:=|]{{1,10}}{value}"


MEAN_OF_STEPS = re.compile(
    rf"{_MEAN}[ _.]{{1,2}}{_STEP}[ _](?:time|duration)(?![a-z]){_stated('value_named')}"
    rf"|{_MEAN}[ _.]{{1,2}}{_TIME_PER}{_STEP}(?![a-z]){_stated('value_per_step')}"
    rf"|{_NO_MEAN}{_STEP}[ _]time[\s:=|]{{1,10}}(?P<value_spread>#)\s?{_SECONDS}? ?{_SPREAD} ?#\s?{_SECONDS}(?![\w/])"
    rf"|{_MEAN}(?![a-z])[^#,;]{{0,30}}(?P<value_before>#) ?{_PER_STEP}"
    rf"|# (?:steps|iterations|iters|batches) in [^()#]{{0,10}}#[^()#]{{1,20}}\((?P<value_of_all>#) ?{_PER_STEP}",
    re.IGNORECASE,
)

_NUMBER = r"(?:#|\d[\d,]*(?:\.\d+)?)"
_DONE = (
    r"(?<![a-z])(?:finished|completed?|done|ended|took|elapsed|(?:(?:total|train|training) )?time|trained|training)"
    r"(?![a-z])"
)
_SPAN = rf"{_NUMBER} ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?![a-z/])(?: ?{_NUMBER} ?(?:m|s)(?![a-z/]))?"
_NOT_ALL = r"(?:without|with no|no|left|remain|to|ago|since|each|per|more|patience|wait)"
# Finished in 43.0s (212 epochs); Training took 12m 3s for 20 epochs
TIME_AND_EPOCHS = re.compile(
    rf"{_DONE}[^#\d]{{0,30}}{_SPAN}[ ,;:|(\[-]{{1,3}}(?:(?:over|for|in|after) )?(?P<epochs>{_NUMBER}) epochs?"
    rf"(?![a-z]|[ ,(]{{1,2}}{_NOT_ALL})",
    re.IGNORECASE,
)
