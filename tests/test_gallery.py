"""The gallery: its page is printed, its commands run, and its pictures show what these draw.

`pytest tests/test_gallery.py --update` prints the page and draws the pictures; -m slow draws all of them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CORPUS, ROOT
from gallery import FIGURES, MADE_UP, PICTURES, VARIANTS, drawn, page, picture, run, said_of
from scalelens.charts import load as charts
from scalelens.report.provenance_in_files import renderer
from spread import by_day_and_at_night

WAREHOUSES = {figure.logs.warehouse: figure.logs for figure in FIGURES.values()}
BY_DAY = ["nccl", "zeus"]
MOST_BYTES = 3_000_000  # of all pictures, which everybody fetches with the source


def test_page_of_the_gallery(golden) -> None:
    golden(page(), ROOT / "docs" / "gallery.md")


def test_each_chart_has_its_pictures() -> None:
    assert list(FIGURES) == sorted(charts.load())
    sizes = {path.name: path.stat().st_size for path in PICTURES.iterdir()}
    assert set(sizes) == {f"{name}{variant}.png" for name in FIGURES for variant in VARIANTS}
    assert sum(sizes.values()) < MOST_BYTES


@by_day_and_at_night("warehouse", BY_DAY, [name for name in WAREHOUSES if name not in BY_DAY])
def test_pictures_show_what_the_commands_draw(
    warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    logs = WAREHOUSES[warehouse]
    if logs is MADE_UP:
        (tmp_path / "docs").symlink_to(ROOT / "docs")
    else:
        request.getfixturevalue("corpus")
        (tmp_path / "shared").symlink_to(CORPUS.parent)
    monkeypatch.chdir(tmp_path)
    for command in logs.commands:
        if command.startswith("python "):
            subprocess.run([sys.executable, *command.split()[1:]], check=True)
        else:
            run(command)
    for name, figure in FIGURES.items():
        for variant in VARIANTS if figure.logs is logs else ():
            svg, about = drawn(figure.command(name), variant, tmp_path)
            path = PICTURES / f"{name}{variant}.png"
            if request.config.getoption("--update"):
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(picture(svg, about))
            said = said_of(path)
            assert said["rows_sha256"] == about["rows_sha256"], f"{path.name} shows other rows: pytest --update"
            if said["renderer"] == renderer():
                assert said["drawing_sha256"] == about["drawing_sha256"], (
                    f"{path.name} looks otherwise: pytest --update"
                )
