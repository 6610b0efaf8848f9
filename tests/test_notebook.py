"""The notebook of the docs: its cells are those of the script that writes it, and it holds three figures."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

DOCS = ROOT / "docs"


def test_the_notebook_has_the_cells_of_its_script_with_their_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    cells = json.loads((DOCS / "first-study.ipynb").read_text())["cells"]
    assert [(one["cell_type"], "".join(one["source"])) for one in cells] == importlib.import_module("notebook").CELLS
    shown = [output.get("data", {}) for one in cells for output in one.get("outputs", [])]
    figures = ["".join(data["image/svg+xml"]) for data in shown if "image/svg+xml" in data]
    assert len(figures) == 3 and all(figure.startswith("<svg") for figure in figures)
    assert figures == [(DOCS / "notebook" / f"{number}.svg").read_text() for number in (1, 2, 3)]


@pytest.mark.slow
def test_the_notebook_is_what_its_script_writes(golden, tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "notebook.py", tmp_path], check=True)
    for name in ("first-study.ipynb", "notebook.md", *(f"notebook/{number}.svg" for number in (1, 2, 3))):
        golden((tmp_path / name).read_text(), DOCS / name)
