"""Whether a file is still what the warehouse gives: what differs between two provenances, in sentences."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from scalelens.report.provenance import Provenance, comparable, short_hash
from scalelens.version import __version__

MOST_NAMED = 3  # rows, columns and files in a sentence
Texts = list[str]


class Findings(NamedTuple):
    """What was found out about a file."""

    differences: Texts
    doubts: Texts  # what cannot be checked
    remarks: Texts  # what is worth knowing, and no difference
    is_identical: bool = False  # made again byte for byte

    @property
    def verdict(self) -> str:
        return "different" if self.differences else "cannot" if self.doubts else "same"


def compared(
    old: Provenance, new: Provenance, old_bytes: bytes, new_bytes: bytes, rows: Callable[[], pl.DataFrame]
) -> Findings:
    """A file and its provenance, against those of the same made again; `rows` gives those of the new one."""
    changes = _changed_definitions(old, new)
    if old["rows_sha256"] != new["rows_sha256"]:
        return Findings([*different_rows(old, rows()), *_different_inputs(old, new), *changes], [], [])
    differences = _different_inputs(old, new)
    if old_bytes == new_bytes or differences:
        return Findings(differences, [], changes, old_bytes == new_bytes)
    if changes:
        remark = "what is drawn or printed was not compared, because another version made it"
        return Findings([], [], [*changes, remark])
    if sorted(old_bytes.splitlines()) == sorted(new_bytes.splitlines()):
        return Findings([], [], ["its rows stand in another order: nothing in the query orders them"])
    return Findings([f"the rows are the same, and {_first_change(old_bytes, new_bytes)}"], [], [])


def _first_change(old: bytes, new: bytes) -> str:
    """Where a file differs from what is made again."""
    try:
        old_lines, new_lines = old.decode().splitlines(), new.decode().splitlines()
    except UnicodeDecodeError:
        return "the picture was changed after it was made"
    pairs = zip(old_lines, new_lines, strict=False)
    number = next((k for k, (was, now) in enumerate(pairs) if was != now), min(len(old_lines), len(new_lines)))
    return f"line {number + 1} of the file was changed after it was made"


def _changed_definitions(old: Provenance, new: Provenance) -> Texts:
    """Versions and definitions of queries that are not what they were."""
    sentences = []
    if old.get("scalelens") != __version__:
        sentences.append(f"it was made by scalelens {old.get('scalelens')}, and this is {__version__}")
    if old.get("renderer") != new.get("renderer"):
        sentences.append(f"it was drawn by {old.get('renderer')}, and this is {new.get('renderer')}")
    was, now = old.get("definitions", {}), new.get("definitions", {})
    names = sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))
    if names:
        sentences.append(f"the SQL of {_few(names)} is not what it was")
    elif old["sql"] != new["sql"]:
        sentences.append("the SQL that asks for the rows is not what it was")
    return sentences


def _different_inputs(old: Provenance, new: Provenance) -> Texts:
    """Files that the answer rests on now and did not then, and the other way round."""
    if old["inputs_sha256"] == new["inputs_sha256"]:
        return []
    was, now = old.get("inputs"), new.get("inputs")
    if was is None or now is None:
        return [f"it was made of {old['n_inputs']} files, and now of {new['n_inputs']} others"]
    changes = (("also rests on", now.keys() - was.keys(), now), ("no longer rests on", was.keys() - now.keys(), was))
    return [
        f"the answer {verb} {_few(sorted(names[file_id] or file_id[:12] for file_id in ids))}"
        for verb, ids, names in changes
        if ids
    ]


def different_rows(old: Provenance, rows: pl.DataFrame) -> Texts:
    """How many rows differ, in which columns, and which of those that are there now."""
    plain = comparable(rows)
    columns = {name: short_hash(*sorted(map(repr, plain[name].to_list()))) for name in plain.columns}
    names = [name for name in columns if old.get("columns", {}).get(name) != columns[name]]
    where = f", in {_few(names)}" if names and len(names) < len(columns) else ""
    if "row_hashes" not in old:
        return [f"the rows differ{where}: {old['rows']:,} then, {rows.height:,} now"]
    was: Counter[str] = Counter(old["row_hashes"])
    hashes = [short_hash(repr(row)) for row in plain.iter_rows()]
    new = [k for k, row_hash in enumerate(hashes) if row_hash not in was]
    counts = f"{len(new)} of {rows.height} rows differ" if rows.height == old["rows"] else (
        f"there are {rows.height} rows, and there were {old['rows']}; {len(new)} of them were not there"
    )  # fmt: skip
    which = f": {_few([_row_name(rows, k) for k in new], '; ')}" if new else ""
    return [f"{counts}{where}{which}"]


def _row_name(rows: pl.DataFrame, place: int) -> str:
    """What tells a row from the others: its first texts and whole numbers that are not the same everywhere."""
    kinds = rows.schema
    telling = [
        name
        for name in rows.columns
        if (kinds[name] == pl.String or kinds[name].is_integer())
        and rows[name].n_unique() > 1
        and rows[name][place] is not None
    ]
    return ", ".join(f"{name} {rows[name][place]}" for name in telling[:MOST_NAMED]) or f"row {place + 1}"


def _few(names: Texts, between: str = ", ") -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return between.join(names[:MOST_NAMED]) + more
