"""Facts about devices and systems, each row with its source, the settings of runs, and published results:
`devices.csv`, `systems.csv`, `settings.csv`, `noise.csv`, `published/`; and the formulas by which tools compute what
they print: `formulas.csv`.

Peaks are dense.  `fp32_tflops` is the peak with the full precision of fp32: of AMD's matrix units, of NVIDIA's plain
cores.  An empty cell is a figure without a known source.  `pattern` is a regular expression for the names that logs
give a device or system, in lower case; the first row whose pattern matches counts.  An A100 without its memory size
matches no row.
"""

import csv
import re
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from scalelens.catalog.printed_numbers import printed_number
from scalelens.tables import (
    DEVICES,
    DOCUMENTS,
    FORMULAS,
    IDENTITIES,
    NOISE,
    PUBLISHED,
    SETTINGS,
    SYSTEMS,
    Column,
    schema,
)

CATALOG_FOLDER = Path(__file__).parent
STUDIES = ("caraml", "epicure", "frontier", "pdc", "tamu")
CATALOGS = {
    "devices_catalog": (("devices.csv",), DEVICES),
    "systems_catalog": (("systems.csv",), SYSTEMS),
    "settings_catalog": (("settings.csv",), SETTINGS),
    "noise_catalog": (("noise.csv",), NOISE),
    "formulas_catalog": (("formulas.csv",), FORMULAS),
    "published": (tuple(f"published/{study}.csv" for study in STUDIES), PUBLISHED),
    "published_documents": (("published/documents.csv",), DOCUMENTS),
    "published_identities": (("published/identities.csv",), IDENTITIES),
}


def rows(name: str) -> list[dict[str, Any]]:
    """Rows of a catalog in their order, with numbers as numbers and None for what is empty."""
    return [dict(row) for row in _rows(name)]


@cache
def _rows(name: str) -> list[dict[str, Any]]:
    files, columns = CATALOGS[name]
    cells = [row for file in files for row in cells_of(file)]
    if name == "published":
        cells = [row | printed_number(row["printed"], row["unit"], row["relation"]) for row in cells]
    return [
        {"place": place, **{column.name: value(row[column.name], column) for column in columns[1:]}}
        for place, row in enumerate(cells, 1)
    ]


def cells_of(file: str) -> list[dict[str, str]]:
    """Rows of a file of the catalog, as text."""
    with (CATALOG_FOLDER / file).open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def value(text: str, column: Column) -> Any:
    if not text:
        return None
    return text if pa.types.is_string(column.type) else int(text) if pa.types.is_integer(column.type) else float(text)


@cache
def table(name: str) -> pa.Table:
    """A catalog as Arrow."""
    return pa.Table.from_pylist(rows(name), schema=schema(CATALOGS[name][1]))


def device(name: str) -> dict[str, Any] | None:
    """The device that logs call by this name, None where no pattern matches, and for a MIG slice: a part of one."""
    lower = name.lower()
    found = (dict(row) for row in _rows("devices_catalog") if re.search(row["pattern"], lower))
    return None if " mig " in lower else next(found, None)
