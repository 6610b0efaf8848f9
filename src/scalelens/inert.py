"""Text of files as it may be shown: nothing in it acts on a terminal, a spreadsheet or a renderer.

A model's name can hold escape sequences that change a terminal, and a control character in a drawing ends the whole
process that draws it.  JSON and Parquet keep a text as it was: JSON writes such characters as escapes, which a program
reads as the text and a terminal as letters, and Parquet is read by programs.
"""

import json
import re
from typing import Any

# Control characters of ASCII and Latin-1, marks that turn the direction of writing or end a line, and what XML does not
# allow.
_CONTROL = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\ufffe\uffff]"
)
_BEYOND_ASCII = re.compile(_CONTROL.pattern.replace("\0-\x1f", ""))
_EXCEPT_LINES = re.compile(rf"(?![\n\t]){_CONTROL.pattern}")
_ESCAPED_IN_JSON = re.compile(r'\\[^"\\]')  # as JSON writes control characters
FORMULA = r"^[=+@-]"  # begins what a spreadsheet computes
NUMBER = r"^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)$"


def visible(text: str, lines: bool = False) -> str:
    """A text whose control characters are seen, as `\\x1b`; with `lines`, line feeds and tabs stay."""
    if text.isprintable():  # as nearly all are
        return text
    return (_EXCEPT_LINES if lines else _CONTROL).sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(match[0], rf"\x{code:02x}" if code < 256 else rf"\u{code:04x}")


def escaped_in_json(text: str) -> str:
    """JSON in which the characters that JSON itself lets stand are escapes, too: a program reads the same text."""
    return _BEYOND_ASCII.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def visible_throughout(value: Any) -> Any:
    """The same for all texts in nested lists and dicts, their keys included."""
    return value if _is_visible_throughout(value) else _made_visible(value)


def _is_visible_throughout(value: Any) -> bool:
    """Whether nothing in nested lists and dicts needs an escape, by one look at all of it as JSON."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.isprintable() and not _ESCAPED_IN_JSON.search(text)


def _made_visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value, lines=True)
    if isinstance(value, dict):
        return {_made_visible(key): _made_visible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_made_visible(item) for item in value]
    return value
