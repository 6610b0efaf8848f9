"""What a figure or a table says, apart from where it comes from: its values, and all the rest.

Rows of the body of a table are the same in any order, because threads hand them over in any order.  Everything else
has its place: a heading with its rows, a cell in its row, a row in its table.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from scalelens.question.answer import DOUBTS, doubts_in
from scalelens.report.provenance_in_files import without_provenance

_SPEC = re.compile(r'^vegaEmbed\("#figure", (.*)\)\.then\(', re.MULTILINE)
_MACRO = r"\newcommand{"
_COLUMNS = re.compile(r"\\toprule\n(.*?)\\midrule", re.DOTALL)
_BODY = re.compile(r"(?<=^\\midrule\n)(?:.*\n)*?(?=\\bottomrule$)", re.MULTILINE)
_HEADING = r"\multicolumn{"


class _FileParts(NamedTuple):
    """Both can be compared with those of another file."""

    values: Any  # what was drawn or printed of the rows; None for a picture, from which they cannot be read
    words: Any  # everything else


def parts_of(content: bytes, said: Mapping[str, Any]) -> _FileParts:
    """Of a file whose provenance is `said`.  Raises ValueError where the file is not of the kind that this names."""
    if "chart" in said:
        return _figure(content)
    text = content.decode()
    if "numbers" in said:
        lines = without_provenance(text).splitlines()
        macros = [line for line in lines if line.startswith(_MACRO)]
        return _FileParts(macros, [line.startswith(_MACRO) or line for line in lines])
    kinds = {"envelope": _envelope, "markdown": _markdown, "latex": _latex}
    return kinds[str(said["format"])](text)


def _figure(content: bytes) -> _FileParts:
    """A specification holds the values that it draws; of a picture there are only bytes."""
    if content.startswith(b"{"):
        spec = _strict_json(content.decode())
        del spec["usermeta"]["scalelens"]
        return _FileParts(_drawn(spec), spec)
    if content.startswith(b"<"):
        text = without_provenance(content.decode())
        found = _SPEC.search(text)
        return _FileParts(found and _drawn(_strict_json(found[1])), text)
    return _FileParts(None, content)


def _drawn(spec: Any) -> list[Any]:
    """The data in a specification, in the order in which they stand there."""
    if isinstance(spec, list):
        return [rows for inner in spec for rows in _drawn(inner)]
    if not isinstance(spec, dict):
        return []
    data = spec.get("data")
    own = [data["values"]] if isinstance(data, dict) and "values" in data else []
    return own + [rows for key, inner in spec.items() if key not in ("data", "usermeta") for rows in _drawn(inner)]


def _envelope(text: str) -> _FileParts:
    """Each row with its doubts and where it comes from, which name rows by their places."""
    envelope = _strict_json(text)
    del envelope["provenance"]
    rows, origins, doubts = envelope["rows"], envelope["from"], envelope["doubts"]
    held = [
        {doubt["column"]: doubt["untrusted_text"] for doubt in doubts if _Number(str(place)) in doubt["rows"]}
        for place in range(len(rows))
    ]
    told = [doubt._asdict() for doubt in doubts_in(held, DOUBTS)]
    as_told = [
        {
            "column": doubt["column"],
            "text": doubt["untrusted_text"],
            "rows": [int(place.digits) for place in doubt["rows"]],
        }
        for doubt in doubts
    ]
    values = Counter(map(_hashable, map(list, zip(rows, origins, held, strict=True))))
    others = {key: value for key, value in envelope.items() if key not in ("rows", "from", "doubts")}
    same = as_told == told and all({*doubt} == {"column", "untrusted_text", "rows"} for doubt in doubts)
    return _FileParts(values, [others, same or doubts])


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return ("object", *sorted((name, _hashable(inner)) for name, inner in value.items()))
    return ("array", *map(_hashable, value)) if isinstance(value, list) else (type(value).__name__, value)


def _markdown(text: str) -> _FileParts:
    head, rule, *rest = without_provenance(text).split("\n")
    n_rows = next((k for k, line in enumerate(rest) if not line.startswith("| ")), len(rest))
    return _FileParts([head, rule, Counter(rest[:n_rows])], rest[n_rows:])


def _latex(text: str) -> _FileParts:
    """Rows below a heading stay below it, and columns below theirs."""
    bare = without_provenance(text)
    groups: list[Any] = _COLUMNS.findall(bare)
    for body in _BODY.findall(bare):
        groups.append(Counter())
        for line in body.splitlines():
            if line.startswith((_HEADING, r"\addlinespace")):
                groups += [line, Counter()]
            else:
                groups[-1][line] += 1
    return _FileParts(groups, _BODY.sub("", bare))


class _Number(NamedTuple):
    """A number as it is written: 0.50 is not what 0.5 was."""

    digits: str


def _strict_json(text: str) -> Any:
    """Raises ValueError for what readers of JSON take for different things: a name twice in an object, NaN."""

    def no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a name occurs twice in an object")
        return dict(pairs)

    def no_constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    return json.loads(
        text, object_pairs_hook=no_name_twice, parse_constant=no_constant, parse_int=_Number, parse_float=_Number
    )
