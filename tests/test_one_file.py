"""A feature touches one file: each test adds or edits one in a copy of the package, and a new process finds it there."""

import filecmp
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import scalelens
from conftest import ROOT
from logs import megatron_line
from recipes import recipe
from scalelens.tables import SCHEMA_VERSION

PACKAGE = ROOT / "src" / "scalelens"
STEPS = "SELECT step, step_s FROM steps ORDER BY step"
MYTOOL = "hello\nmytool step 12 took 0.5 s\nmytool step 13 took 1.5 s\n"

# Commands one after the other in one process; what each prints, behind the package that they ran in.
RUN = """
import contextlib, io, json, sys
import scalelens
from scalelens.cli import make_app

printed = [scalelens.__file__]
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        make_app()(command, standalone_mode=False)
    printed.append(out.getvalue())
print(json.dumps(printed))
"""


class Tree:
    """A copy of the package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "src" / "scalelens"
        shutil.copytree(PACKAGE, self.package)

    def python(self, *arguments: str | Path, **variables: str) -> str:
        """What Python prints that imports the copy and nothing of the folder it is started in."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SCALELENS_")}
        variables = {"PYTHONPATH": str(self.package.parent), "PYTHONSAFEPATH": "1", "COLUMNS": "200", **variables}
        command = [sys.executable, *map(str, arguments)]
        ran = subprocess.run(command, cwd=self.folder, env=clean | variables, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def run(self, *commands: str, **variables: str) -> list[str]:
        """What commands print, written as in a shell."""
        words = json.dumps([shlex.split(command) for command in commands])
        package, *printed = json.loads(self.python("-c", RUN, words, **variables))
        assert Path(package).parent == self.package
        return printed

    def changed(self) -> list[str]:
        """Files that the package does not have, or has otherwise."""
        files = {path.relative_to(self.package) for path in self.package.rglob("*") if path.is_file()}
        sources = [file for file in sorted(files) if "__pycache__" not in file.parts]
        return [
            str(file)
            for file in sources
            if not (PACKAGE / file).exists() or not filecmp.cmp(PACKAGE / file, self.package / file, shallow=False)
        ]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that the package as it is has written: five steps of a second."""
    folder = tmp_path_factory.mktemp("before")
    (folder / "job.log").write_text("".join(megatron_line(step, 1000.0 + step) for step in range(1, 6)))
    scalelens.ingest(folder / "job.log", warehouse=folder / "w", jobs=1)
    return folder / "w"


def test_a_format(tree: Tree) -> None:
    (tree.package / "parsers" / "mytool.py").write_text(recipe("Add a format"))
    (tree.folder / "own.log").write_text(MYTOOL)
    _, rows, listed = tree.run("ingest -w w own.log", f"sql '{STEPS}' -w w --format csv", "formats")
    assert rows == "step,step_s\n12,0.5\n13,1.5\n"
    assert "mytool,My tool's progress line." in listed
    assert tree.changed() == ["parsers/mytool.py"]


def test_the_fixture_of_a_format_is_found_by_the_tests_of_all(tree: Tree) -> None:
    (tree.package / "parsers" / "mytool.py").write_text(recipe("Add a format"))
    fixtures = tree.folder / "tests" / "fixtures" / "mytool"
    fixtures.mkdir(parents=True)
    (fixtures / "first.log").write_text(MYTOOL)
    for name in ("conftest.py", "spread.py", "test_formats.py"):
        shutil.copy(ROOT / "tests" / name, tree.folder / "tests")
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_formats.py", "-k", "mytool", "--update")
    assert "4 passed" in tree.python(*tests, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    golden = (fixtures / "first.steps.csv").read_text()
    assert golden.splitlines()[1:] == ["0,2,train,12,0.5,1,instant,rank", "0,3,train,13,1.5,1,instant,rank"]
    assert sorted(path.name for path in fixtures.iterdir()) == ["first.log", "first.steps.csv"], "its status is ok"
    assert tree.changed() == ["parsers/mytool.py"]


def test_a_query(tree: Tree, home: Path) -> None:
    (tree.package / "queries" / "steps" / "slow_steps.sql").write_text(recipe("Add a query"))
    listed, rows = tree.run("queries", f"query slow_steps slowest_s=1.003 -w {home} --format csv")
    assert "steps,slow_steps,Steps slower than a limit.,Which steps took too long?,slowest_s" in listed
    assert [line.split(",")[1:] for line in rows.splitlines()] == [["step", "step_s"], ["4", "1.004"], ["5", "1.005"]]
    assert tree.changed() == ["queries/steps/slow_steps.sql"]


CHART = '''"""Steps as points.

Shows: the time of each step.
Query: exclusions
Encodings: step against step_s
Source: this test
"""

import altair as alt

from scalelens.charts import style

QUERY = "exclusions"


def draw(rows, left_out, parameters, page):
    points = alt.Chart(style.values(rows.to_dicts())).mark_point().encode(x="step:Q", y="step_s:Q")
    return style.figure([[style.Panel(points)]], [], ["One run."], page)
'''


def test_a_chart(tree: Tree, home: Path) -> None:
    (tree.package / "charts" / "left_out.py").write_text(CHART)
    listed, _ = tree.run("charts", f"plot left_out -w {home} -o drawn.json")
    assert "left_out,Steps as points,exclusions" in listed
    assert "One run." in (tree.folder / "drawn.json").read_text()
    assert tree.changed() == ["charts/left_out.py"]


def test_a_command(tree: Tree) -> None:
    (tree.package / "cli" / "hello.py").write_text(recipe("Add a command"))
    listed, said = tree.run("--help", "hello")
    panel_of_queries = listed.partition(" Ask ")[2].partition(" Draw ")[0]
    assert "hello" in panel_of_queries and "Say hello." in panel_of_queries
    assert said == "hello\n"
    assert tree.changed() == ["cli/hello.py"]


def test_a_column(tree: Tree, home: Path) -> None:
    tables = (tree.package / "tables.py").read_text()
    before, version = 'Column("data_s", FLOAT,', f"SCHEMA_VERSION = {SCHEMA_VERSION}"
    assert tables.count(before) == 1 and tables.count(version) == 1
    column = 'Column("waited_s", FLOAT, "seconds of the step spent waiting for others"),\n        '
    tables = tables.replace(before, column + before).replace(version, f"SCHEMA_VERSION = {SCHEMA_VERSION + 1}")
    (tree.package / "tables.py").write_text(tables)
    (tree.folder / "formats").mkdir()
    fills_it = recipe("Add a format").replace("averaged_steps=1,", "averaged_steps=1, waited_s=0.25,")
    (tree.folder / "formats" / "mytool.py").write_text(fills_it)
    (tree.folder / "own.log").write_text(MYTOOL)
    shutil.copytree(home, tree.folder / "w")
    asked = "SELECT step, waited_s, step_s FROM steps ORDER BY step"
    described, _, rows = tree.run(
        "tables steps", "ingest -w w own.log --formats formats", f"sql '{asked}' -w w --format csv"
    )
    assert "steps,waited_s,double,seconds of the step spent waiting for others" in described
    filled = "12,0.25,0.5\n13,0.25,1.5\n"
    assert rows == "step,waited_s,step_s\n1,,1.001\n2,,1.002\n3,,1.003\n4,,1.004\n5,,1.005\n" + filled
    assert tree.changed() == ["tables.py"]
