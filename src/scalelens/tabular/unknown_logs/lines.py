"""Lines of a log, read a second time: without ANSI codes, carriage returns and the prefixes of launchers.

A time before a line in the form of Python's `str(datetime.now())` is the program's own, even if `ts` may have put it
there: it stays.  So does one in the form of containers (`2025-03-01T10:00:00.420Z`), or of syslog (`Mar  1 10:00:00`),
where the line has no other.
"""

from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line, end_of_whole_lines, is_json
from scalelens.parsing.known_lines import with_names
from scalelens.parsing.launcher_prefixes import ANSI, CURSOR_UP, MPI_TAG, SRUN_CUT, joined_again, pieces, without_prefix
from scalelens.parsing.other_languages import in_english
from scalelens.parsing.progress_bars import CutBars
from scalelens.parsing.recurring_lines import FINDER
from scalelens.parsing.source import Source
from scalelens.tabular.unknown_logs.bars import divided
from scalelens.tabular.unknown_logs.clock import is_stamp_alone, stamp_in
from scalelens.tabular.unknown_logs.decimal_commas import with_points
from scalelens.tabular.unknown_logs.json_in_lines import is_record

NAMERS: WeakKeyDictionary[Source, Callable[[str], str]] = WeakKeyDictionary()  # of counts that no word names
_LONGEST_STAMP = 40  # bytes of a line that may be a stamp alone
_JOINED_RANK = re.compile(r"^(rank|gpu)(\d{1,4})(?= [a-z])", re.IGNORECASE)  # `rank0 step 12, loss 2.1`
_PADDED, _IN_BRACKETS = re.compile(r"\[ {1,5}\d{1,5}\] "), re.compile(r"\[\d{1,6}\] ")  # `[ 3] ep=30`, `[13] ep=130`
_OWN_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} ")
_SYSLOG_TIME = re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ")
_CONTAINER_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d) ")


def log_lines(source: Source, other: Callable[[bytes], None] | None = None) -> Iterator[tuple[Line, bool]]:
    """Lines, and pieces of lines, that hold a word of training, with whether each is whole: the last one may be cut.

    `other` is called with each line that holds none.
    """
    stamp = ""  # of the line before, which held nothing else
    points, named, cut = with_points(source), NAMERS.get(source), CutBars()
    padded = False  # whether a number that is padded stood in brackets at the beginning of a line: it counts no rank
    for number, raw, whole in _raw_lines(source):
        cut_bar = b"%|" in raw and b"<" in raw  # whose unit may be missing
        if next(iter(FINDER.find_matches_as_indexes(raw)), None) is None and not cut_bar:
            if other:
                other(raw)
            text = raw.decode("utf-8", "replace").strip() if len(raw) <= _LONGEST_STAMP and b":" in raw else ""
            stamp = f"{text} " if text and is_stamp_alone(text) else stamp if not raw.strip() else ""
            continue
        rank: int | None = None
        location: str | None = None
        if CURSOR_UP in raw:
            raw = raw.replace(CURSOR_UP, b"\r")
        parts = pieces(raw) if b"\r" in raw or MPI_TAG in raw else [raw]
        for k, piece in enumerate(parts):
            if not piece.strip():
                continue
            text = piece.decode("utf-8", "replace")
            if "\x1b" in text:
                text = ANSI.sub("", text)
            text = with_names(text)
            own_time = _OWN_TIME.match(text)
            container_time = _CONTAINER_TIME.match(text) or _SYSLOG_TIME.match(text)
            padded = padded or bool(_PADDED.match(text))
            counted = padded and _IN_BRACKETS.match(text)
            bare, own_rank, own_location = (text, None, None) if counted else without_prefix(text)
            text = bare if bare == text else with_names(bare)
            text = _JOINED_RANK.sub(r"\1 \2", text)
            if own_time:
                text = own_time[0] + text
            elif container_time and not stamp_in(text):
                text = container_time[0] + text
            elif stamp and not stamp_in(text):
                text = stamp + text
            text = _without_quotes(text)
            if _is_of_document(text.strip()):
                continue
            stamp = ""
            if k == 0 or own_rank is not None or own_location is not None:
                rank, location = own_rank, own_location
            if points:
                text = points(text)
            text = in_english(text)
            if named:
                text = named(text)
            text = cut.completed(text)
            texts = divided(text) if "/s" in text or "s/" in text else [text]
            for j, one in enumerate(texts):
                yield Line(one, number, rank, location), whole or (k + 1, j + 1) < (len(parts), len(texts))


def _without_quotes(text: str) -> str:
    """A line without the quotes around all of it, as where a shell or a table quoted each line of a log.

    The strings of a document are indented, end in a comma, or escape the end of their line.
    """
    quoted = text[:1] == '"' and text.rstrip()[-1:] == '"' and "\\" not in text and text.count('"') == 2
    return text.strip().strip('"') if quoted else text


def _is_of_document(text: str) -> bool:
    """Whether a line is of a JSON document, which may quote a log; an object that is a record itself is read."""
    return text[:1] in ('"', "{") and (text[0] == '"' or is_json(text)) and not is_record(text)


def _raw_lines(source: Source) -> Iterator[tuple[int, bytes, bool]]:
    """Lines as bytes with their numbers, and whether they have an end.  A very long one comes in several parts."""
    number, rest = 1, b""
    for block in source.utf8():
        text = rest + block
        end = end_of_whole_lines(text)
        rest = text[end:]
        for raw, lines in _split(text[:end]):
            yield number, raw, True
            number += lines
    for raw, lines in _split(rest):
        yield number, raw, lines > 0
        number += lines


def _split(text: bytes) -> Iterator[tuple[bytes, int]]:
    """Lines of a text, those joined again that `srun -l` cut, and how many line ends each has."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start)
        end = first_end = len(text) if end < 0 else end
        raw = text[start:end]
        if end - start > SRUN_CUT:
            raw, end = joined_again(text, start, end)
        yield raw, text.count(b"\n", first_end, end + 1)
        start = end + 1
