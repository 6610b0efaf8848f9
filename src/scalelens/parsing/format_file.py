"""What a format file says about itself: its name, and the headings and samples of its docstring.

It also has constants: `VERSION`, raised when the same bytes give other rows; `ANCHORS` of a line format; `LAST` of
a file format that is tried after all others, and `IN_HEAD` of one whose files each have at least one of these texts in
their first 64 KB: other files are not offered to it.  `LATER` names the columns of a row that a later line may still
fill: reading ignores it, but the test that cuts logs (tests/test_robustness.py) leaves these columns out.
"""

import re
import textwrap
from pathlib import Path
from types import ModuleType

# What the search for the formats of a file asks of them: constants, and which of these methods their readers have.
CONSTANTS = ("VERSION", "ANCHORS", "IN_HEAD", "LAST", "SECOND_READ", "GUESSES", "SETTINGS_ALONE")
_METHODS = ("take_json", "take_records", "take_alike")
METHODS = "METHODS"  # name of the latter where a format's file is not loaded

FORMAT_HEADINGS = ("Tool", "Versions", "Yields", "Source", "Samples")


def name_of(format: ModuleType) -> str:
    """Name of a format: that of its file."""
    return format.__name__.rpartition(".")[2]


def is_of_lines(format: ModuleType) -> bool:
    """Whether a format takes lines of a file, not whole files."""
    return "ANCHORS" in vars(format)


def methods_of(format: ModuleType) -> tuple[str, ...]:
    """The methods that not every reader has, of the reader of a line format."""
    if METHODS in vars(format):
        return tuple(vars(format)[METHODS])
    return tuple(name for name in _METHODS if hasattr(vars(format).get("Reader"), name))


def title(format: ModuleType) -> str:
    """First line of the docstring."""
    return (format.__doc__ or "").strip().split("\n")[0]


def heading(format: ModuleType, name: str) -> str:
    """Text of a heading of the docstring: the rest of its line and the indented lines below."""
    match = re.search(rf"^{name}:(.*(?:\n(?:[ \t].*|)$)*)", textwrap.dedent(format.__doc__ or ""), re.MULTILINE)
    return match[1].strip("\n").strip(" ") if match else ""


def samples(format: ModuleType) -> list[str]:
    """Sample lines of the docstring, as the tool prints them: indented by four blanks below `Samples:`."""
    match = re.search(r"^Samples:\n((?:(?: {4}.*)?\n?)*)", format.__doc__ or "", re.MULTILINE)
    return [line[4:] for line in match[1].split("\n") if line.strip()] if match else []


def defect(format: str | None, error: Exception) -> str:
    """A sentence about an exception that a format did not expect, with its place in the code."""
    traceback = error.__traceback__
    while traceback and traceback.tb_next:
        traceback = traceback.tb_next
    where = f"{Path(traceback.tb_frame.f_code.co_filename).name}:{traceback.tb_lineno}" if traceback else "?"
    return f"the format {format} failed at {where} ({type(error).__name__}: {error}); please report this line"
