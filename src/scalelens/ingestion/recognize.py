"""Finds out what a file is and reads its rows by a file format or by line formats, or says why neither can.

File formats are tried first, with the file's first bytes.  Then each line is offered to the line formats.  If none
takes anything, the formats with `LAST` are tried.  A log whose training lines no format took is read a second time, for
those lines alone.  The status and the note of a file are decided here.
"""

from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import IO, Any

from scalelens.errors import UserError
from scalelens.ingestion.formats import Formats
from scalelens.parsing import lazy_re as re
from scalelens.parsing.archive_names import is_archive
from scalelens.parsing.csv_dialects import dialect_of
from scalelens.parsing.dispatch import LineDispatcher
from scalelens.parsing.format_file import defect, name_of
from scalelens.parsing.json_logs import unwrapping
from scalelens.parsing.launcher_folders import rank_file
from scalelens.parsing.launcher_prefixes import label_of_all
from scalelens.parsing.recurring_lines import Recurring, RecurringLines
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import COMPRESSED, HEAD, Source, encoding_of
from scalelens.parsing.sqlite_file import MAGIC, fault_of, schema_of
from scalelens.tabular.markdown import study_in
from scalelens.tabular.roles import in_words
from scalelens.tabular.unpowered import lacking_power

_DOCUMENT_SUFFIXES = (
    ".md", ".rst", ".html", ".htm", ".pdf", ".tex", ".py", ".ipynb", ".sh", ".c", ".cc", ".cpp", ".cu", ".h", ".js",
    ".patch", ".diff", ".xml",
)  # fmt: skip
_MLFLOW_VALUE = re.compile(r"/[0-9a-f]{32}/(?:params|tags)/")
_MLPERF_REVIEW = re.compile(r"[/!]results/[^/]+/(?:(?:strong|weak)/)?[^/]+/(?:compliance_[^/]*\.out|scaling\.json)\Z")
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_OF_BARS, _OF_MEANS, _OF_TABLES, _OF_ENDS = "generic_lines", "stated_means", "column_lines", "job_end"
_RECURS = 10  # lines that differ in their numbers alone
_CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\b\x1b"})  # bytes that no log prints
_UNREAD = (  # first bytes of files that are known and not read, with the reason
    (MAGIC, "an SQLite database of an unknown tool; export its content as CSV"),
    (b":W&B", "W&B's own record of a run, of a version that is not known; export its history as CSV or JSON lines"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive, which is not read; unpack it (7z x FILE) and ingest the folder"),
    (b"Rar!\x1a\7", "a RAR archive, which is not read; unpack it (unrar x FILE) and ingest the folder"),
    (b"PAR1", "a Parquet file of no known tool, which is not read"),
    (b"ARROW1", "an Arrow file, which is not read; of Nsight Systems export SQLite (nsys export --type sqlite)"),
    (b"\0\5\x16\7", "metadata that macOS keeps next to a file, without the file itself"),
)
_UNREAD_NAMES = {  # ends of names of binary files that are known and not read, with the reason
    (".nsys-rep", ".qdrep"): "a recording of Nsight Systems; export it first (nsys export --type sqlite FILE)",
    (".ncu-rep",): "a recording of Nsight Compute; print it first (ncu --import FILE --csv --page details)",
    (".pftrace", "perfetto-trace", ".proto"): "a trace of Perfetto; let the tool write CSV too (rocprofv3 "
    "--output-format csv), or convert it (traceconv json FILE trace.json)",
}
_ARCHIVE_WITHIN = "an archive within an archive, which is not read; unpack the outer one and ingest the folder"
_EXECUTION_TRACE = re.compile(rb'\s*\{\s*"schema"\s*:\s*"[\w.-]+"\s*,\s*"pid"\s*:.*?"nodes"\s*:\s*\[', re.DOTALL)
_LFS_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?size (\d{1,18})\s*\Z")
_LINK = re.compile(rb"(?:\.\./)+[\w./+-]{1,1000}")
TEXT_BLOCK = 4 << 20  # bytes of a text that are read at once: records of one form are taken by columns
COLUMNS_NOTE = "columns: "  # begins the part of a note that says what the columns of a table are read as


def read_rows(source: Source, formats: Formats, rows: Rows, documents: bool = False) -> tuple[str, str | None]:
    """Reads the rows of one file.  Returns its status, and a note where there is something to say.

    With `documents`, documents and source code are read as if they were logs.
    """
    rows.path = source.path
    if of_rank := rank_file(source.path):
        rows.place = of_rank.place
    rows.text.of_file(source.size_bytes, source.path.lower().endswith(COMPRESSED))
    head = source.head()
    if (not head or head.isspace()) and len(head) < HEAD:
        return ("empty", None) if source.damage is None else ("unknown", source.damage)
    text = source.text_head()
    if note := stand_in(text):
        return "unknown", note
    source.unwrap = unwrapping(text)
    if source.unwrap:
        head = text = source.text_head()
    if text.startswith(MAGIC):
        text += schema_of(source)
    dialect = None if source.unwrap else dialect_of(text)
    if dialect and dialect.has_decimal_commas:
        source.unwrap = dialect.plain
        text = source.text_head()
    for format in _owners(formats.may_own(text), text, source.name):
        return _read_by_file_format(format, source, rows, formats)
    if dialect and not dialect.has_decimal_commas:
        source.unwrap = dialect.plain
        plain = source.text_head()
        for format in _owners(formats.may_own(plain), plain, source.name):
            return _read_by_file_format(format, source, rows, formats)
        source.unwrap = None
    if status_and_reason := why_passed_over(head, source, documents):
        return status_and_reason
    dispatcher = LineDispatcher(formats.of_lines, rows)
    dispatcher.read(source.utf8(TEXT_BLOCK))
    has_settings, is_taken = bool(rows.taken), bool(rows.taken.keys() - formats.of_settings)
    if source.unwrap is None and (label := label_of_all(text)):  # what is not read line by line takes none off
        source.unwrap, rows.rank, rows.place = label.taken_off, label.rank, label.location or rows.place
        text = text if is_taken else source.text_head()
    status, note = (
        _read_as_table(formats, text, source, rows)
        if is_taken
        else (_read_by_last_formats(formats.owning, text, source, rows))
    )
    if status != "unknown":
        if has_settings:
            dispatcher.conclude()
        return status, note
    unread = _read_training_lines(formats.second, source, rows, dispatcher.recurring)
    dispatcher.conclude()
    if rows.taken.keys() - formats.of_settings:
        return _finished(source, rows, unread)
    if not rows.mapping and (lacking := lacking_power(text)):
        return "unknown", lacking
    read = _finished(source, rows)[1] if note is None else note
    return "unknown", "; ".join(
        filter(None, (read, unread))
    ) or "settings alone, without a training that they belong to"


def _read_training_lines(
    formats: list[ModuleType], source: Source, rows: Rows, recurring: RecurringLines
) -> str | None:
    """Reads a log a second time, for training lines that no format took.  Returns a note on those that stay unread.

    It is not read again where another format gave steps, nor where no lines count upwards or time a step.
    """
    rows.flush()
    lacking: str | None = None
    counted = any(part.rows.get("steps") for part in rows.parts.values())
    rows.times_are_lacking = counted and rows.timed_steps is None
    recurs = recurring.counts_up or recurring.times_steps
    if (recurs or recurring.states_means) and (not counted or rows.times_are_lacking):
        for format in formats:
            rows.format = name_of(format)
            if counted and rows.format != _OF_BARS:  # a bar beside steps may have their times
                continue
            if not recurs and rows.format != _OF_MEANS:
                continue
            lacks = _read_by_last_format(format, source, rows)
            if lacks is None and rows.format != _OF_MEANS:  # where lines of steps are not read either, that is said
                return None
            lacking = lacks or lacking
    return "; ".join(filter(None, (lacking, _report_training(recurring, rows)))) or None


def _read_by_file_format(format: Any, source: Source, rows: Rows, formats: Formats) -> tuple[str, str | None]:
    """Reads a file by the format that recognized it, and by line formats what a run printed into it."""
    rows.format = name_of(format)
    rows.taken[rows.format] = 1
    note = None
    try:
        note = format.read(source, rows)
    except (OSError, MemoryError, UserError):
        raise
    except Exception as error:
        rows.problem(None, defect(rows.format, error))
    if rows.printed:
        _read_printed(rows.printed, formats, rows)
    return _finished(source, rows, note)


def _read_printed(printed: IO[bytes], formats: Formats, rows: Rows) -> None:
    """Reads lines of a log within a file as another part of it; `line` counts these lines there."""
    rows.new_part()
    dispatcher = LineDispatcher(formats.of_lines, rows)
    printed.seek(0)
    dispatcher.read(iter(lambda: printed.read(TEXT_BLOCK), b""))
    printed.close()
    rows.flush()
    dispatcher.conclude()


def why_passed_over(head: bytes, source: Source, documents: bool) -> tuple[str, str] | None:
    """Status and reason of a file whose lines are not read; None for a text that may be a log."""
    if "!" in source.path and is_archive(source.path):
        return "unknown", _ARCHIVE_WITHIN
    if head.startswith(MAGIC) and (fault := fault_of(source)):
        return (
            "unknown",
            f"an SQLite database that is cut or damaged ({fault}); copy it again, or export its content as CSV",
        )
    for magic, reason in _UNREAD:
        if head.startswith(magic):
            return "unknown", reason
    if _is_binary(head):
        name = source.name.lower()
        reasons = (reason for ends, reason in _UNREAD_NAMES.items() if name.endswith(ends))
        return "unknown", next(reasons, "not text, and not a known file format")
    if _MLFLOW_VALUE.search(source.path):
        return "document", "a value of an MLflow run; its parameters are read with meta.yaml"
    if not documents and _MLPERF_REVIEW.search(source.path):
        return (
            "document",
            "a report of MLPerf's review, not a log; --documents reads it as a log",
        )
    name, text = source.name.lower(), source.text_head()
    is_document = name.endswith(_DOCUMENT_SUFFIXES) or (name.startswith("readme") and not _is_log(text))
    if not documents and (is_document or text.lstrip()[:9].lower() in (b"<!doctype", b"<html>")):
        if name.endswith(".md") and (columns := study_in(text)):
            return "document", f"a document with a table of {columns}; --documents reads documents, too"
        return "document", "a document or source code, not a log; --documents reads it as a log"
    return None


def _is_log(head: bytes) -> bool:
    """Whether most lines of a text recur with other numbers, as those of a log do and sentences do not."""
    lines = [_NUMBER.sub(b"#", line) for line in head.splitlines() if line.strip()]
    recurring = sum(count for line, count in Counter(lines).items() if b"#" in line and count >= _RECURS)
    return 2 * recurring > len(lines)


def _read_as_table(formats: Formats, head: bytes, source: Source, rows: Rows) -> tuple[str, str | None]:
    """Reads the table of the log of a job that failed, where no format took more than how it ended."""
    if rows.taken.keys() - formats.of_settings != {_OF_ENDS}:
        return "unknown", None
    tables = [format for format in formats.owning if name_of(format) == _OF_TABLES]
    read = _read_by_last_formats(tables, head, source, rows)
    rows.of_lines = True
    return read


def _read_by_last_formats(last: list[ModuleType], head: bytes, source: Source, rows: Rows) -> tuple[str, str | None]:
    """Reads a file of which no other format took anything.  If none of these takes it, the note says what it lacks."""
    lacking: str | None = None
    rows.of_lines = False
    for format in _owners(last, head, source.name):
        rows.format = name_of(format)
        lacks = _read_by_last_format(format, source, rows)
        if lacks is None:
            return _finished(source, rows)
        lacking = lacking or lacks
    return "unknown", lacking


def _read_by_last_format(format: Any, source: Source, rows: Rows) -> str | None:
    """Reads a file by one of these formats.  Returns what the file lacks where the format does not take it.

    That may be an empty text: there is nothing to report.
    """
    try:
        lacking: str | None = format.read(source, rows)
    except (OSError, MemoryError, UserError):
        raise
    except Exception as error:
        lacking = None
        rows.problem(None, defect(name_of(format), error))
    if lacking is None:
        rows.taken[name_of(format)] = 1
    return lacking


def _report_training(recurring: RecurringLines, rows: Rows) -> str | None:
    """Adds a problem for each pattern of lines that look like training and that no format took; returns a note.

    Where other lines gave steps with a time or a rate, such a pattern may be a second view of the same steps.  Then it
    counts only where its lines are apart from theirs, as those of another job in the same file are.
    """
    rows.flush()  # now, because the lines of timed steps are known when the rows are handed over
    rows.format = None
    patterns = [pattern for pattern in recurring.training() if _is_apart(pattern, rows.timed_steps)]
    for pattern in patterns:
        count = f"{'at least ' if recurring.sampled else ''}{pattern.lines:,}"
        rows.problem(
            pattern.first,
            f"{count} lines like this one, up to line {pattern.last}, look like training, and no format reads them; "
            "a format file in a folder of yours can (--formats)",
            pattern.example,
        )
    if not patterns:
        return None
    lines = f"{'at least ' if recurring.sampled else ''}{sum(pattern.lines for pattern in patterns):,}"
    return f"{lines} lines look like training and are not read, such as line {patterns[0].first}"


def _is_apart(pattern: Recurring, timed_steps: tuple[int, int] | None) -> bool:
    """Whether no timed step stands among the lines of a pattern."""
    if timed_steps is None:
        return True
    first, last = timed_steps
    return pattern.by_word and (pattern.last < first or pattern.first > last)


def _is_binary(head: bytes) -> bool:
    """Whether bytes are not text.  A node that crashed leaves a hole of zeros in a log, which is still text."""
    if b"\0" not in head or encoding_of(head)[0]:
        return False
    letters = head.translate(None, b"\0")
    return len(letters.translate(None, _CONTROLS)) < len(letters) * 0.98


def _owners(formats: list[ModuleType], head: bytes, name: str) -> Iterator[ModuleType]:
    """The file formats that recognize a file."""
    for format in formats:
        try:
            takes = format.recognise(head, name)
        except Exception:  # a user's format must not stop an ingest; `identify` shows that it does not take the file
            takes = False
        if takes:
            yield format


def stand_in(head: bytes) -> str | None:
    """A note on a file that stands for another one, and what to read instead; None for other files."""
    if pointer := _LFS_POINTER.match(head):
        return f"a pointer of git-LFS, not the file itself ({int(pointer[1]):,} bytes): git lfs pull fetches it"
    if link := _LINK.fullmatch(head):
        return f"a symbolic link that was copied as text, to {link[0].decode('utf-8', 'replace')}"
    if _EXECUTION_TRACE.match(head):
        return "an execution trace of PyTorch, operators without times; ingest the trace of the profiler beside it"
    return None


def _finished(source: Source, rows: Rows, note: str | None = None) -> tuple[str, str | None]:
    """Status and note of a file that was read to its end.  `note` is what its format says."""
    rows.flush()  # now, because values that no column can hold become problems
    rows.format = None
    if source.damage:
        rows.problem(None, source.damage)
    if not rows.taken:
        return "unknown", source.damage or "no known format in it"
    columns = COLUMNS_NOTE + in_words(rows.assigned) if rows.assigned else None
    whole_note = "; ".join(filter(None, (source.damage, note, columns))) or None
    return ("partial" if rows.problems_by_format else "ok"), whole_note
