"""What two provenances of a file say differently, in sentences: definitions, files, rows."""

import re
from collections import Counter
from collections.abc import Mapping

import polars as pl

from scalelens.catalog import cells_of
from scalelens.question.provenance import Provenance, comparable, short_hash
from scalelens.version import __version__

_MOST_NAMED = 3  # rows, columns and files in a sentence
_Texts = list[str]


def changed_definitions(old: Provenance, new: Provenance) -> _Texts:
    """Versions and definitions of queries that have changed."""
    sentences = []
    if old.get("scalelens") != __version__:
        sentences.append(f"it was made by scalelens {old.get('scalelens')}, and this is {__version__}")
    if old.get("renderer") != new.get("renderer"):
        sentences.append(f"it was drawn by {old.get('renderer')}, and this is {new.get('renderer')}")
    was, now = old.get("definitions", {}), new.get("definitions", {})
    names = sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))
    if names:
        sentences.append(f"the SQL of {few(names)} has changed")
    elif old.get("sql") != new["sql"]:
        sentences.append("the SQL of the rows has changed")
    return sentences


def known_changes(old: Provenance) -> _Texts:
    """What queries of a file are known to answer otherwise since its version: catalog/changed_answers.csv."""
    known = [
        (row, sorted(old.get("definitions", {}).keys() & row["queries"].split()))
        for row in cells_of("changed_answers.csv")
        if _version(row["version"]) > _version(old.get("scalelens", ""))
    ]
    return [
        f"since {row['version']}, in {few(names)}: {row['change'].removesuffix('.')}" for row, names in known if names
    ]


def _version(text: object) -> tuple[int, ...]:
    """Numbers of a version, in the order of versions; none before all others."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", str(text))[:3])


def different_inputs(old: Provenance, new: Provenance, inputs: Mapping[str, str]) -> _Texts:
    """Files that only the new answer depends on, and files that only the old one did.  `inputs` are all new ones."""
    hashes = [(side.get("inputs_sha256"), side.get("n_inputs")) for side in (old, new)]
    was = old.get("inputs")
    if was is None:
        is_same = hashes[0] == hashes[1]
        return [] if is_same else [f"it was made of {old.get('n_inputs')} files, and now of {new['n_inputs']} others"]
    changes = (
        ("also rests on", inputs.keys() - was.keys(), inputs),
        ("no longer rests on", was.keys() - inputs.keys(), was),
    )
    found = [
        f"the answer {verb} {few(sorted(names[file_id] or file_id[:12] for file_id in ids))}"
        for verb, ids, names in changes
        if ids
    ]
    return found or ([] if hashes[0] == hashes[1] else ["its list of files and the hash of that list disagree"])


def different_rows(old: Provenance, rows: pl.DataFrame) -> _Texts:
    """How many rows differ, in which columns, and which of the new rows these are."""
    plain = comparable(rows)
    columns = {name: short_hash(*sorted(map(repr, plain[name].to_list()))) for name in plain.columns}
    names = [name for name in columns if old.get("columns", {}).get(name) != columns[name]]
    where = f", in {few(names)}" if names and len(names) < len(columns) else ""
    if "row_hashes" not in old:
        return [f"the rows differ{where}: {old.get('rows', 0):,} then, {rows.height:,} now"]
    was: Counter[str] = Counter(old["row_hashes"])
    hashes = [short_hash(repr(row)) for row in plain.iter_rows()]
    new = [k for k, row_hash in enumerate(hashes) if row_hash not in was]
    counts = f"{len(new)} of {rows.height} rows differ" if rows.height == old.get("rows") else (
        f"there are {rows.height} rows, and there were {old.get('rows')}; {len(new)} of them were not there"
    )  # fmt: skip
    which = f": {few([_row_name(rows, k) for k in new], '; ')}" if new else ""
    return [f"{counts}{where}{which}"]


def _row_name(rows: pl.DataFrame, index: int) -> str:
    """What distinguishes a row: its first texts and integers from columns that are not constant."""
    kinds = rows.schema
    telling = [
        name
        for name in rows.columns
        if (kinds[name] == pl.String or kinds[name].is_integer())
        and rows[name].n_unique() > 1
        and rows[name][index] is not None
    ]
    return ", ".join(f"{name} {rows[name][index]}" for name in telling[:_MOST_NAMED]) or f"row {index + 1}"


def few(names: _Texts, between: str = ", ") -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return between.join(names[:_MOST_NAMED]) + more
