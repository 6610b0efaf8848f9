"""A figure, a table or a file of numbers made again from what it says of itself."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scalelens.errors import UserError
from scalelens.question.question import question_in
from scalelens.report.written import write

if TYPE_CHECKING:
    import polars as pl

    from scalelens.report.verification import Verification


class _Remade(NamedTuple):
    content: bytes
    provenance: Mapping[str, Any]
    rows: Callable[[], "pl.DataFrame"]


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
        text, answer, provenance = write(root, question_in(said), said["format"], bool(said.get("glance")), folders)
        return _Remade(text.encode(), provenance, lambda: answer.frame)
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
        return _Remade(again.read_bytes(), made.provenance, lambda: made.rows)


def _numbers(said: Mapping[str, Any], root: Path, folders: tuple[Path, ...]) -> _Remade:
    from scalelens.report.number_macros import numbers_text

    text, made, rows = numbers_text(root, dict(said["numbers"]), folders)
    return _Remade(text.encode(), made, lambda: rows)


def verified(
    path: Path, root: Path, folders: tuple[Path, ...] = (), sources: bool = True, copies: Path | None = None
) -> "Verification":
    """Makes a file again and compares; with `sources`, hashes the files that it rests on, too.

    What was made again is kept in the folder `copies`.  Raises UserError where the file cannot be read.
    """
    from scalelens.report.input_faults import faults_of
    from scalelens.report.provenance_in_files import provenance_of
    from scalelens.report.verification import Verification, compared

    said = provenance_of(path)
    try:
        made = remade(path, said, root, folders)
        if copies:
            copies.mkdir(parents=True, exist_ok=True)
            (copies / path.name).write_bytes(made.content)
        content = path.read_bytes() if "chart" in said else path.read_bytes().replace(b"\r\n", b"\n")
        found = compared(said, made.provenance, content, made.content, made.rows)
        inputs = said.get("inputs") or (
            made.provenance.get("inputs", {}) if said["inputs_sha256"] == made.provenance["inputs_sha256"] else {}
        )
    except UserError as error:
        found, inputs = Verification([], [f"it cannot be made again: {error}"], []), said.get("inputs", {})
    faults = faults_of(root, inputs) if sources else []
    if not sources:
        found.remarks.append("the logs were not looked at")
    elif not faults and found.verdict == "same":
        found.remarks.append(f"all {said['n_inputs']} files hold the bytes that were read")
    found.doubts.extend(fault.sentence for fault in faults if fault.is_gone)
    found.differences.extend(fault.sentence for fault in faults if not fault.is_gone)
    return found
