"""Commands that are printed so that they can be pasted."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from scalelens.cli.options import WAREHOUSE
from scalelens.report.text import commands


def pasted(words: Sequence[str], warehouse: Path, folders: Sequence[Path] = ()) -> str:
    """A command as the shell takes it, of the same warehouse and the same folders of queries."""
    of_folders = (word for folder in folders for word in ("--queries", _quoted(str(folder))))
    return " ".join(["scalelens", *map(_quoted, words), *of_folders]) + _of_warehouse(warehouse)


def in_warehouse(text: str) -> str:
    """A message whose commands are about the warehouse that was named on the command line."""
    place = _named_on_command_line()
    return commands.in_warehouse(text, place) if place else text


def _named_on_command_line() -> str:
    words = [part for word in sys.argv for part in (word.split("=", 1) if word.startswith("--warehouse=") else [word])]
    named = (after for word, after in pairwise(words) if word in ("-w", "--warehouse"))
    return next(named, "")


def _of_warehouse(warehouse: Path) -> str:
    """The option that names a warehouse, where a command does not find it without."""
    is_found = warehouse == WAREHOUSE or os.environ.get("SCALELENS_WAREHOUSE") == str(warehouse)
    return "" if is_found else f" -w {_quoted(str(warehouse))}"


def _quoted(word: str) -> str:
    """A word as the shell takes it; conditions hold single quotes, which double quotes leave readable."""
    return f'"{word}"' if "'" in word and not re.search(r'["$`\\!]', word) else shlex.quote(word)
