"""The code of CONTRIBUTING.md, as a reader copies it."""

import re
import textwrap

from conftest import ROOT


def code_blocks(page: str) -> list[str]:
    """Code of a page of Markdown between fences, without the indentation of the list that it stands in."""
    blocks = re.findall(r"^ *```\w+\n(.*?)^ *```$", page, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def recipe(title: str) -> str:
    """The code below a heading of CONTRIBUTING.md."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    (code,) = code_blocks(section)
    return code
