"""Commands that are printed so that they can be pasted."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from scalelens.cli.options import WAREHOUSE


def pasted(words: Sequence[str], warehouse: Path, folders: Sequence[Path] = ()) -> str:
    """A command as the shell takes it, of the same warehouse and the same folders of queries."""
    of_folders = (word for folder in folders for word in ("--queries", _quoted(str(folder))))
    return " ".join(["scalelens", *map(_quoted, words), *of_folders]) + of_warehouse(warehouse)


def of_warehouse(warehouse: Path) -> str:
    """The option that names a warehouse, where a command does not find it without."""
    is_found = warehouse == WAREHOUSE or os.environ.get("SCALELENS_WAREHOUSE") == str(warehouse)
    return "" if is_found else f" -w {_quoted(str(warehouse))}"


def _quoted(word: str) -> str:
    """A word as the shell takes it; conditions hold single quotes, which double quotes leave readable."""
    return f'"{word}"' if "'" in word and not re.search(r'["$`\\!]', word) else shlex.quote(word)
