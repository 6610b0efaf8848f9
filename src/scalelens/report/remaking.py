"""A figure, a table or a file of numbers made again from what it says of itself."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scalelens.errors import UserError
from scalelens.question.question import question_in
from scalelens.report.bundling import tables_of
from scalelens.report.written import write
from scalelens.tables import STORED
from scalelens.warehouse.check import damages_of
from scalelens.whole_files import write_file

if TYPE_CHECKING:
    import polars as pl

    from scalelens.report.verification import Verification

_HIDES_NAMES = re.compile(r"\bquery(?:_table)?\b\s*\(", re.IGNORECASE)


class _Remade(NamedTuple):
    content: bytes
    provenance: Mapping[str, Any]
    inputs: Mapping[str, str]  # all of them, by id; a provenance lists few
    rows: "pl.DataFrame"


def remade(path: Path, said: Mapping[str, Any], root: Path, folders: tuple[Path, ...] = ()) -> _Remade:
    """What `path` would hold if it were made now; `said` is its provenance.

    Raises UserError where it cannot be made again.
    """
    if said.get("unsafe"):
        raise UserError("it was made with --unsafe, so it may depend on files that are not recorded", "ask without")
    try:
        if "chart" in said:
            return _figure(path, said, root, folders)
        if "numbers" in said:
            return _numbers(said, root, folders)
        question, width = question_in(said), str(said.get("width", ""))
        text, answer, provenance = write(root, question, said["format"], bool(said.get("glance")), folders, width)
        return _Remade(text.encode(), provenance, answer.inputs, answer.frame)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"its provenance record is damaged ({error!r})", "make the file again") from None


def _figure(path: Path, said: Mapping[str, Any], root: Path, folders: tuple[Path, ...]) -> _Remade:
    from scalelens.charts.own import Marks
    from scalelens.report.plotting import OWN_SQL, plot, plot_sql

    parameters, settings = dict(said["parameters"]), dict(said["settings"])
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder, f"again{path.suffix}")
        if said["chart"] == OWN_SQL:
            made = plot_sql(root, said["sql"], Marks(**parameters), again, settings, folders)
        else:
            made = plot(root, said["chart"], again, parameters, settings, folders)
        return _Remade(again.read_bytes(), made.provenance, made.inputs, made.rows)


def _numbers(said: Mapping[str, Any], root: Path, folders: tuple[Path, ...]) -> _Remade:
    from scalelens.report.number_macros import numbers_text

    text, made, inputs, rows = numbers_text(root, dict(said["numbers"]), folders)
    return _Remade(text.encode(), made, inputs, rows)


def _tables(statement: str, folders: tuple[Path, ...]) -> set[str]:
    """Stored tables that a statement reads; all where it may put a name together."""
    return {*STORED} if _HIDES_NAMES.search(statement) else tables_of([statement], folders)


def verified(
    path: Path, root: Path, folders: tuple[Path, ...] = (), sources: bool = True, copies: Path | None = None
) -> "Verification":
    """Makes a file again and compares; with `sources`, hashes the files that it rests on, too.

    What was made again is kept in the folder `copies`.  Raises UserError where the file cannot be read.
    """
    from scalelens.report.input_faults import faults_of
    from scalelens.report.provenance_in_files import content_of, provenance_in
    from scalelens.report.verification import Verification, compared

    content = content_of(path)
    said = provenance_in(content, path)
    damages: list[str] = []
    try:
        made = remade(path, said, root, folders)
        damages = damages_of(root, _tables(str(made.provenance["sql"]), folders))
        if copies:
            copies.mkdir(parents=True, exist_ok=True)
            write_file(copies / path.name, made.content)
        found = compared(said, content if "chart" in said else content.replace(b"\r\n", b"\n"), made)
        inputs = {**said.get("inputs", {}), **made.inputs}
    except UserError as error:
        found, inputs = Verification([], [f"it cannot be made again: {error}"], []), said.get("inputs", {})
    found.doubts.extend(damages)
    faults = faults_of(root, inputs) if sources else []
    found.doubts.extend(fault.sentence for fault in faults if fault.is_gone)
    found.differences.extend(fault.sentence for fault in faults if not fault.is_gone)
    if not sources:
        found.remarks.append("the logs were not looked at")
    elif found.verdict in ("same", "values"):
        found.remarks.append(f"all {len(inputs)} files are unchanged since they were read")
    return found
