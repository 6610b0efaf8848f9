"""Say what the paths of logs mean, and write it down as a sidecar."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scalelens.cli.options import OutputFormat, checked_zone, pairs
from scalelens.cli.output import Format, errors, show
from scalelens.errors import UserError
from scalelens.report.text.sentences import few_of

if TYPE_CHECKING:
    from scalelens.runs.sidecar import Sidecars

PANEL = "Read"
_SIDECAR_TEXT = """\
# Facts about the logs in this folder and below that the logs do not contain; `scalelens ingest` reads this file too.
# Paths are relative to this folder.  Of several scalelens.toml above a file the nearest wins, key by key.

# What the names of folders and files mean.  The first template that fits a file counts.
# {{name}} is any text within a name, {{name:int}} a whole number, * text that is not kept, ** any number of folders.
# Names that are columns of `runs` (system, precision, nodes, devices, model, ...) are facts, others are labels.
{templates}

# Files whose named parts are equal are one run.
{runs}

# Time zone of times that name none.
{tz}

# Facts about all files: columns of `runs`.  They win over what the logs say.
[facts]
{facts}

# Labels of all files, with names of your own: columns label_... of `runs`.  Runs with different labels are separate
# series in `scaling`.
[labels]
{labels}
"""


def label(
    folder: Annotated[Path, typer.Argument(help="Folder of the logs.", readable=False)],
    templates: Annotated[
        list[str] | None, typer.Option("--template", help="What the names of folders and files mean; repeatable.")
    ] = None,
    runs: Annotated[
        list[str] | None, typer.Option("--run", help="Template whose named parts identify a run; may be repeated.")
    ] = None,
    labels: Annotated[
        list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="Fact or label of all files.")
    ] = None,
    tz: Annotated[str | None, typer.Option(help="Time zone of times without one, such as Europe/Berlin.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written; write nothing.")] = False,
    force: Annotated[bool, typer.Option(help="Replace an existing scalelens.toml.")] = False,
    format: OutputFormat = None,
) -> None:
    """Say what the paths of logs mean, see what that means for each file, and write it down as scalelens.toml.

    Without options: show what existing scalelens.toml files say about each file.

    Examples:

    scalelens label --template '{system}/{precision}/n{nodes}' logs/ --dry-run

    scalelens label --label cooling=water --run 'train-{job}.out' --run 'power/{job}/*' logs/
    """
    from scalelens.runs.sidecar import SIDECAR_NAME
    from scalelens.whole_files import write_file

    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}", "give the folder in which the paths of the template begin")
    path = folder.resolve() / SIDECAR_NAME
    paths, texts = _paths_and_sidecar_texts(folder)
    text = new_sidecar_text(templates or [], runs or [], pairs(labels, "cooling=water"), checked_zone(tz))
    existing = texts.get(str(path))
    if text is not None:
        texts[str(path)] = text
    sidecars = _understood(texts)
    if text is not None and existing is not None and existing != text:
        _print_difference(existing, text)
        if not force and not dry_run:
            raise UserError(f"{path} already exists with different content", "edit it, or replace it with --force")
    _preview(sidecars, folder, paths, format)
    if text is None:
        return
    if dry_run:
        errors.print("nothing was written (--dry-run)")
        return
    write_file(path, text.encode())
    errors.print(f"wrote {path}      next: scalelens ingest {folder}", markup=False)


def _paths_and_sidecar_texts(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Paths of the files of a folder other than sidecars, and the texts of the sidecars in and above it by path."""
    from scalelens.ingestion.walk import is_sidecar, sidecar_texts, sidecars_above, walk

    files = list(walk([folder], []))
    texts = sidecar_texts([*files, *sidecars_above([folder], {file.path for file in files})])
    return [file.path for file in files if not is_sidecar(file.path)], texts


def _understood(texts: dict[str, str]) -> "Sidecars":
    """Sidecars from their texts.  Raises UserError with the first mistake in them, after printing the others."""
    from scalelens.runs.sidecar import Sidecars

    sidecars = Sidecars(texts)
    if sidecars.faults:
        for fault in sidecars.faults[1:]:
            errors.print(str(fault), markup=False)
        raise UserError(str(sidecars.faults[0]))
    return sidecars


def _print_difference(existing: str, text: str) -> None:
    """Prints what would change in an existing sidecar."""
    import difflib

    from scalelens.runs.sidecar import SIDECAR_NAME

    lines = difflib.unified_diff(
        existing.splitlines(), text.splitlines(), f"{SIDECAR_NAME} as it is", "as it would be", n=0, lineterm=""
    )
    errors.print("\n".join(lines), markup=False)


def _preview(sidecars: "Sidecars", folder: Path, paths: list[str], format: Format | None) -> None:
    """Prints a row for each file with what the sidecars say about it, and on stderr the files that no template fits."""
    import polars as pl

    rows, unfit = [], []
    for path in paths:
        fits = [fit for sidecar in sidecars.over(path) if (fit := sidecar.fit(path))]
        name = path.removeprefix(f"{folder.resolve()}/")
        run = sidecars.run_of(path)
        row = {
            "file": name,
            "template": fits[0][0].text if fits else None,
            "run": " ".join(value for _, value in run.values) if run else None,
            "tz": sidecars.zone_of(path),
        }
        rows.append(row | {key: statement.value for key, statement in sidecars.statements_on(path).items()})
        if not fits:
            unfit.append(name)
    if any(sidecar.templates for sidecar in sidecars.by_folder.values()) and unfit:
        if len(unfit) == len(paths):
            raise UserError(f"no template matches any file, such as {unfit[0]}", f"templates begin in {folder}")
        errors.print(f"no template fits  {len(unfit)}   {few_of(unfit)}", markup=False)
    columns = dict.fromkeys(("file", *(key for row in rows for key in row if any(other.get(key) for other in rows))))
    show(pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String)), format)


def new_sidecar_text(templates: list[str], runs: list[str], given: dict[str, str], zone: str | None) -> str | None:
    """Text of a sidecar, None where nothing is given for it.  `given` are facts and labels.

    Raises UserError for a template, fact or label that a sidecar cannot have.
    """
    from scalelens.runs.templates import FACT_KINDS

    if not (templates or runs or given or zone):
        return None
    values = {key: _typed(text, FACT_KINDS.get(key, "label")) for key, text in given.items()}
    _refuse_wrong([*templates, *runs], values)
    facts = [f"{key} = {_toml_value(value)}" for key, value in values.items() if key in FACT_KINDS]
    labels = [f"{key} = {_toml_value(value)}" for key, value in values.items() if key not in FACT_KINDS]
    return _SIDECAR_TEXT.format(
        templates=_toml_list("templates", templates) or '# templates = ["{system}/{precision}/n{nodes}"]',
        runs=_toml_list("runs", runs) or '# runs = ["logs/train-{job}.out", "power/{job}/*"]',
        tz=f"tz = {_toml_value(zone)}" if zone else '# tz = "Europe/Berlin"',
        facts="\n".join(facts) or "# devices_per_node = 8",
        labels="\n".join(labels) or '# cooling = "water"',
    )


def _refuse_wrong(templates: list[str], values: dict[str, str | int | float]) -> None:
    """Raises UserError for a template, fact or label that a sidecar cannot have."""
    from scalelens.runs.sidecar_values import fact_text, label_text
    from scalelens.runs.templates import FACT_KINDS, compiled

    try:
        for template in templates:
            compiled(template)
            template.encode()
        for key, value in values.items():
            (fact_text if key in FACT_KINDS else label_text)(key, value)
            str(value).encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{error.object!a} is not UTF-8", "write it in UTF-8") from None
    except ValueError as error:
        raise UserError(str(error)) from None


def _typed(text: str, kind: str) -> str | int | float:
    """A value of the command line, as a number where it is one and the kind of the fact allows it."""
    if kind != "text" and re.fullmatch(r"-?(?:0|[1-9][0-9]{0,17})", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?", text):
        return float(text)
    return text


def _toml_list(key: str, texts: list[str]) -> str:
    return f"{key} = [\n" + "".join(f"    {_toml_value(text)},\n" for text in texts) + "]" if texts else ""


def _toml_value(value: str | int | float) -> str:
    """A value as TOML writes it.  For texts, the rules of JSON are those of TOML except for one character."""
    import json

    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
