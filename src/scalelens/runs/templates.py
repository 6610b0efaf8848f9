"""Path templates: `{system}/{precision}/n{nodes}` says what the names of folders and files mean.

`{name}` is any text within a name, `{name:int}` a whole number, `*` any text that is not kept, `**` any number of
folders.  Names that are columns of `runs` are facts and have the column's type; others are labels.  A template fits a
file by the whole of its path, or of the folders that it begins with.
"""

import re
from typing import NamedTuple

import pyarrow as pa

from scalelens.tables import RUN_FACTS

COUNTS = ("num_layers", "hidden_size", "num_experts")  # a model's shape, which `model_flops` reads
# Facts and what each is: `text`, `count` a whole number above 0, `number`.  How a run ended only its log knows.
FACTS = {
    column.name: "count" if pa.types.is_integer(column.type) else "number" if column.type == pa.float64() else "text"
    for column in RUN_FACTS
    if column.name != "outcome"
} | dict.fromkeys(COUNTS, "count")
WORDS = {"device_unit": ("gpu", "gcd", "ipu", "hpu", "cpu")}
PATTERNS = {
    "count": r"0*[1-9][0-9]{0,8}(?![0-9])", "number": r"[0-9]{1,18}(?:\.[0-9]{1,18})?(?![0-9])",
    "int": r"[0-9]{1,18}(?![0-9])", "text": r"[^/]+",
}  # fmt: skip
LONGEST = 500
TOKEN = re.compile(r"\{([^{}]*)\}|(\*+)|([{}])|([^{}*]+)")
PLACEHOLDER = re.compile(r"([^:]*)(?::(.*))?")
LABEL = re.compile(r"[a-z][a-z0-9_]{0,59}")


class Template(NamedTuple):
    """Names of folders and files with named parts."""

    text: str
    line: int
    pattern: re.Pattern[str]
    kinds: dict[str, str]

    def match(self, inside: str) -> dict[str, str] | None:
        """Values of the named parts of a path, or of the folders that it begins with."""
        found = self.pattern.match(inside + "/")
        if not found:
            return None
        values = {name: (value, self.kinds[name]) for name, value in found.groupdict().items()}
        return {name: str(int(value)) if kind in ("int", "count") else value for name, (value, kind) in values.items()}


def compiled(text: str, line: int = 1) -> Template:
    """A template.  Raises ValueError with what is wrong with it."""
    if len(text) > LONGEST:
        raise ValueError(f"a template has {len(text)} letters; write it in less than {LONGEST}")
    folders = text.removesuffix("/").split("/")
    if {"", ".", ".."} & set(folders):
        raise ValueError(f"the template '{text}' is no path below the sidecar's folder; write it without / . .. before")
    kinds: dict[str, str] = {}
    pattern = "".join("(?:[^/]+/)*" if name == "**" else one_name(name, text, kinds) + "/" for name in folders)
    return Template(text, line, re.compile(pattern), kinds)


def one_name(name: str, template: str, kinds: dict[str, str]) -> str:
    """Pattern of one folder or file of a template; the kinds of its named parts are added to `kinds`."""
    if name == "*":
        return "[^/]+"
    pattern, before = "", ""
    for token in TOKEN.finditer(name):
        part, stars, brace, literal = token.groups()
        if brace:
            raise ValueError(f"the template '{template}' has a lone '{brace}'; a named part is written {{name}}")
        if stars and len(stars) > 1:
            raise ValueError(f"the template '{template}' has ** beside other text; it stands between slashes alone")
        if part is not None:
            if before.endswith("}"):
                raise ValueError(f"the template '{template}' does not say where '{before}' ends; put text behind it")
            key, kind = named_part(part, template)
            if key in kinds:
                raise ValueError(f"the template '{template}' names '{key}' twice; give the second another name")
            kinds[key] = kind
            whole = "" if before[-1:].isdigit() or kind == "text" else "(?<![0-9])"
            pattern += f"{whole}(?P<{key}>{'|'.join(WORDS[key]) if key in WORDS else PATTERNS[kind]})"
        else:
            pattern += "[^/]*?" if stars else re.escape(literal)
        before = token[0]
    return pattern


def named_part(part: str, template: str) -> tuple[str, str]:
    """Name and kind of `{name}` or `{name:int}`."""
    found = PLACEHOLDER.fullmatch(part)
    key, kind = (found[1], found[2]) if found else (part, None)
    if not LABEL.fullmatch(key):
        raise ValueError(f"'{key}' in the template '{template}' is no name; take lower-case letters, digits and _")
    if kind not in (None, "int"):
        raise ValueError(f"'{kind}' in the template '{template}' is no type; write {{{key}}} or {{{key}:int}}")
    known = FACTS.get(key, "text")
    return key, "int" if kind and known == "text" else known
