"""The house: the map in ARCHITECTURE.md leads to what is there, functions are short, names that users import stay."""

import ast
import contextlib
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

import pytest

from conftest import ROOT
from recipes import code_blocks
from scalelens.ingestion.ingest import ingest
from scalelens.tabular.preset import preset_text
from spread import SHARES

PACKAGE = ROOT / "src" / "scalelens"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()


# Where is ...?


def paths_of(page: str, heading: str, column: int) -> list[str]:
    """What stands in backquotes in a column of the tables below a heading of a page."""
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [path for row in rows for path in re.findall(r"`([^`]+)`", row[column])]


def defined(module: ast.Module) -> set[str]:
    """Names that a module defines: functions, classes, assignments and, with a dot, the members of its classes."""
    names: set[str] = set()
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def dead_ends(paths: list[str], package: Path) -> list[str]:
    """Paths, `folder/file.py:name`, that lead to nothing in a package."""
    ends: list[str] = []
    for path in paths:
        file, _, name = path.partition(":")
        place = package / file
        if not place.exists() or (name and name not in defined(ast.parse(place.read_text()))):
            ends.append(path)
    return ends


def test_the_map_leads_to_what_is_there() -> None:
    rooms, places = paths_of(ARCHITECTURE, "The way of a file", 0), paths_of(ARCHITECTURE, "Where is ...?", 1)
    assert len(places) >= 20 and "parsers/" in rooms
    assert dead_ends(rooms + places, PACKAGE) == []


def test_every_room_is_on_the_map() -> None:
    rooms = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert rooms - set(paths_of(ARCHITECTURE, "The way of a file", 0)) == set()


def test_a_dead_end_of_a_map_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("X = 1\nY: int = 2\n\nclass C:\n    def m(self): ...\n\ndef f(): ...\n")
    (tmp_path / "room").mkdir()
    page = "\n## Where is ...?\n\n| question | path |\n|---|---|\n| `f`? | {} |\n\n## Next\n\n| no | `nowhere.py` |\n"
    there = "`room/` | `a.py`, `a.py:f`, `a.py:C`, `a.py:C.m`, `a.py:X`, `a.py:Y`"
    assert paths_of(page.format("`a.py:f`, `b.py`"), "Where is ...?", 1) == ["a.py:f", "b.py"]
    assert dead_ends(re.findall("`(.+?)`", there), tmp_path) == []
    ends = ["b.py", "a.py:m", "a.py:g", "room/b.py", "a.py:C.f"]
    assert dead_ends(ends, tmp_path) == ends


# Why is it so?

DECISIONS = (ROOT / "docs" / "decisions.md").read_text()
SOURCES = {".py", ".sql", ".csv", ".sh"}


def unknown_names(page: str, package: Path) -> list[str]:
    """Names in backquotes of which no source of a package, and no path of the project, has a word."""
    words: set[str] = set()
    for path in package.rglob("*"):
        if path.suffix in SOURCES:
            words |= set(re.findall(r"\w+", f"{path.name} {path.read_text()}"))
    named = [name for name in re.findall(r"`([^`]+)`", page) if not (ROOT / name).exists()]
    return [name for name in named if set(re.findall(r"[A-Za-z_]\w*", name)) - words]


def test_the_decisions_are_short_and_name_what_is_there() -> None:
    assert len(re.findall(r"^- \*\*", DECISIONS, re.MULTILINE)) <= 60
    assert len(DECISIONS.split()) <= 5000
    assert unknown_names(DECISIONS, PACKAGE) == []


def test_a_name_of_a_decision_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "here.py").write_text("kept = 1\n")
    page = "`here.py` and `kept` are, `docs/decisions.md` is; `gone` is not, nor `kept.gone`"
    assert unknown_names(page, tmp_path) == ["gone", "kept.gone"]


# Short functions

LONGEST, USUAL = 60, 32  # lines; five functions of a hundred may be longer than the usual


def function_lengths() -> Iterator[tuple[str, int]]:
    """Lines of each function, decorators apart."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno
                yield f"{path.relative_to(PACKAGE)}:{node.name}", node.end_lineno - node.lineno + 1


def test_functions_are_read_without_scrolling() -> None:
    lengths = list(function_lengths())
    long = {name: lines for name, lines in lengths if lines > LONGEST}
    assert len(lengths) > 500
    assert long == {}
    assert quantiles([lines for _, lines in lengths], n=20)[-1] <= USUAL


# Names that users' files import

PROMISED = ("scalelens.charts.style", "scalelens.charts.words")


def pages_of_users() -> dict[str, str]:
    """Texts that show code to be copied, by where they stand."""
    pages = {name: (ROOT / name).read_text() for name in ("CONTRIBUTING.md", "docs/generic.md")}
    return pages | {"identify --preset": preset_text("metrics.csv", ["step"], [])}


def imports(text: str) -> list[ast.Import | ast.ImportFrom]:
    """Statements in the code of a page, or in a file, that import from ScaleLens."""
    lines = re.findall(r"^[ \t]*((?:from|import) scalelens\b.*)$", text, re.MULTILINE)
    return [node for line in lines for node in ast.parse(line).body if isinstance(node, ast.Import | ast.ImportFrom)]


def names_of(node: ast.Import | ast.ImportFrom) -> dict[str, object]:
    """What an import binds.  Raises ImportError where it does not work."""
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name: importlib.import_module(alias.name) for alias in node.names}
    assert node.module
    values: dict[str, object] = {}
    for alias in node.names:
        bound: dict[str, object] = {}
        exec(f"from {node.module} import {alias.name} as name", bound)
        values[alias.asname or alias.name] = bound["name"]
    return values


def broken_promises(text: str) -> list[str]:
    """Imports of a text that fail, and attributes of what it imports that are not there."""
    broken: list[str] = []
    for node in imports(text):
        try:
            values = names_of(node)
        except ImportError:
            broken.append(ast.unparse(node))
            continue
        for name, value in values.items():
            used = set(re.findall(rf"(?<![\w./]){re.escape(name)}\.(\w+)", text))
            broken += [f"{name}.{attribute}" for attribute in sorted(used) if not hasattr(value, attribute)]
    return broken


@pytest.mark.parametrize("page", pages_of_users())
def test_what_a_page_imports_is_there(page: str) -> None:
    assert broken_promises(pages_of_users()[page]) == []


def test_a_preset_imports_what_reads_tables() -> None:
    assert [ast.unparse(node) for node in imports(pages_of_users()["identify --preset"])] == [
        "from scalelens import tabular"
    ]


def test_code_of_the_pages_is_python_or_sql() -> None:
    blocks = code_blocks((ROOT / "CONTRIBUTING.md").read_text())
    python = [block for block in blocks if not block.startswith("--")]
    assert len(blocks) > len(python) >= 2
    for block in python:
        ast.parse(block)


@pytest.mark.parametrize("module", PROMISED)
def test_what_charts_are_drawn_with_can_be_imported(module: str) -> None:
    assert importlib.import_module(module).__doc__


def test_a_broken_promise_is_named() -> None:
    text = "1. So:\n\n   ```python\n   from scalelens import tabular, tables\n   import scalelens.nowhere\n   ```\n"
    assert broken_promises(text) == ["import scalelens.nowhere"]
    assert broken_promises(text + "   tabular.read_as(); tabular.write_as()\n") == [
        "tabular.write_as",
        "import scalelens.nowhere",
    ]
    assert broken_promises("from scalelens.tables import NOTHING\n") == ["from scalelens.tables import NOTHING"]


# Names that are private to a module

# What the files of a folder define for those that read them.
FORMAT = {
    "ANCHORS",
    "GUESSES",
    "IN_HEAD",
    "LAST",
    "LATER",
    "SECOND_READ",
    "SETTINGS_ALONE",
    "VERSION",
    "recognise",
    "read",
    "Reader",
    "ColumnReader",
}
FINDING = {
    "PLACE", "SQL", "GLANCE", "CHARTS", "ABOUT_TRACES", "IS_REMARK", "ONLY_WITH_ROWS", "NUMBER_PLACE", "sentences", "nothing", "number",
    "run_to_draw", "charts", "QUERY", "question"}  # fmt: skip
TOOL = {"EXAMPLE", "QUERY", "CHANGES", "LIMIT_S", "Arguments", "answer"}
PROTOCOL = {
    "assistant.tools": TOOL,
    "audit.identities": {"find"},
    "charts": {"QUERY", "FACTS", "BY_FOLDER", "FACETS", "UNITS", "BARS", "PARAMETERS", "MOST_RUNS", "INSTEAD", "draw"},
    "cli": {"PANEL", "CONTEXT_SETTINGS"},
    "parsers": {*FORMAT, "COLUMNS", "HEADER", "SHAPE"},
    "parsing": FORMAT,
    "report.findings": FINDING,
    "tabular": FORMAT,
}


def module_name(path: Path, source: Path) -> str:
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def dotted(node: ast.expr) -> str:
    """A name with its dots; empty for any other expression."""
    if isinstance(node, ast.Attribute):
        return f"{owner}.{node.attr}" if (owner := dotted(node.value)) else ""
    return node.id if isinstance(node, ast.Name) else ""


IMPORTS, MAY_USE = (ast.Import, ast.ImportFrom), (ast.Attribute, ast.Call, ast.Constant)


def uses_of(module: ast.Module) -> set[str]:
    """What a file uses of others, by dotted names: imports, attributes of what it imports, and names in strings."""
    known, used, others = dict[str, str](), set[str](), list[ast.AST]()
    for node in ast.walk(module):
        if isinstance(node, IMPORTS):
            package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            known |= {alias.asname or alias.name: f"{package}{alias.name}" for alias in node.names}
            used |= {f"{package}{alias.name}" for alias in node.names}
        elif isinstance(node, MAY_USE):
            others.append(node)
    for node in others:
        if isinstance(node, ast.Attribute) and (owner := known.get(dotted(node.value))):
            used.add(f"{owner}.{node.attr}")
        elif isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            used.add(f"{known.get(dotted(node.args[0]))}.{node.args[1].value}")  # setattr(module, "NAME", ...)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "scalelens" in node.value:
            used |= {*re.findall(r"\bscalelens(?:\.\w+)+", node.value)}
            with contextlib.suppress(
                SyntaxError, ValueError
            ):  # code that another process runs; ValueError for a zero byte
                used |= uses_of(ast.parse(node.value))
    return used


def misnamed(package: Path, others: list[Path], pages: list[str]) -> list[str]:
    """Names of the modules of a package: public ones that nobody else uses, and private ones that somebody does."""
    defines, used = dict[Path, set[str]](), set[str]()
    for path in [*package.rglob("*.py"), *others]:
        module = ast.parse(path.read_text())
        used |= uses_of(module)
        defines[path] = defined(module)
    modules = {module_name(path, package.parent): path for path in package.rglob("*.py")}
    for file, name in (pair for page in pages for pair in re.findall(r"([\w/]+)\.py:\s?(\w+)", page)):
        used.add(f"{package.name}.{file.replace('/', '.')}.{name}")
    faults = []
    for name_of_module, path in modules.items():
        if path.name == "__init__.py" or path.parent.name == "runners":  # they import each other by file name
            continue
        names = {name for name in defines[path] if "." not in name and not name.startswith("__")}
        for folder, defined_for_all in PROTOCOL.items():
            names -= defined_for_all if name_of_module.startswith(f"{package.name}.{folder}.") else set()
        names -= {path.stem, path.stem.upper()}  # a command, and a table that statistics/functions.py looks up
        full_names = {name: f"{name_of_module}.{name}" for name in names}
        faults += [full for name, full in full_names.items() if name.startswith("_") == (full in used)]
    return sorted(faults)


def test_a_name_begins_with_an_underscore_where_only_its_module_uses_it() -> None:
    others = [path for folder in ("tests", "benchmarks", "docs") for path in (ROOT / folder).glob("*.py")]
    pages = [path.read_text() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]]
    assert misnamed(PACKAGE, others, pages) == []


def test_a_misnamed_name_is_told(tmp_path: Path) -> None:
    package = tmp_path / "scalelens"
    (package / "parsing").mkdir(parents=True)
    (package / "charts").mkdir()
    (package / "parsing" / "__init__.py").write_text("")
    defines = "READ = _LIMIT = 1\nclass Rows: ...\ndef _cut(): ...\ndef alone(): return _LIMIT\ndef shown(): ...\n"
    (package / "parsing" / "rows.py").write_text(defines)
    (package / "charts" / "bars.py").write_text("from scalelens.parsing import rows\nALONE = rows.READ\n")
    test = tmp_path / "test_rows.py"
    test.write_text("from scalelens.parsing.rows import Rows, _cut\n")
    page = "`parsing/rows.py:shown`"
    assert misnamed(package, [test], [page]) == [
        "scalelens.charts.bars.ALONE", "scalelens.parsing.rows._cut", "scalelens.parsing.rows.alone",
    ]  # fmt: skip


# Starting


@pytest.mark.parametrize(
    ("question", "format"), [("runs_overview", "csv"), ("batch_stats", "csv"), ("batch_stats", "table")]
)
def test_a_question_loads_only_what_every_question_uses(question: str, format: str, tmp_path: Path) -> None:
    home = tmp_path / "w"
    ingest([PACKAGE / "demo" / "logs" / "fp32-r1" / "rank0.log"], home)
    slow = "{'altair', 'h5py', 'pandas', 'polars', 'pyarrow.compute', 'pydantic', 'scipy', 'torch'}"
    loaded = f"atexit.register(lambda: print(*({slow} & set(sys.modules)), file=sys.stderr))"
    code = f"import atexit, sys; {loaded}; from scalelens.cli import main; main()"
    asked = [sys.executable, "-c", code, "query", question, "-w", str(home), "--format", format]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") >= 2
    assert done.stderr.splitlines()[-1] == ""  # of print()


def test_reading_a_log_loads_nothing_that_prints_or_computes(tmp_path: Path) -> None:
    slow = "{'altair', 'duckdb', 'pandas', 'polars', 'pyarrow.compute', 'pydantic', 'rich', 'scipy'}"
    loaded = f"atexit.register(lambda: print(*({slow} & set(sys.modules)), file=sys.stderr))"
    code = f"import atexit, sys; {loaded}; from scalelens.cli import main; main()"
    log = PACKAGE / "demo" / "logs" / "fp32-r1" / "rank0.log"
    read = [sys.executable, "-c", code, "ingest", str(log), "-w", str(tmp_path / "w")]
    done = subprocess.run(read, capture_output=True, text=True, check=True)
    assert "scalelens_run" in done.stderr
    assert done.stderr.splitlines()[-1] == ""  # of print()


def test_a_command_ends_at_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """With its exit code, all that it printed, and without the folder of DuckDB's temporary files."""
    home, temporary = tmp_path / "w", tmp_path / "temporary"
    temporary.mkdir()
    ingest([PACKAGE / "demo" / "logs" / "fp32-r1" / "rank0.log"], home)
    environment = {**os.environ, "TMPDIR": str(temporary), "SCALELENS_MEMORY": "40MB"}
    many = "SELECT sum(hash(a.range)) AS s FROM (SELECT range, md5(range::VARCHAR) AS m FROM range(400000) ORDER BY m) AS a"
    for statement, code in ((many, 0), ("FROM nowhere", 2)):
        asked = [sys.executable, "-m", "scalelens", "sql", statement, "-w", str(home)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == code and (done.stdout if code == 0 else done.stderr)
    assert not list(temporary.iterdir())


# Whole files

MERGED = re.compile(r"^(?:<{7}|>{7}) \S", re.MULTILINE)  # what a merge leaves where it could not decide


def test_what_is_tried_at_night_is_there() -> None:
    for name in SHARES:
        file, function = name.split(".")
        assert f"\ndef {function}(" in (ROOT / "tests" / f"{file}.py").read_text(), name


def test_no_file_was_left_half_merged() -> None:
    files = [path for name in ("docs", "src", "benchmarks") for path in (ROOT / name).rglob("*.*")]
    texts = [
        path for path in [*files, *ROOT.glob("*.md")] if path.suffix in (".md", ".py", ".sql", ".toml", ".css", ".js")
    ]
    assert len(texts) > 500
    assert [str(path) for path in texts if MERGED.search(path.read_text(encoding="utf-8"))] == []
