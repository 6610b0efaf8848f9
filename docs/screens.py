"""Draws the pictures of the pages that ScaleLens writes: `python docs/screens.py WAREHOUSE`, in headless Chromium."""

import base64
import sys
import tempfile
from pathlib import Path

from scalelens.report.explore.page import write_explore
from scalelens.report.html import write_report

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests"))
SIZE = {"width": 1280, "height": 800}


def main(warehouse: Path) -> None:
    from chromium import chromium

    with tempfile.TemporaryDirectory() as folder, chromium(Path(folder)) as page:
        for name, write in (("explore", write_explore), ("report", write_report)):
            page.open(write(warehouse, Path(folder, f"{name}.html")), **SIZE)
            page.run("new Promise((done) => setTimeout(done, 1000))")
            shot = page._call("Page.captureScreenshot", format="png")
            (DOCS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
