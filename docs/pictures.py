"""Draws the pictures of gallery.md: `python docs/pictures.py FOLDER`.  `make site` calls it when the pages are built.

The logs are those of the demo; a chart whose section has no picture is not drawn, as they hold nothing for it.
"""

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import scalelens
from scalelens.cli import make_app

GALLERY = Path(__file__).with_name("gallery.md")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pictures = set(re.findall(r"\(gallery/(\S+)\)", GALLERY.read_text()))
    with tempfile.TemporaryDirectory() as warehouse:
        scalelens.ingest(Path(scalelens.__file__).parent / "demo" / "logs", warehouse=warehouse)
        os.chdir(folder)
        for line in re.findall(r"^scalelens (plot .+)", GALLERY.read_text(), re.MULTILINE):
            words = shlex.split(line)
            if words[-1] in pictures:
                make_app()([*words, "-w", warehouse], standalone_mode=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
