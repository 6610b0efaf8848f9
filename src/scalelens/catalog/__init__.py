"""Facts about devices and systems, each row with its source, the settings of runs, and results that others published:
`devices.csv`, `systems.csv`, `settings.csv`, a file of `published/` for each document (docs/published.md).

Peaks are dense.  `fp32_tflops` is the peak with the full precision of fp32: of AMD's matrix units, of NVIDIA's plain
cores.  An empty cell is a figure without a known source.  `pattern` is a regular expression for the names that logs
give a device or system, in lower case; the first row whose pattern matches counts.  An A100 without its memory size
matches no row.
"""

import csv
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from scalelens.tables import DEVICES, PUBLISHED, SETTINGS, SYSTEMS, Column, schema

CATALOG_FOLDER = Path(__file__).parent
CATALOGS = {
    "devices_catalog": ("devices.csv", DEVICES),
    "systems_catalog": ("systems.csv", SYSTEMS),
    "settings_catalog": ("settings.csv", SETTINGS),
    "published": ("published/*.csv", PUBLISHED),
}


def rows(name: str) -> list[dict[str, Any]]:
    """Rows of a catalog in their order, with numbers as numbers and None for what is empty."""
    files, columns = CATALOGS[name]
    read: list[dict[str, str]] = []
    for path in sorted(CATALOG_FOLDER.glob(files)):
        with path.open(newline="", encoding="utf-8") as text:
            read += csv.DictReader(text)
    return [
        {"place": place, **{column.name: value(row[column.name], column) for column in columns[1:]}}
        for place, row in enumerate(read, 1)
    ]


def value(text: str, column: Column) -> Any:
    if not text:
        return None
    return text if pa.types.is_string(column.type) else int(text) if pa.types.is_integer(column.type) else float(text)


def table(name: str) -> pa.Table:
    """A catalog as Arrow."""
    return pa.Table.from_pylist(rows(name), schema=schema(CATALOGS[name][1]))


def device(name: str) -> dict[str, Any] | None:
    """The device that logs call by this name, None where no pattern matches."""
    return next((row for row in rows("devices_catalog") if re.search(row["pattern"], name.lower())), None)
