"""Draws the pictures of gallery.md: `python docs/pictures.py FOLDER`.  `make site` calls it when the pages are built.

The commands of the page run as they are, on the logs of the demo and on those that studies/gallery.py makes up.  Those
that draw run again for two columns, and both in dark colors.
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
VARIANTS = {"-double": "--width double", "-dark": "--theme dark", "-double-dark": "--width double --theme dark"}
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
            for ending, options in VARIANTS.items() if line.startswith("plot ") else ():
                again = line.replace(".png", f"{ending}.png") + f" {options}"
                make_app()(shlex.split(again), standalone_mode=False)
        for picture in Path(scratch).glob("*.png"):
            shutil.copy(picture, folder)
        os.chdir(folder)  # before the scratch folder goes


if __name__ == "__main__":
    main(Path(sys.argv[1]))
