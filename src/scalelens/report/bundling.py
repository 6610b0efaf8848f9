"""The parts of a bundle: a part of a warehouse, and texts that say what is in it and how to reproduce the files."""

import hashlib
import json
import platform
import re
import shutil
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from scalelens.database.connect import needed_tables
from scalelens.inert import escaped_in_json
from scalelens.queries.load import load
from scalelens.question.provenance import Provenance
from scalelens.tables import STORED
from scalelens.version import __version__
from scalelens.warehouse.compact import compact
from scalelens.warehouse.live import FORGOTTEN
from scalelens.warehouse.log import Warehouse, all_entries
from scalelens.warehouse.records import Batch, segment

_SCHEMA = "scalelens-bundle/1"
_REQUEST = ("chart", "query", "parameters", "numbers", "inputs_sha256")  # of a provenance
_ALWAYS_NEEDED = "members runs params files exclusions"  # of every figure: names of runs, exclusions, inputs

_MAKE = """\
#!/bin/sh
# Makes each file of expected/ again from warehouse/, and compares it byte for byte.
cd "$(dirname "$0")" || exit 2
unset SCALELENS_QUERIES SCALELENS_CHARTS SCALELENS_WAREHOUSE
"${{PYTHON:-python3}}" -m scalelens verify expected/* -w warehouse --no-sources --remade made{queries} || exit $?
for file in expected/*; do
  cmp "$file" "made/$(basename "$file")" || exit 1
done
echo "all files are the same, byte for byte"
"""

_README = """\
# How the figures and tables of this folder are made again

    pip install -r requirements.txt
    sh make.sh

`make.sh` makes each file of `expected/` again from `warehouse/`, writes it to `made/` and compares it byte for byte.
With another Python: `PYTHON=/path/to/python sh make.sh`.

It needs Python {python} (made with), the packages of `requirements.txt` in these versions, `sh` and `cmp`.  It needs no
network, no fonts, no graphics card, and none of the logs.  Numbers may differ in their last digits on another kind of
processor; this bundle was made on {machine}.

`MANIFEST.json` lists the files with their SQL, and the logs that they rest on with their sha256, as `sha256sum` prints
it.  `warehouse/` holds the tables that the files need, of {part}; its records hold the paths that the logs had.
"""


def part_of_warehouse(root: Path, target: Path, tables: set[str], contents: set[str] | None) -> None:
    """Writes a warehouse with some tables of `root`, and only of these contents if any are given.

    Rows of other contents that share a segment with them are erased.
    """
    warehouse = Warehouse(root)
    with warehouse.files.reading():
        _write_part(warehouse, Warehouse(target), tables, contents)
    compact(target)


def _write_part(warehouse: Warehouse, part: Warehouse, tables: set[str], contents: set[str] | None) -> None:
    live = warehouse.live()
    part.log.mkdir(parents=True)
    part.segments.mkdir()
    entries = [
        entry
        for entry in all_entries(live)
        if entry.status != FORGOTTEN and (contents is None or entry.file_id in contents or entry.sidecar)
    ]
    batches = []
    for batch_id in sorted({entry.batch for entry in entries} & live.batches.keys()):
        batch = live.batches[batch_id]
        kept = {table: count for table, count in batch.tables.items() if table in tables}
        names = [segment(table, batch_id) for table in kept]
        warehouse.files.fetch(warehouse.segments, names)
        for name in names:
            shutil.copyfile(warehouse.segments / name, part.segments / name)
        segments = {table: stored for table, stored in batch.segments.items() if table in kept}
        batches.append(Batch(batch_id, kept, batch.file_ids, batch.schema, segments))
    part.commit(batches, entries)


def tables_of(statements: Iterable[str], query_folders: tuple[Path, ...]) -> set[str]:
    """Stored tables that statements need."""
    names = " ; ".join([*statements, _ALWAYS_NEEDED])
    return needed_tables(names, load(query_folders, names)) & STORED.keys()


def manifest(root: Path, files: Mapping[str, tuple[bytes, Provenance]]) -> dict[str, Any]:
    """What a bundle holds: versions, inputs, files by name."""
    entries = {entry.file_id: entry for entry in Warehouse(root).live().paths.values()}
    inputs = {
        file_id: name for _, provenance in files.values() for file_id, name in provenance.get("inputs", {}).items()
    }
    return {
        "schema": _SCHEMA,
        "made_by": {
            "scalelens": __version__, "python": platform.python_version(), "machine": _machine(),
            "packages": _packages(),
        },
        "files": {
            name: {
                "sha256": hashlib.sha256(content).hexdigest(), "sql": provenance["sql"], "rows": provenance["rows"],
                **{key: provenance[key] for key in _REQUEST if key in provenance},
            }
            for name, (content, provenance) in files.items()
        },
        "inputs": [
            {"sha256": file_id, "name": name, "size_bytes": entries[file_id].size_bytes if file_id in entries else None}
            for file_id, name in sorted(inputs.items(), key=lambda item: (item[1], item[0]))
        ],
    }  # fmt: skip


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}"


def _packages() -> dict[str, str]:
    """Versions of the packages that ScaleLens needs, without its extras."""
    try:
        needed = [text for text in requires("scalelens") or [] if "extra ==" not in text]
    except PackageNotFoundError:
        return {}
    names = sorted(found[0] for text in needed if (found := re.match(r"[\w.-]+", text)))
    return {name: version(name) for name in names}


def write_texts(folder: Path, content: Mapping[str, Any], has_queries: bool, has_all_runs: bool) -> None:
    """Writes everything of a bundle except the warehouse and the files."""
    made_by = content["made_by"]
    (folder / "MANIFEST.json").write_text(
        escaped_in_json(json.dumps(content, indent=1, ensure_ascii=False)) + "\n", encoding="utf-8"
    )
    part = (
        "all runs, because the answer depends on which others there are"
        if has_all_runs
        else "the runs that are in them"
    )
    readme = _README.format(python=made_by["python"], machine=made_by["machine"], part=part)
    (folder / "README.md").write_text(readme, encoding="utf-8")
    needed = {"scalelens": made_by["scalelens"], **made_by["packages"]}
    (folder / "requirements.txt").write_text("".join(f"{name}=={number}\n" for name, number in needed.items()))
    (folder / "make.sh").write_text(_MAKE.format(queries=" --queries queries" if has_queries else ""))
    (folder / "make.sh").chmod(0o755)
