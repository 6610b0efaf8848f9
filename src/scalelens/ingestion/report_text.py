"""The result of an ingest, as one line for a prompt and as tables for a notebook.

Paths and notes come from untrusted files: they are escaped, and their control characters are visible.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from scalelens.inert import visible
from scalelens.warehouse.records import Entry

_LISTED = 200  # entries of one list in a notebook; a line gives the number of the others


def one_line(entries: Sequence[Entry], unchanged: int, faults: int) -> str:
    """How many files of each status and how many rows, such as `IngestReport(2 ok, 0 unchanged, 40 rows)`."""
    statuses = [f"{count} {status}" for status, count in sorted(Counter(entry.status for entry in entries).items())]
    words = [*statuses, f"{unchanged} unchanged", f"{sum(entry.rows for entry in entries)} rows"]
    words += [f"{faults} faults"] if faults else []
    return f"IngestReport({', '.join(words)})"


def page(entries: Sequence[Entry], headline: str, faults: Sequence[str]) -> str:
    """HTML: rows by format, then the files that were not read in full with the reason, then what else is wrong."""
    not_read = [(entry.path, entry.status, entry.note or "") for entry in entries if _is_doubtful(entry)]
    parts = [f"<p><b>{_safe(headline)}</b></p>"]
    parts += _table("Read", ("format", "files", "rows", "problems"), by_format(entries))
    parts += _table("Not read in full", ("file", "status", "why"), not_read)
    parts += _table("Faults", ("what",), [(fault,) for fault in faults])
    return "".join(parts)


def _is_doubtful(entry: Entry) -> bool:
    """Whether a file was not read, or has lines that were not understood."""
    return entry.status != "ok" or entry.problems > 0


def by_format(entries: Iterable[Entry]) -> list[tuple[str, int, int, int]]:
    """Files, rows and problems of each format, the one with most rows first."""
    tallies: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for entry in entries:
        for name in entry.formats:
            tally = tallies[name]
            tally[0] += 1
            tally[1] += entry.rows_by_format.get(name, 0)
            tally[2] += entry.problems_by_format.get(name, 0)
    rows = [(name, files, rows, problems) for name, (files, rows, problems) in tallies.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """An HTML table, or nothing where there are no rows."""
    if not rows:
        return []
    head = "".join(f"<th>{_safe(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_safe(str(value))}</td>" for value in row) + "</tr>" for row in rows[:_LISTED]
    )
    more = f"<p>and {len(rows) - _LISTED} more</p>" if len(rows) > _LISTED else ""
    return [f"<p>{_safe(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"]


def _safe(text: str) -> str:
    """A text that HTML shows as it is."""
    from html import escape  # with a table of all entities, which no other step of an ingest needs

    return escape(visible(text))
