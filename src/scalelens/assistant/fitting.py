"""An answer that an assistant can read: at most 20,000 characters, and how to get the rest."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scalelens.report.envelopes import json_of

LONGEST = 20_000  # characters of an answer
DIGITS = 8  # of a number
_LONGEST_CELL = 1_000  # characters of one text
_LONGEST_LIST = 50
_SHORT_ID = 12  # of the hash of a file


def fitted_rows(content: Mapping[str, Any], rest: Mapping[str, Any], first: int, room: int = LONGEST) -> dict[str, Any]:
    """The content of an answer with as many of its rows as there is room for.

    `content` is that of `report.envelopes.content_of`, `rest` the keys that follow it; `first` is the place of the
    first row among `rows_in_all`, which is None where nobody counted.
    """
    whole = _shortened({**content, **rest})
    n_rows, in_all = len(content["rows"]), rest["rows_in_all"]

    def with_rows(count: int) -> dict[str, Any]:
        part = _first_rows(whole, count)
        part["truncated"] = _truncated(first, count, n_rows, in_all)
        return part

    count = _most_that_fits(n_rows, lambda count: len(json_of(with_rows(count))) <= room)
    part = with_rows(count)
    if len(json_of(part)) > room:  # the columns alone are too many
        part = _without_meanings(part, room)
    return part


def _most_that_fits(most: int, fits: Callable[[int], bool]) -> int:
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _truncated(first: int, count: int, n_rows: int, in_all: int | None) -> dict[str, Any] | None:
    """What of the rows is not here, and how to get it; None where all are."""
    if count == n_rows and in_all is not None and first + count >= in_all:
        return None
    of = f"{in_all:,}" if in_all is not None else "more"
    shown = f"rows {first + 1} to {first + count}" if count else "no row"
    return {
        "shown": f"{shown} of {of}",
        "next_offset": first + count,
        "how": "call again with offset=next_offset; or ask for less: fewer columns, a condition (where, runs), a sort",
    }


def _first_rows(content: Mapping[str, Any], count: int) -> dict[str, Any]:
    """The same with its first rows, and the doubts, runs and files of these."""
    origins = content["from"][:count]
    used = {name for of_row in origins for name in of_row}
    runs = [(place, run) for place, run in enumerate(content["runs"]) if f"r{place}" in used]
    files = {int(name[1:].partition(":")[0]) for name in used if name.startswith("f")}
    files.update(place for _, run in runs for place in run["files"])
    new_file = {old: new for new, old in enumerate(sorted(files))}
    new_run = {f"r{old}": f"r{new}" for new, (old, _) in enumerate(runs)}
    doubts = ({**doubt, "rows": [place for place in doubt["rows"] if place < count]} for doubt in content["doubts"])
    return {
        **content,
        "rows": content["rows"][:count],
        "doubts": [doubt for doubt in doubts if doubt["rows"]],
        "from": [[_moved(name, new_run, new_file) for name in of_row] for of_row in origins],
        "runs": [{**run, "files": [new_file[place] for place in run["files"]]} for _, run in runs],
        "files": [content["files"][old] for old in sorted(files)],
    }  # fmt: skip


def _moved(name: str, new_run: Mapping[str, str], new_file: Mapping[int, int]) -> str:
    if not name.startswith("f"):
        return new_run.get(name, name)
    place, colon, line = name[1:].partition(":")
    return f"f{new_file[int(place)]}{colon}{line}"


def _shortened(content: Mapping[str, Any]) -> dict[str, Any]:
    """The same without what only programs need, and with long texts cut."""
    files = [{**file, "file_id": file["file_id"][:_SHORT_ID]} for file in content["files"]]
    rows = [[short(value) for value in row] for row in content["rows"]]
    doubts = [{**doubt, "untrusted_text": short(doubt["untrusted_text"])} for doubt in content["doubts"]]
    columns = [{key: value for key, value in column.items() if value is not None} for column in content["columns"]]
    return {**content, "files": files, "rows": rows, "doubts": doubts, "columns": columns}


def _without_meanings(content: Mapping[str, Any], room: int) -> dict[str, Any]:
    """The columns by name alone; then as many of them as there is room for."""
    columns = [{key: value for key, value in column.items() if key != "meaning"} for column in content["columns"]]
    bare = {**content, "columns": columns}
    fits = _most_that_fits(
        len(columns), lambda count: len(json_of({**bare, "columns": columns[:count]})) <= room - _LONGEST_CELL
    )
    if fits < len(columns):
        bare["rows"] = [row[:fits] for row in bare["rows"]]
        bare["columns"] = columns[:fits]
        bare["truncated"] = {
            "shown": f"{fits} of {len(columns)} columns",
            "next_offset": 0,
            "how": "name the columns that you need",
        }
    return bare  # fmt: skip


def short(value: Any) -> Any:
    """A text or a list that is not too long, with what is left out."""
    if isinstance(value, str) and len(value) > _LONGEST_CELL:
        return f"{value[:_LONGEST_CELL]}... [{len(value):,} characters in all]"
    if isinstance(value, list) and len(value) > _LONGEST_LIST:
        return [*map(short, value[:_LONGEST_LIST]), f"[{len(value):,} in all]"]
    if isinstance(value, list):
        return [*map(short, value)]
    if isinstance(value, dict):
        return {short(key): short(inner) for key, inner in list(value.items())[:_LONGEST_LIST]}
    return value


def fitted_text(key: str, text: str, start: int, rest: Mapping[str, Any]) -> dict[str, Any]:
    """An answer that is one text, from a character on."""
    part = text[start:]

    def with_text(count: int) -> dict[str, Any]:
        gone = None
        if count < len(part):
            end = start + count
            gone = {
                "shown": f"characters {start + 1} to {end} of {len(text):,}", "next_start": end,
                "how": "call again with start=next_start",
            }  # fmt: skip
        return {**rest, key: part[:count], "truncated": gone}

    return with_text(_most_that_fits(len(part), lambda count: len(json_of(with_text(count))) <= LONGEST))


def fitted_list(content: Mapping[str, Any], key: str, how: str) -> dict[str, Any]:
    """An answer with as many items of one list as there is room for; `how` says how to get the others."""
    items: Sequence[Any] = content[key]

    def with_items(count: int) -> dict[str, Any]:
        gone = {"shown": f"{count} of {len(items)} {key}", "how": how} if count < len(items) else None
        return {**content, key: items[:count], "truncated": gone}

    return with_items(_most_that_fits(len(items), lambda count: len(json_of(with_items(count))) <= LONGEST))
