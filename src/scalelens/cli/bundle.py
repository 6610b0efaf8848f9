"""Put together what others need to make figures and tables again."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalelens.cli.anonymous import leaving
from scalelens.cli.options import WAREHOUSE, Anonymous, QueryFolders, WarehouseOption
from scalelens.cli.output import errors
from scalelens.errors import UserError

if TYPE_CHECKING:
    from scalelens.report.pseudonyms import Pseudonyms

PANEL = "Draw"
_ASKED = ("statement", "refined", "parameters", "settings", "numbers", "sql")  # of a provenance: may hold names
_Known = Mapping[str, tuple[bytes, dict[str, Any]]]  # contents and provenances of the files by name


def bundle(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the bundle.")],
    files: Annotated[list[Path], typer.Argument(help="Figures, tables, envelopes and files of numbers of the paper.")],
    warehouse: WarehouseOption = WAREHOUSE,
    folders: QueryFolders = None,
    anonymous: Anonymous = False,
) -> None:
    """Put together what others need to make figures and tables again, as an artifact evaluation asks.

    DIR gets the files, the part of the warehouse that they need, a manifest (versions, SQL, inputs with sha256), and
    make.sh, which makes each file again and compares it byte for byte.  The bundle is tried before it is written.

    Example:  scalelens bundle artifact scaling.pdf table.tex numbers.tex -w study
    """
    asked = tuple(folders or ())
    if folder.exists():
        raise UserError(f"{folder} already exists", "name a new folder")
    names = [path.name for path in files]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(f"two files have the name {twice[0]}", "rename one of them")
    known = {path.name: _checked(path, warehouse, asked) for path in files}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".bundle-") as place:
        made = Path(place, "bundle")
        (made / "expected").mkdir(parents=True)
        for own in asked:
            shutil.copytree(own, made / "queries", dirs_exist_ok=True)
        with leaving(warehouse, anonymous) as (root, told):
            if told:
                known = {name: _made_again(Path(name), said, root, told, asked) for name, (_, said) in known.items()}
            for name, (content, _) in known.items():
                (made / "expected" / name).write_bytes(content)
            _fill(made, root, known, asked)
        made.rename(folder)
    errors.print(f"{len(files)} files in {folder}      make them again: sh {folder}/make.sh", markup=False)


def _checked(path: Path, warehouse: Path, folders: tuple[Path, ...]) -> tuple[bytes, dict[str, Any]]:
    """A file and its provenance.  Raises UserError where it is not what the warehouse gives."""
    from scalelens.charts.load import load as charts
    from scalelens.report.provenance_in_files import provenance_of
    from scalelens.report.remaking import verified

    said = provenance_of(path)
    chart = charts().get(said.get("chart", ""))
    if chart and not chart.__name__.startswith("scalelens.charts."):
        raise UserError(f"{path} is drawn by your own chart, which a bundle cannot include", "leave it out")
    found = verified(path, warehouse, folders)
    if found.differences or not found.is_identical:
        reasons = [*found.differences, *found.doubts, *found.remarks]
        raise UserError(f"{path} does not match the warehouse: {reasons[0]}", "regenerate it first")
    for doubt in found.doubts:
        errors.print(f"{path}: {doubt}", markup=False)
    return path.read_bytes(), said


def _made_again(
    path: Path, said: dict[str, Any], root: Path, told: "Pseudonyms", folders: tuple[Path, ...]
) -> tuple[bytes, dict[str, Any]]:
    """A file of a warehouse with pseudonyms, and its provenance."""
    from scalelens.report.anonymous import anonymous
    from scalelens.report.provenance_in_files import provenance_in
    from scalelens.report.remaking import remade

    asked = {key: anonymous(value, told) if key in _ASKED else value for key, value in said.items()}
    content = remade(path, asked, root, folders).content
    return content, provenance_in(content, path)


def _fill(made: Path, warehouse: Path, known: _Known, folders: tuple[Path, ...]) -> None:
    """Adds the warehouse and the texts.  Other runs come along only where the files are not the same without them."""
    from scalelens.report.bundling import manifest, part_of_warehouse, tables_of, write_texts

    provenances = [said for _, said in known.values()]
    tables = tables_of((said["sql"] for said in provenances), folders)
    listed = all("inputs" in said for said in provenances)
    contents = {file_id for said in provenances for file_id in said.get("inputs", {})}
    for chosen in [contents, None] if listed else [None]:
        part_of_warehouse(warehouse, made / "warehouse", tables, chosen)
        if _same_from(made, known, folders):
            write_texts(made, manifest(warehouse, known), bool(folders), chosen is None)
            return
        shutil.rmtree(made / "warehouse")
    raise UserError("copying the bundle did not reproduce its files byte for byte", "report this as a defect")


def _same_from(made: Path, known: _Known, folders: tuple[Path, ...]) -> bool:
    """Whether each file comes out byte for byte the same from the bundle's warehouse."""
    from scalelens.report.remaking import remade

    try:
        return all(
            remade(made / "expected" / name, said, made / "warehouse", folders).content == content
            for name, (content, said) in known.items()
        )
    except UserError:
        return False
