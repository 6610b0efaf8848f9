"""Settings of figures in `scalelens.toml`.

    [figure.scaling]            of the chart `scaling`
    width = "ieee-single"
    labels = { "bf16 · lumi" = "LUMI-G" }

The file is looked for in the current folder and the folders above it, not in the warehouse: a changed label shall show
in the next plot, without reading logs again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scalelens.errors import UserError
from scalelens.runs.sidecar import SIDECAR_NAME, sidecar_of


def figure_settings(name: str, folder: Path) -> Mapping[str, Any]:
    """Settings of the figure `name`, from the nearest `scalelens.toml` that has any.

    Raises UserError for a file that is not TOML.
    """
    for above in (folder, *folder.parents):
        path = above / SIDECAR_NAME
        if not path.is_file():
            continue
        sidecar, faults = sidecar_of(f"{path}", path.read_text(errors="replace"))
        for fault in faults:
            if fault.reason.startswith("not TOML"):
                raise UserError(f"{fault}", "correct it; the settings of a figure go under [figure.NAME]")
        if name in sidecar.figures:
            return sidecar.figures[name]
    return {}
