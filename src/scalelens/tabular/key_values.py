"""Lines of names and values: `2026-01-02T03:04:05 gpu=0 power_w=250.3 util=98`."""

from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import Source
from scalelens.tabular.cells import TableRecord, head_lines, lines_of

_TIME = re.compile(
    r"\s*[\[(]?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d{10}(?:\.\d{1,9})?)[\])]?"
    r"[\s,:|-]{1,5}(?:\[?(?:INFO|DEBUG)\]?[\s:|-]{1,5})?"
)
_PAIR = re.compile(r"([A-Za-z_][\w.%/\[\]()-]{0,60})=(\"[^\"]{0,200}\"|[^\s,;|\"]{1,200})(?:[\s,;|]+|\Z)")
_FEWEST = 2  # pairs of a line
_PROOF = 3  # lines that show that all are such
_LONGEST = 4000  # characters of a line


def pairs_of(text: str) -> dict[str, str] | None:
    """The values of a line by their names, its time under `time`; None where anything else stands in it."""
    if len(text) > _LONGEST or text.count("=") < _FEWEST:
        return None
    time = _TIME.match(text)
    at = time.end() if time else len(text) - len(text.lstrip())
    values = {"time": time[1]} if time else dict[str, str]()
    while at < len(text):
        match = _PAIR.match(text, at)
        if match is None or match[1] in values:
            return None
        values[match[1]] = match[2].strip('"')
        at = match.end()
    return values


def key_names(head: bytes) -> tuple[str, ...]:
    """The names in the first lines of a file, where each line is one of names and values; else nothing."""
    names: dict[str, None] = {}
    for count, line in enumerate(line for line in head_lines(head) if line[0] != "#"):
        values = pairs_of(line)
        if values is None or count == _PROOF:
            return tuple(names) if count == _PROOF else ()
        names |= dict.fromkeys(values)
    return ()


def key_records(source: Source) -> Iterator[TableRecord]:
    """The lines of such a file."""
    for line, text, whole in lines_of(source):
        values = pairs_of(text) if text[0] != "#" else {}
        if values is None or not whole:
            yield TableRecord(line, {}, "the line is cut, or is not one of names and values", text)
        elif values:
            yield TableRecord(line, values, None, "")
