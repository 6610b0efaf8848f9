"""Counts of a sentence by their role: nodes, devices, degrees of parallelism, batches; and what must hold between them.

    devices = nodes × devices of a node = TP × PP × DP (× CP)
    global batch = micro-batch × accumulation steps × DP = batch of a device × devices
    tokens of a step = global batch × length

A sentence and the one before it are read together.  They are accused if each role of a relation is there, and no choice
of their numbers fulfills it.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from math import prod

from scalelens.audit.document import Document, Sentence
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import is_short_slip, slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import about, matters, middle, with_unit

_DEVICE = r"(?:gpus?|apus?|gcds?|cards?|accelerators?|devices?|stacks?|ipus?|hpus?|tpus?|chips?)"
_N = r"<(\d+)>"
_MAKER = r"(?:nvidia|amd|intel|tesla|google|graphcore)"
_ROLES = {
    "nodes": (
        rf"{_N} (?:of the <\d+> )?(?:{_MAKER} )?(?:[\w-]+ )?(?:nodes?|servers?|machines?|hosts?)\b",
        rf"(?:nodes?|servers?):? {_N}",
    ),
    "per_node": (
        rf"(?:nodes?|servers?|machines?)(?: with| of|,? each with| x)? {_N}(?: [\w-]+)? ?"
        rf"(?:{_DEVICE}|[a-z]+\d+\S*)?(?: each)?",
        rf"{_N} (?:[\w-]+ )?{_DEVICE} (?:each|per (?:node|server|machine)|(?:sit )?in a (?:node|server))",
    ),
    "devices": (
        rf"{_N} [ahv]\d{{2,3}}s\b",
        rf"(?<!> of )(?<!× )(?<!x ){_N} (?:{_MAKER} )?(?:(?!per |each )[\w-]+ )?{_DEVICE}\b"
        r"(?! (?:each|per|sit|in a)|/)",
        rf"(?:world size|gpus?|devices?):? (?:of )?{_N}",
    ),
    "tp": (rf"\b(?:tp|tensor[ -](?:model[ -])?parallel\w*)(?: size| degree)?(?: of|:| =|=)? ?{_N}",),
    "pp": (rf"\b(?:pp|pipeline[ -](?:model[ -])?parallel\w*)(?: size| degree)?(?: of|:| =|=)? ?{_N}",),
    "dp": (rf"\b(?:dp|data[ -]parallel\w*)(?: size| degree)?(?: of|:| =|=)? ?{_N}",),
    "fsdp": (rf"\bfsdp(?: size| degree)?(?: of|:| =|=)? ?{_N}",),
    "cp": (rf"\b(?:cp|context[ -]parallel\w*)(?: size| degree)?(?: of|:| =|=)? ?{_N}",),
    "global": (
        rf"\bglobal[ -]batch(?:[ -]size)?(?: of| is|:| =|=)? {_N}",
        rf"\bbatch(?:[ -]size)?(?: of| is|:| =|=)? {_N} \(<\d+> (?:\w+ )?(?:per|on each) {_DEVICE}\)",
    ),
    "micro": (rf"\bmicro-?batch(?:[ -]size)?(?: of| is|:| =|=)? {_N}",),
    "accumulation": (
        rf"{_N} (?:gradient[ -])?accumulation",
        rf"accumulation(?: steps)?(?: of|:| =|=)? {_N}",
        rf"accumulat(?:ed|ing|es) (?:gradients )?(?:over|for|across) {_N}",
    ),
    "batch_each": (
        rf"batch(?: size)?(?: of| is)? {_N} (?:\w+ )?per {_DEVICE}",
        rf"batch(?: size)? per {_DEVICE}(?: is| of|:)? {_N}",
        rf"batch(?: size)?(?: of| is|:| =|=)? <\d+> \({_N} (?:\w+ )?(?:per|on each) {_DEVICE}\)",
    ),
    "length": (rf"(?:sequence|context)[ -]length(?: of| is|:| =|=)? {_N}",),
    "tokens_a_step": (rf"tokens per step:? {_N}", rf"{_N} (?:per|a|each) step"),
}
_PATTERNS = {role: [re.compile(pattern) for pattern in patterns] for role, patterns in _ROLES.items()}
_RELATIONS = (
    ("devices", ("nodes", "per_node"), "devices = nodes × devices of a node"),
    ("devices", ("tp", "pp", "dp", "cp"), "devices = TP × PP × DP × CP"),
    ("devices", ("tp", "pp", "dp"), "devices = TP × PP × DP"),
    ("devices", ("fsdp", "tp"), "devices = FSDP × TP"),
    ("global", ("micro", "accumulation", "dp"), "global batch = micro-batch × accumulation × DP"),
    ("global", ("batch_each", "devices"), "global batch = batch of a device × devices"),
    ("tokens_a_step", ("global", "length"), "tokens of a step = global batch × length"),
)
_PAIRS = re.compile(
    r"batch(?: size)? (?:is|of|was) <(\d+)> (?:\w+ )?on <(\d+)> (?:\w+ )?and <(\d+)> (?:\w+ )?on <(\d+)>"
)
_EACH = re.compile(
    r"<(\d+)> [\w-]+ (?:with|carry|have|has|of|hold|contain|and) <(\d+)> (?:[\w-]+ )?([a-z]{3,}) (?:each|per \w+)\b"
)
_A_PART = re.compile(r"\W*(?!total|in all|gpus?|devices?)[a-z][\w /-]*: <\d+>(?: [\w-]+)?\W*")  # "- Training: 12 GPUs"
_EXPERTS = re.compile(r"\bexperts?\b|\be?tp\d|\bep\b|\betp\b|\bmoe\b")
_MORE_DEGREES = re.compile(r"\b(?:pp|cp|ep|dp|hsdp|pipeline|context|expert)\b|\b(?:pp|cp|ep|dp)\d")
_OF_A_NODE = re.compile(r"\b(?:intra-?|within (?:a|one|each|the) |single |per |each )nodes?\b")
_WRITTEN = re.compile(r"(?:<\d+> ?(?:×|x|\*|·) ?){2,}<\d+>")
_OF_A_REPLICA = re.compile(
    r"\b(?:each|every|per) (?:replica|instance|copy|group|stage|using)\b|\breplicas?\b|"
    r"\b(?:additional\w*|another|spare|stand-?by|extra|idl\w+)\b"  # devices that take no part
)
_KEEPS = re.compile(r"; (?:so|hence|thus|data|tensor|pipeline|global|sequence|in all)\b")
_LONGEST = 250  # characters of a sentence; a longer one may speak of several runs
_BACK = 4
_NEXT, _FAR = 3, 20  # lines to the sentence before, and to one whose roles still count
_MOST_VALUES = 2
_EITHER = re.compile(r"\b(?:or|whether)\b")
_ON_NODES = re.compile(
    rf"<(\d+)> (?:{_MAKER} )?[\w-]+ (?:on|in|across|over) <(\d+)> (?:[\w-]+ )?(?:nodes|servers) ?"
    r"\(<(\d+)> (?:per|on each|a) node\)"
)
_HYPOTHETICAL = re.compile(r"\b(?:either|between|range|e\.g|example|if|up to|could|can|may|should|default)\b")


def find(document: Document) -> Iterator[Finding]:
    """Counts that contradict each other."""
    roles = [_roles_of(sentence) for sentence in document.sentences]
    everywhere: dict[str, set[str]] = {}
    for each in roles:
        for role, numbers in each.items():
            everywhere.setdefault(role, set()).update(number.text for number in numbers)
    only = {role for role, texts in everywhere.items() if len(texts) == 1}
    for index, (sentence, own) in enumerate(zip(document.sentences, roles, strict=True)):
        if sentence.with_spelled[1]:
            before = _before(document, roles, only, index)
            yield from _of_roles(sentence, own, before)
            yield from _on_nodes(sentence)
            yield from _pairs_of_batches(sentence, {**before, **own})
            yield from _of_each(*sentence.with_spelled, document, index)


def _of_roles(sentence: Sentence, own: dict[str, list[Number]], before: dict[str, list[Number]]) -> Iterator[Finding]:
    """The relations that the counts of a sentence break."""
    marked = sentence.marked
    if not own or _HYPOTHETICAL.search(marked) or len(marked) > _LONGEST:
        return
    for target, factors, identity in _RELATIONS:
        if "tp" in factors and _EXPERTS.search(marked):
            continue
        if target == "devices" and "nodes" not in own and (_A_PART.fullmatch(marked) or _OF_A_NODE.search(marked)):
            continue
        if target == "devices" and len(factors) > 2 and _OF_A_REPLICA.search(marked):
            continue  # "2 replicas, each using 8 GPUs"
        if target == "devices" and len(factors) > 2 and _WRITTEN.search(marked):
            continue  # equations.py computes it
        if "cp" in factors and "cp" not in own:
            continue
        if "fsdp" in factors and (_MORE_DEGREES.search(marked) or not {"fsdp", "tp"} <= set(own)):
            continue
        found = _held(own, before, target, factors)
        if found and (target != "devices" or "nodes" not in factors or _has_slip(*found)):
            yield _finding(*found, identity)


def _on_nodes(sentence: Sentence) -> Iterator[Finding]:
    """ "2,048 GPUs on 256 nodes (8 per node)": nothing else can be meant."""
    marked, numbers = sentence.with_spelled
    for match in _ON_NODES.finditer(marked):
        devices, nodes, each = (numbers[int(k)] for k in match.groups())
        right = middle(nodes.bounds) * middle(each.bounds)
        if not any(n.hedge for n in (devices, nodes, each)) and not devices.low <= right <= devices.high:
            yield _finding(devices, [nodes, each], "devices = nodes × devices of a node")


def _pairs_of_batches(sentence: Sentence, roles: dict[str, list[Number]]) -> Iterator[Finding]:
    """ "The global batch is 16 sequences on 8 cards and 256 on 128": each is the batch of a device × devices."""
    each = roles.get("batch_each", [])
    marked, numbers = sentence.with_spelled
    match = _PAIRS.search(marked)
    if len(each) != 1 or not match:
        return
    pairs = [(numbers[int(match[1])], numbers[int(match[2])]), (numbers[int(match[3])], numbers[int(match[4])])]
    right = [middle(each[0].bounds) * middle(devices.bounds) for _, devices in pairs]
    holds = [batch.low <= value <= batch.high for (batch, _), value in zip(pairs, right, strict=True)]
    if sum(holds) == 1:
        batch, devices = pairs[holds.index(False)]
        yield _finding(batch, [each[0], devices], "global batch = batch of a device × devices")


def _of_each(marked: str, numbers: list[Number], document: Document, index: int) -> Iterator[Finding]:
    """ "6 GPUs with 2 stacks each, so 12 stacks": the total that has the noun of the parts."""
    for match in _EACH.finditer(marked) if not _EITHER.search(marked) else ():
        many, parts = numbers[int(match[1])], numbers[int(match[2])]
        noun = match[3]
        totals = [numbers[int(k)] for k in re.findall(rf"<(\d+)> (?:[\w-]+ )?{noun}\b", marked)]
        totals = [number for number in totals if number is not parts]
        if not totals and index:
            before, earlier = document.sentences[index - 1].with_spelled
            totals = [earlier[int(k)] for k in re.findall(rf"<(\d+)> (?:[\w-]+ )?{noun}\b", before)]
        right = middle(many.bounds) * middle(parts.bounds)
        sure = (
            len(totals) == 1
            and totals[0].text not in (many.text, parts.text)
            and not (totals[0].hedge or many.hedge or parts.hedge)
            and many.low <= totals[0].high  # a larger one is a name: "EPYC 7763"
        )
        is_said = re.search(rf"(?<![\d.,]){int(right)}(?![\d.])", document.sentences[index].text) is not None
        wrong = sure and not is_said and not totals[0].low <= right <= totals[0].high
        if wrong and _has_slip(totals[0], [many, parts]):
            yield _finding(totals[0], [many, parts], "total = number × parts of each")


def _has_slip(claimed: Number, factors: list[Number]) -> bool:
    """Whether a slip in a product or in one of its factors would make them agree: else they are of two things."""
    product_of = prod((middle(number.bounds) for number in factors), start=Decimal(1))
    rights = [(claimed, product_of)]
    rights += [(each, middle(claimed.bounds) * middle(each.bounds) / product_of) for each in factors]
    for number, right in rights:
        own = float(right)
        if own == round(own) and (slip(number.text, own, own) or is_short_slip(number.text, own, own)):
            return True
    return False


def _before(
    document: Document, roles: list[dict[str, list[Number]]], only: set[str], index: int
) -> dict[str, list[Number]]:
    """Roles of the sentences before: of the last one, and of earlier ones if the text has one value for the role."""
    result: dict[str, list[Number]] = {}
    for back in range(1, min(index, _BACK) + 1):
        distance = document.sentences[index].line - document.sentences[index - back].line
        if distance > _FAR:
            break
        for role, numbers in roles[index - back].items():
            if role not in result and ((back == 1 and distance <= _NEXT) or role in only):
                result[role] = numbers
    return result


def _held(
    own: dict[str, list[Number]], before: dict[str, list[Number]], target: str, factors: tuple[str, ...]
) -> tuple[Number, list[Number]] | None:
    """The numbers of a relation that no choice fulfills; None if one does, or a role is missing or ambiguous."""
    names = (target, *factors)
    chosen = [own.get(name) or before.get(name) or [] for name in names]
    if not all(1 <= len({number.text for number in each}) <= _MOST_VALUES for each in chosen):
        return None
    if target not in own and not set(factors) <= set(own):
        return None
    for claimed, *given in product(*chosen):
        if len({id(number) for number in given}) < len(given) or any(number is claimed for number in given):
            return None
        right = prod((middle(number.bounds) for number in given), start=Decimal(1))
        if claimed.low <= right <= claimed.high:
            return None
    return chosen[0][0], [each[0] for each in chosen[1:]]


def _roles_of(sentence: Sentence) -> dict[str, list[Number]]:
    """The whole numbers of the last clause of a sentence by role; spelled numbers count."""
    marked, numbers = sentence.with_spelled
    if not numbers:
        return {}
    marked = marked.rpartition("; ")[2] if not _KEEPS.search(marked) else marked
    result: dict[str, list[Number]] = {}
    for role, patterns in _PATTERNS.items():
        for pattern in patterns:
            for match in pattern.finditer(marked):
                number = numbers[int(match[1])]
                if (
                    number.hedge != "about"
                    and number.high > 0
                    and not (role == "devices" and "/" in number.unit)
                    and re.fullmatch(r"[\d,]+|[A-Za-z-]+", number.text)
                    and number.unit.split("/")[0] in ("", *COUNTED)
                ):
                    result.setdefault(role, []).append(number)
    return result


def _finding(claimed: Number, given: list[Number], identity: str) -> Finding:
    right = prod((middle(number.bounds) for number in given), start=Decimal(1))
    names = " and ".join(with_unit(number) for number in given)
    return Finding(
        "inconsistent",
        (claimed, *given),
        f"{names} give {about(right, 7)}, not {with_unit(claimed)}.",
        matters(claimed.bounds, Bounds(right, right)),
        identity,
    )
