"""Commands within sentences, which are read and pasted."""

import re
import shlex

_ASKED = (
    "query|plot|sql|report|explore|compare|history|next-runs|check|compact|gc|ingest|forget|connect|export|shell|"
    "numbers|audit|bundle|mcp|review|verify|trace"
)
# A command with its words, up to what ends it in a sentence.
_ADVISED = re.compile(rf"\bscalelens (?:{_ASKED})\b(?: (?:[\w=.-]*\"[^\"]*\"|[\w=.-]*'[^']*'|[^\s;,()\"']+))*")
_ENDS_WITH_COMMAND = re.compile(rf"(?:{_ADVISED.pattern})\Z")


def in_warehouse(text: str, place: str) -> str:
    """A message whose commands are about the warehouse at `place`."""
    return _ADVISED.sub(lambda match: match[0] if " -w " in match[0] else _of(match[0], shlex.quote(place)), text)


def as_sentence(text: str) -> str:
    """A text with a full stop, which a command at its end goes without: it would be pasted with it."""
    text = text.removesuffix(".")
    return text if _ENDS_WITH_COMMAND.search(text) else f"{text}."


def _of(command: str, place: str) -> str:
    """The command with its warehouse, before a stop that ends the sentence."""
    bare = command.removesuffix(".")
    return f"{bare} -w {place}{command[len(bare) :]}"
