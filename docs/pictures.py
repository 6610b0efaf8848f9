"""Draws the pictures of gallery.md: `python docs/pictures.py FOLDER`.  `make site` calls it when the pages are built.

The commands of the page run as they stand, on the logs of the demo and on those that studies/gallery.py makes up.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import scalelens
from scalelens.cli import make_app

DOCS = Path(__file__).resolve().parent
DEMO = Path(scalelens.__file__).resolve().parent / "demo" / "logs"


def main(folder: Path) -> None:
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, DOCS / "studies" / "gallery.py", f"{scratch}/made-up"], check=True)
        os.chdir(scratch)
        scalelens.ingest(DEMO)
        for line in re.findall(r"^scalelens (.+)", (DOCS / "gallery.md").read_text(), re.MULTILINE):
            make_app()(shlex.split(line), standalone_mode=False)
        for picture in Path(scratch).glob("*.png"):
            shutil.copy(picture, folder)
        os.chdir(folder)  # before the scratch folder goes


if __name__ == "__main__":
    main(Path(sys.argv[1]))
