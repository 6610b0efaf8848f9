"""Where one log holds the records of several trainings: what is trained differs, and the count begins anew.

    Model: resnet18                     ===== Pretraining =====          $ python train_small.py
    step 1/400 loss 3.1 ...             step 1/400 loss 9.1 ...          step 1/400 loss 3.1 ...
    Model: resnet50                     ===== Fine-tuning =====          $ python train_large.py
    step 1/400 loss 2.9 ...             step 1/400 loss 2.2 ...          step 1/400 loss 2.9 ...

The number of parameters (`Model has 1,234,567 parameters`) and the sizes of a model (`hidden_dim: 256`) tell it, too.

The same training that is launched again is one run, and so are folds, seeds and learning rates.  A setting that can
change the speed begins another run as well where the log goes on after a second launch.
"""

from collections import defaultdict
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import is_of_a_model, settings_of_speed
from scalelens.tabular.unknown_logs.launches import Launches

_LONGEST = 160  # characters of a line that may say what is trained
_STAMP = re.compile(r"(?:\W*(?:\d[\d:.,/TZ+-]*|INFO|DEBUG|WARNING|root)(?![A-Za-z]))*\W*")
_SETTING = re.compile(r"(?P<key>[A-Za-z][\w .-]{1,40}?)\s{0,20}[:=]\s{0,4}(?P<value>[\"'\w./\\-][^:=|,;]{0,100})\Z")
_SCRIPT = re.compile(
    r"(?:[$+>]\s{0,3})?(?:\S*/)?(?:python[\d.]*|torchrun|accelerate launch|deepspeed)\s"
    r".{0,80}?(?P<name>[\w-]{1,60}\.py)(?!\w)"
)
_STAGE = re.compile(
    r"(?:(?:start(?:ing)?|begin(?:ning)?|now|running)\s)?(?P<stage>pre-?training|fine-?tuning"
    r"|(?:training )?(?:stage|phase) ?\d{1,2})"
    r"(?![\w.])(?:\s?(?:-{1,3}|:|\(|\u2013|\u2014)\s?[^\d=]{1,60}|\W*)\Z",
    re.IGNORECASE,
)
_TRAINED = re.compile(
    r"(?:now )?training (?:(?:the )?model:? |of )?[\"'`]?(?P<name>[A-Za-z][\w./+-]{1,60})[\"'`]?(?:\s?\.{3})?\W*\Z",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"(?:fold|seed|trial|run|rep(?:eat|lica)?|split|start\w*|begin\w*|model|loop|complet\w*|done|finish\w*|end\w*|from|on|with|the"
    r"|epoch\w*|step\w*|set|data\w*|loss|progress|config\w*|setup|result\w*|mode|time|summary|stage|phase|for|network|process|log\w*"
    r"|samples?|images?|examples?|batch\w*|script|session|job|again|resum\w*|stopped|interrupted|successful\w*|now)(?:[_-]?\d+)?\Z",
    re.IGNORECASE,
)
_METHOD = re.compile(  # of a report on several, each below a heading of its own
    r"(?:method|strategy|approach|variant|algorithm|\u65b9\u6cd5|\u7b56\u7565|\u7b97\u6cd5)\s?[:\uff1a]\s?(?P<name>\S.{0,60})\Z",
    re.IGNORECASE,
)
_RULE = re.compile(r"[=#*~\u2500-\u257f-]{5}")  # at the end of the line above a heading
_TRAINS = re.compile(r"(?<![a-z])(?:(?:pre-?)?train(?:ing)?|fine-?tun(?:e|ing))(?![a-z])", re.IGNORECASE)
_REPEATS = re.compile(
    r"(?<![a-z])(?:folds?|seeds?|trials?|runs?|rep(?:eat|lica|etition)s?|rounds?|iterations?|epochs?|steps?|splits?|attempts?|resum\w*"
    r"|complet\w*|finish\w*|done|results?|summary|config\w*|settings|parameters|time)(?![a-z])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,/]*(?![\w])")
_BATCH = re.compile(
    r"(?:(?:train(?:ing)?|data_?loader|per_device|global|total|effective|mini)_)*batch_?size(?:_per_\w+)?\Z"
)
_MANY = r"\d[\d,.]{0,20}(?: ?(?:[KMB]|million|billion))?"
_PARAMETERS = re.compile(  # number of parameters: 10.65M; Model has 1,234,567 trainable parameters
    r"(?<![\w-])(?:(?:number|num|no\.?|total|trainable|model|count|#)\b.{0,30}?)?param(?:eter)?s?(?:[ _]count)?"
    rf"(?: \([^)]{{1,20}}\))?\s{{0,20}}[:=]\s{{0,4}}(?P<after>{_MANY})\b"
    rf"|(?<![\w.,])(?P<before>{_MANY}) (?:(?:total|trainable|learnable|model) ){{0,2}}param(?:eter)s?(?![\w:=])",
    re.IGNORECASE,
)
_TRAINED_WITH = re.compile(
    r"(?:re)?(?:training|running|train) (?:model )?(?:with|using) (?=[A-Za-z][\w .-]{1,40} ?[:=])", re.IGNORECASE
)
_LISTED = re.compile(
    r"(?:experiment|exp|config(?:uration)?|variant|setting|run|case|model)(?: ?#?\d{1,4})?(?: ?/ ?\d{1,4})?"
    r"\s?[:\u2013\u2014-]\s?"
    r"(?P<pairs>[A-Za-z]\w{0,40}\s?=[^=:]{1,40}(?:,\s?[A-Za-z]\w{0,40}\s?=[^=:,]{1,40}){0,8})",
    re.IGNORECASE,
)
_DICTIONARY = re.compile(r"\{(?P<pairs>\s?[\"'][A-Za-z]\w{0,40}[\"']:[^{}\[\]]{1,140})\}")
_PAIR = re.compile(r"\s*[\"']?(?P<key>[A-Za-z]\w{0,40})[\"']?\s?[:=]\s?(?P<value>[\"'\w./+-][^=:]{0,40})\s*")
_NOT_OF_A_TRAINING = {"mode", "dataset", "dataset_name", "optimizer", "opt_name", "devices_per_node"}
_NAMES = {"model", "model_name", "model_name_or_path", "arch"}  # a number of one of these is that of a repeat
_SEPARATORS = re.compile(r"[\s.-]+")


class Trainings:
    """What the lines between the records say is trained."""

    def __init__(self) -> None:
        self.launches = Launches()
        self._others: dict[int, set[str]] = {}  # by the line of the first record of another training: what differs
        self._seen: defaultdict[str, list[list[str]]] = defaultdict(
            list
        )  # values of each training, by what they are of
        self._together: list[dict[str, list[str]]] = []  # the values of each training
        self._told: defaultdict[str, list[str]] = defaultdict(list)  # since the last record, by what it is of
        self._method = ""  # that the last heading named
        self._methods: dict[int, str] = {}  # by the line of the first record of a training
        self._first = ""  # line that says anything: where it comes again, what stood before it is of a failed launch
        self._ruled = False  # whether the line before is a rule
        self._last: dict[Any, Any] = {}  # counts of the last record, by its writer

    def look(self, raw: bytes) -> None:
        """Takes a line that is not a record."""
        self.launches.look(raw)
        if len(raw) > 2 * _LONGEST:
            return
        text = raw.decode("utf-8", "replace")
        under_rule, self._ruled = self._ruled, bool(_RULE.fullmatch(text.rstrip()[-5:]))
        begun = _STAMP.match(text).end()  # type: ignore[union-attr]
        opened = text.rfind("{", 0, begun)  # of a dictionary, whose bracket is no part of a stamp
        text = text[begun if opened < 0 else opened :].strip()
        if not text or len(text) > _LONGEST:
            return
        under_rule = under_rule or self._ruled  # `===== Training a =====`
        self._first = self._first or text
        if text == self._first:
            self._told.clear()
        text = text.strip("=-*#~ \t")
        method = _METHOD.match(text) if under_rule else None
        if method:
            self._method = method["name"].strip()
        if method or (under_rule and _TRAINS.search(text) and not _REPEATS.search(text)):
            self._told["heading"].append(_NUMBER.sub("#", text))
        for of, value in _settings_in(text) or filter(None, [_said(text)]):
            self._told[of].append(value)

    def take(self, line: int, whose: Any, counts: list[Any]) -> None:
        """Takes a record of one writer, and what it counts."""
        self.launches.take(line, whose)
        before = self._last.get(whose)
        begins = line in self.launches.lines or (
            before is not None and None not in (*counts, *before) and counts < before
        )
        self._last[whose] = counts
        if not self._told:
            return
        if begins or before is None:
            known = [of for of in self._told if self._seen[of]]
            if begins and (other := {of for of in known if _differ(self._seen[of][-1], self._told[of])}):
                self._others[line] = other
            for of, told in self._told.items():
                self._seen[of].append(told)
            self._together.append(dict(self._told))
            if self._method:
                self._methods[line], self._method = self._method, ""
        self._told = defaultdict(list)

    @property
    def others(self) -> set[int]:
        """Lines of the first records of other trainings than the one before.

        What comes back after something else, as the stages of each fold do, divides nothing.  Of a grid, such as the
        same batches on each number of devices, each value comes back, and no combination of them.
        """
        combinations = [one for k, one in enumerate(self._together) if k == 0 or one != self._together[k - 1]]
        if all(one not in combinations[:k] for k, one in enumerate(combinations)):
            return {*self._others}
        again = {of for of, seen in self._seen.items() if _comes_back(seen)}
        return {line for line, differing in self._others.items() if differing - again}

    @property
    def told(self) -> tuple[set[int], set[int], dict[int, str]]:
        """What the launches tell, the lines where other trainings begin, and what headings call them."""
        return self.launches.told, self.others, self.methods

    @property
    def methods(self) -> dict[int, str]:
        """What headings call the trainings, by the lines of their first records; empty where two share a name."""
        told = {line: name for line, name in self._methods.items() if line in self.others or line == min(self._methods)}
        return told if len(told) == len({*told.values()}) == 1 + len(self.others) else {}


def _said(text: str) -> tuple[str, str] | None:
    """What a line says of the training, and the value."""
    if script := _SCRIPT.match(text):
        return "script", script["name"]
    if stage := _STAGE.match(text):
        return "stage", _SEPARATORS.sub("", stage["stage"].lower().replace("training ", ""))
    if (trained := _TRAINED.match(text)) and not _NO_NAME.match(trained["name"]):
        return "trained", trained["name"]
    if "aram" in text and (counted := _PARAMETERS.search(text)):
        return "parameters", (counted["after"] or counted["before"]).rstrip(".,")
    setting = _SETTING.match(_TRAINED_WITH.sub("", text))
    return _of_a_training(setting["key"], setting["value"]) if setting else None


def _settings_in(text: str) -> list[tuple[str, str]]:
    """The settings that a heading (`Experiment 2: dim=128, heads=4`) or a dictionary on one line states."""
    listed = _LISTED.fullmatch(text) or _DICTIONARY.fullmatch(text)
    pairs = [_PAIR.fullmatch(part) for part in listed["pairs"].split(",")] if listed else []
    told = [_of_a_training(pair["key"], pair["value"]) for pair in pairs if pair]
    return [one for one in told if one] if len(told) == len(pairs) else []


def _of_a_training(key: str, value: str) -> tuple[str, str] | None:
    """A setting that another training may have another value of; None for others."""
    key, value = _SEPARATORS.sub("_", key.strip().lower()), value.strip().strip("\"'")
    of_a_model = is_of_a_model(key, value)
    of_speed = _BATCH.match(key) or (key in settings_of_speed() and key not in _NOT_OF_A_TRAINING)
    if not (of_speed or of_a_model) or (key in _NAMES and value.isdigit()):
        return None
    return key, value


def _differ(before: list[str], now: list[str]) -> bool:
    """Whether values are others than before; where another number of them was told, none may be the same."""
    return before != now if len(before) == len(now) else set(before).isdisjoint(now)


def _comes_back(seen: list[list[str]]) -> bool:
    """Whether a value comes again after another one."""
    kinds = [told for k, told in enumerate(seen) if k == 0 or _differ(seen[k - 1], told)]
    return any(not _differ(one, kinds[j]) for k, one in enumerate(kinds) for j in range(k))
