"""Path templates: `{system}/{precision}/n{nodes}` defines what the names of folders and files mean.

`{name}` is any text within a name, `{name:int}` an integer, `*` any text that is not stored, and `**` any number of
folders.  Names that are columns of `runs` are facts and have the column's type; others are labels.  A template fits a
file if it fits the whole path of the file, or of one of the folders above it.
"""

import re
from typing import NamedTuple

import pyarrow as pa

from scalelens.runs.name_patterns import (
    ANY_FOLDERS,
    NUMBER_PATTERNS,
    Choice,
    Literal,
    NamePattern,
    Piece,
    Star,
    Text,
    values_in_path,
)
from scalelens.tables import RUN_FACTS

_SHAPE_COUNTS = ("num_layers", "hidden_size", "num_experts")  # a model's shape, which `model_flops` reads
# From which the global batch follows.  The batch per device is a fraction where several devices compute one sample.
_OF_BATCH = {"batch_per_device": "number", "gradient_accumulation": "count"}
# Facts and the kind of each: `text`, `count` (an integer above 0) or `number`.  Only a log can state the outcome.
FACT_KINDS = {
    column.name: "count" if pa.types.is_integer(column.type) else "number" if column.type == pa.float64() else "text"
    for column in RUN_FACTS
    if column.name != "outcome"
} | {**dict.fromkeys(_SHAPE_COUNTS, "count"), **_OF_BATCH}
WORDS = {"device_unit": ("gpu", "gcd", "ipu", "hpu", "cpu")}
_LONGEST_TEMPLATE = 500
_TEMPLATE_TOKEN = re.compile(r"\{([^{}]*)\}|(\*+)|([{}])|([^{}*]+)")
_PLACEHOLDER = re.compile(r"([^:]*)(?::(.*))?")
LABEL_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


class Template(NamedTuple):
    """A path template in a form that can be compared with paths."""

    text: str
    line: int  # of the sidecar
    patterns: tuple[NamePattern | None, ...]  # of each folder
    kinds: dict[str, str]

    def match(self, inside: str) -> dict[str, str] | None:
        """Values of the named parts; None if the template does not fit the path."""
        values = values_in_path(self.patterns, inside.split("/"))
        if values is None:
            return None
        return {
            name: str(int(value)) if self.kinds[name] in ("int", "count") else value for name, value in values.items()
        }


def compiled(text: str, line: int = 1) -> Template:
    """A template from its text.  Raises ValueError if something is wrong with it."""
    if len(text) > _LONGEST_TEMPLATE:
        raise ValueError(f"a template has {len(text)} letters; write it in less than {_LONGEST_TEMPLATE}")
    folders = text.removesuffix("/").split("/")
    if {"", ".", ".."} & set(folders):
        raise ValueError(
            f"the template '{text}' is not a path below the sidecar's folder; write it without / . .. first"
        )
    kinds: dict[str, str] = {}
    patterns = tuple(ANY_FOLDERS if name == "**" else _name_pattern(name, text, kinds) for name in folders)
    return Template(text, line, patterns, kinds)


def _name_pattern(name: str, template: str, kinds: dict[str, str]) -> NamePattern:
    """Pattern of one folder or file of a template; adds the kinds of its named parts to `kinds`."""
    if name == "*":
        return (Text(None),)
    pieces: list[Piece] = []
    before = ""
    for token in _TEMPLATE_TOKEN.finditer(name):
        part, stars, brace, literal = token.groups()
        if brace:
            raise ValueError(f"the template '{template}' has a single '{brace}'; write a named part as {{name}}")
        if stars and len(stars) > 1:
            raise ValueError(f"the template '{template}' has ** next to other text; write it alone between slashes")
        if part is not None:
            if before.endswith("}"):
                raise ValueError(f"the template '{template}' does not say where '{before}' ends; put text after it")
            key, kind = _named_part(part, template)
            if key in kinds:
                raise ValueError(f"the template '{template}' names '{key}' twice; give the second another name")
            kinds[key] = kind
            pieces.append(_piece(key, kind, within_number=before[-1:].isdigit()))
        else:
            pieces.append(Star() if stars else Literal(literal))
        before = token[0]
    return tuple(pieces)


def _piece(key: str, kind: str, within_number: bool) -> Piece:
    """The pattern of a named part."""
    if key in WORDS:
        return Choice(key, tuple(map(re.compile, WORDS[key])))
    if kind == "text":
        return Text(key)
    not_within_number = "" if within_number else "(?<![0-9])"
    return Choice(key, tuple(re.compile(not_within_number + pattern) for pattern in NUMBER_PATTERNS[kind]))


def _named_part(part: str, template: str) -> tuple[str, str]:
    """Name and kind of `{name}` or `{name:int}`."""
    match = _PLACEHOLDER.fullmatch(part)
    key, kind = (match[1], match[2]) if match else (part, None)
    if not LABEL_NAME.fullmatch(key):
        raise ValueError(f"'{key}' in the template '{template}' is not a name; use lower-case letters, digits and _")
    if kind not in (None, "int"):
        raise ValueError(f"'{kind}' in the template '{template}' is not a type; write {{{key}}} or {{{key}:int}}")
    kind_of_fact = FACT_KINDS.get(key, "text")
    return key, "int" if kind and kind_of_fact == "text" else kind_of_fact
