"""Writes the notebook, executed: `python docs/notebook.py FOLDER` gives first-study.ipynb, notebook.md and its figures.

The cells run in a scratch folder with the logs of the demo, one after the other, as in Jupyter.
"""

import ast
import contextlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

import scalelens

DEMO = Path(scalelens.__file__).resolve().parent / "demo" / "logs"
ABOUT = """<!-- Written by docs/notebook.py -->

For Jupyter: [first-study.ipynb](first-study.ipynb). What each call does: [in a notebook](python.md).

"""
CELLS = [
    (
        "markdown",
        "# From a folder to three figures\n\nThe logs of the demo: ResNet-50 and a small GPT on one and two CPUs.",
    ),
    ("code", 'import scalelens\n\nstudy = scalelens.open("study")\nprint(study.ingest("logs"))'),
    ("markdown", "## What was run?"),
    (
        "code",
        'study.runs().select("name", "model", "precision", "devices", "global_batch_size", "outcome").sort("name")',
    ),
    (
        "markdown",
        "## How well does it scale?\n"
        "\n"
        "One run per size, so there is no interval for the efficiency, and "
        "the caption says so.",
    ),
    (
        "code",
        'study.query("scaling", select="model, precision, scaling, devices, step_s, efficiency", '
        'sort="model,precision,scaling,devices")',
    ),
    ("code", 'study.plot("scaling")'),
    ("markdown", "## Are the steps of a run alike?"),
    ("code", 'study.plot("batch_cdf")'),
    ("markdown", "## What happened during one run?"),
    ("code", 'study.plot("step_times", runs="name = \'gpt-r1\'")'),
    ("markdown", "## Pass it on\n\nThe figure at the width of a column, and a page with all that was found."),
    (
        "code",
        'study.plot("scaling", "scaling.pdf", '
        'settings={"width": "ieee-single"})\n'
        'study.report("report.html")\n'
        "study.close()",
    ),
]


def main(folder: Path) -> None:
    folder = folder.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(DEMO, Path(scratch, "logs"))
        back = Path.cwd()
        os.chdir(scratch)
        outputs = executed()
        os.chdir(back)
    figures = [shown["image/svg+xml"] for _, shown in outputs if "image/svg+xml" in shown]
    (folder / "notebook").mkdir(parents=True, exist_ok=True)
    for number, svg in enumerate(figures, 1):
        (folder / "notebook" / f"{number}.svg").write_text(svg, encoding="utf-8")
    (folder / "first-study.ipynb").write_text(notebook(outputs), encoding="utf-8")
    (folder / "notebook.md").write_text(page(outputs), encoding="utf-8")


def executed() -> list[tuple[str, dict[str, str]]]:
    """What each cell of code printed, and what its last expression shows."""
    names: dict[str, Any] = {}
    pl.Config.set_tbl_rows(20)
    return [_run(text, names) if kind == "code" else ("", {}) for kind, text in CELLS]


def _run(text: str, names: dict[str, Any]) -> tuple[str, dict[str, str]]:
    *first, last = ast.parse(text).body
    printed = _Printed()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(first, []), "<cell>", "exec"), names)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), "<cell>", "exec"), names)
            return printed.text, {}
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    shown = {} if value is None or isinstance(value, Path) else {"text/plain": repr(value)}
    for name, method in (("image/svg+xml", "_repr_svg_"), ("text/html", "_repr_html_")):
        if shown and hasattr(value, method):
            shown[name] = getattr(value, method)()
    return printed.text, shown


class _Printed:
    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        """Nothing is kept back."""


def notebook(outputs: list[tuple[str, dict[str, str]]]) -> str:
    """The file of Jupyter, version 4.5 of its format."""
    cells, count = [], 0
    for number, ((kind, text), (printed, shown)) in enumerate(zip(CELLS, outputs, strict=True)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": _lines(text)}
        if kind == "code":
            count += 1
            stream = [{"output_type": "stream", "name": "stdout", "text": _lines(printed)}] if printed else []
            data = {name: _lines(value) for name, value in shown.items()}
            result = {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}
            cell |= {"execution_count": count, "outputs": [*stream, *([result] if data else [])]}
        cells.append(cell)
    language = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": language}, "nbformat": 4}
    return json.dumps({**whole, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def page(outputs: list[tuple[str, dict[str, str]]]) -> str:
    """The same as a page of the site."""
    parts, figure = [], 0
    for (kind, text), (printed, shown) in zip(CELLS, outputs, strict=True):
        parts.append(f"{text}\n\n" if kind == "markdown" else f"```python\n{text}\n```\n\n")
        if not figure and kind == "markdown" and len(parts) == 1:
            parts.append(ABOUT)
        if "image/svg+xml" in shown:
            figure += 1
            parts.append(f"![Figure {figure}](notebook/{figure}.svg)\n\n")
        elif printed or shown:
            parts.append(f"```\n{printed}{shown.get('text/plain', '')}".rstrip() + "\n```\n\n")
    return "".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
