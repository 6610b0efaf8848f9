"""The calls of queries in SQL, each with its arguments, and what these are for given parameters."""

import re
from collections.abc import Container, Mapping
from functools import cache
from typing import NamedTuple

NAME, SIGN, TEXT = "name", "sign", "text"
QUERY = "query"  # DuckDB's function, which carries out a text

_SKIPPED = r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$"
_CALLED = re.compile(rf"{_SKIPPED}|(?<![\w.])(\w++)\s*+\(", re.DOTALL)
_TOKEN = re.compile(
    r"(?P<gap>\s+|--[^\n]*|/\*.*?\*/)|(?P<text>'(?:[^']|'')*')|(?P<quoted>\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<sign>[-+*/%<>=!~|&^@:]+|.)",
    re.DOTALL,
)
_PART_OF_WITH = re.compile(r"\b(\w+)(?:\([\w, ]*\))? AS (?:NOT )?(?:MATERIALIZED )?\(")
# Words of an expression that are neither columns nor parameters.
_KEYWORDS = frozenset((
    "and", "as", "between", "case", "else", "end", "false", "if", "in", "is", "like", "not", "null", "or", "then",
    "true", "when",
))  # fmt: skip


class _Token(NamedTuple):
    kind: str
    text: str


class Call(NamedTuple):
    """A call of a query, or of QUERY.

    Its arguments are the tokens of each by its name; None where they are not all named.  That of QUERY is named TEXT.
    """

    name: str
    arguments: dict[str, tuple[_Token, ...]] | None


@cache
def calls_in(sql: str, names: Container[str]) -> tuple[Call, ...]:
    """The calls of some queries, and of QUERY, in the order in which they stand in SQL."""
    called = ((match[1], match.end()) for match in _CALLED.finditer(sql))
    wanted = ((name, end) for name, end in called if name and (name in names or name == QUERY))
    return tuple(Call(name, _arguments(sql, end, name == QUERY)) for name, end in wanted)


def _arguments(sql: str, start: int, is_text: bool) -> dict[str, tuple[_Token, ...]] | None:
    """The arguments from a position on, up to the bracket that closes them; all as one with `is_text`."""
    depth = 1
    given: list[list[_Token]] = [[]]
    for match in _TOKEN.finditer(sql, start):
        token = _Token(match.lastgroup or SIGN, match[0])
        if token.kind == "gap":
            continue
        if token.kind == SIGN:
            depth += (token.text in "([{") - (token.text in ")]}")
            if depth == 0:
                break
            if depth == 1 and token.text == "," and not is_text:
                given.append([])
                continue
        given[-1].append(token)
    if is_text:
        return {TEXT: tuple(given[0])}
    if given == [[]]:
        return {}
    if any(len(argument) < 3 or argument[1].text != ":=" for argument in given):
        return None
    return {argument[0].text: tuple(argument[2:]) for argument in given}


def expression(tokens: tuple[_Token, ...], values: Mapping[str, str]) -> str | None:
    """SQL of an argument with values in the place of parameters; None where it needs more than these."""
    parts: list[str] = []
    for k, token in enumerate(tokens):
        is_function = k + 1 < len(tokens) and tokens[k + 1].text == "("
        is_type = k > 0 and tokens[k - 1].text == "::"
        if token.kind != NAME or is_function or is_type or token.text.lower() in _KEYWORDS:
            parts.append(token.text)
        elif token.text in values:
            parts.append(values[token.text])
        else:
            return None
    return "\n".join(parts)  # texts that follow each other are one where a line ends between them


@cache
def parts_of_with(sql: str) -> frozenset[str]:
    """Names of the parts of the WITH clauses of SQL.  A text that reads one is understood inside of this SQL alone."""
    return frozenset(_PART_OF_WITH.findall(sql))


def sources_in(text: str) -> set[str]:
    """Names after FROM and JOIN."""
    return set(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", text, re.IGNORECASE))


@cache
def called_in(sql: str) -> frozenset[str]:
    """Names before a bracket, also those inside of texts."""
    return frozenset(re.findall(r"\b(\w++)\s*+\(", re.sub(r"--[^\n]*", "", sql)))
