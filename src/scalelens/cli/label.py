"""Say what the paths of logs mean, and write it down as a sidecar."""

import difflib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from scalelens.cli.options import OutputFormat, pairs, zone
from scalelens.cli.output import Format, errors, show
from scalelens.errors import UserError

PANEL = "Read"
SHOWN = 4  # files named on one line
WRITTEN = """\
# What holds of the logs in this folder and below, and is not said by them; `scalelens ingest` takes it up.
# Paths are relative to this folder.  A scalelens.toml nearer to a file has the last word, key by key.

# What the names of folders and files mean; of several templates the first that fits a file counts.
# {{name}} is any text within a name, {{name:int}} a whole number, * text that is not kept, ** any number of folders.
# Names that are columns of `runs` (system, precision, nodes, devices, model, ...) are facts, others are labels.
{templates}

# Files of which the named parts are equal are one run.
{runs}

# Zone of the times that name none.
{tz}

# Facts about all files: columns of `runs`.  They go before what the logs say.
[facts]
{facts}

# Labels of all files, with names of your own: columns label_... of `runs`; scaling keeps their values apart.
[labels]
{labels}
"""


def label(
    folder: Annotated[Path, typer.Argument(help="Folder of the logs.", readable=False)],
    templates: Annotated[
        list[str] | None, typer.Option("--template", help="What names of folders and files mean; may be repeated.")
    ] = None,
    runs: Annotated[
        list[str] | None, typer.Option("--run", help="Template whose named parts name a run; may be repeated.")
    ] = None,
    labels: Annotated[
        list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="Fact or label of all files.")
    ] = None,
    tz: Annotated[str | None, typer.Option(help="Zone of times that name none, such as Europe/Berlin.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be said; write nothing.")] = False,
    force: Annotated[bool, typer.Option(help="Replace a scalelens.toml that is there.")] = False,
    format: OutputFormat = None,
) -> None:
    """Say what the paths of logs mean, see what that says of each file, and write it down as scalelens.toml.

    Without options: what the sidecars that are there say of each file.

    Examples:

    scalelens label --template '{system}/{precision}/n{nodes}' logs/ --dry-run

    scalelens label --label cooling=water --run 'train-{job}.out' --run 'power/{job}/*' logs/
    """
    from scalelens.ingestion.walk import sidecar_texts, sidecars_above, walk
    from scalelens.runs.sidecar import NAME, Sidecars

    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}", "give the folder that the paths in the template begin in")
    path = folder.resolve() / NAME
    files = list(walk([folder], folder, []))
    texts = sidecar_texts([*files, *sidecars_above([folder], {file.path for file in files})])
    before = texts.get(str(path))
    text = written(templates or [], runs or [], pairs(labels, "cooling=water"), zone(tz))
    if text is not None:
        texts[str(path)] = text
    sidecars = Sidecars(texts)
    if sidecars.faults:
        for fault in sidecars.faults[1:]:
            errors.print(str(fault), markup=False)
        raise UserError(str(sidecars.faults[0]))
    if text is not None and before not in (None, text):
        lines = difflib.unified_diff(
            before.splitlines(), text.splitlines(), f"{NAME} as it is", "as it would be", n=0, lineterm=""
        )
        errors.print("\n".join(lines), markup=False)
        if not force and not dry_run:
            raise UserError(f"{path} says something else", "edit it, or replace it with --force")
    preview(sidecars, folder, [file.path for file in files if not file.path.endswith(f"/{NAME}")], format)
    if text is None:
        return
    if dry_run:
        errors.print("nothing was written (--dry-run)")
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror})", "check the folder's permissions") from None
    errors.print(f"wrote {path}      next: scalelens ingest {folder}", markup=False)


def preview(sidecars: Any, folder: Path, paths: list[str], format: Format | None) -> None:
    """A row for each file with what is said of it, and on stderr those that no template fits."""
    import polars as pl

    rows, unfit = [], []
    for path in paths:
        fits = [fit for sidecar in sidecars.over(path) if (fit := sidecar.fit(path))]
        name = path.removeprefix(f"{folder.resolve()}/")
        run, zone = sidecars.run_of(path), sidecars.zone_of(path)
        named = None if run is None else " ".join(value for _, value in run[1])
        said = {key: one.value for key, one in sidecars.said_of(path).items()}
        rows.append({"file": name, "template": fits[0][0].text if fits else None, "run": named, "tz": zone} | said)
        if not fits:
            unfit.append(name)
    if any(sidecar.templates for sidecar in sidecars.by_folder.values()) and unfit:
        if len(unfit) == len(paths):
            raise UserError(f"no file fits a template, such as {unfit[0]}", f"templates begin in {folder}")
        more = f" and {len(unfit) - SHOWN} more" if len(unfit) > SHOWN else ""
        errors.print(f"no template fits  {len(unfit)}   {', '.join(unfit[:SHOWN])}{more}", markup=False)
    columns = dict.fromkeys(("file", *(key for row in rows for key in row if any(other.get(key) for other in rows))))
    show(pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String)), format)


def written(templates: list[str], runs: list[str], said: dict[str, str], zone: str | None) -> str | None:
    """Text of a sidecar, None for one that says nothing.  Raises UserError for what cannot be said."""
    from scalelens.runs.sidecar import fact
    from scalelens.runs.sidecar import label as checked_label
    from scalelens.runs.templates import FACTS, compiled

    if not (templates or runs or said or zone):
        return None
    for template in (*templates, *runs):
        explained(compiled, template)
    values = {key: typed(text, FACTS.get(key, "label")) for key, text in said.items()}
    for key, value in values.items():
        explained(fact if key in FACTS else checked_label, key, value)
    facts = [f"{key} = {toml(value)}" for key, value in values.items() if key in FACTS]
    others = [f"{key} = {toml(value)}" for key, value in values.items() if key not in FACTS]
    return WRITTEN.format(
        templates=listed("templates", templates) or '# templates = ["{system}/{precision}/n{nodes}"]',
        runs=listed("runs", runs) or '# runs = ["logs/train-{job}.out", "power/{job}/*"]',
        tz=f"tz = {toml(zone)}" if zone else '# tz = "Europe/Berlin"',
        facts="\n".join(facts) or "# devices_per_node = 8",
        labels="\n".join(others) or '# cooling = "water"',
    )


def explained(check: Callable[..., Any], *values: Any) -> None:
    """Turns what a check refuses into a UserError."""
    try:
        check(*values)
        "".join(map(str, values)).encode()
    except UnicodeEncodeError:
        raise UserError(f"{values[-1]!a} is not UTF-8", "write it in UTF-8") from None
    except ValueError as error:
        raise UserError(str(error)) from None


def typed(text: str, kind: str) -> str | int | float:
    """A value of the command line: a number where it is one and may be one."""
    if kind != "text" and re.fullmatch(r"-?(?:0|[1-9][0-9]{0,17})", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?", text):
        return float(text)
    return text


def listed(key: str, templates: list[str]) -> str:
    return f"{key} = [\n" + "".join(f"    {toml(one)},\n" for one in templates) + "]" if templates else ""


def toml(value: str | int | float) -> str:
    """A value as TOML writes it; of texts JSON's rules are TOML's but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
