"""A release is whole: its wheel holds every file of the package, its version is said once, its man page is current."""

import importlib
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT
from scalelens.version import __version__

PACKAGE = "src/scalelens"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def tracked(folder: str) -> set[str]:
    """Files that git knows in a folder, without names of tests that other processes write meanwhile."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", folder]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout")
    return {name for name in listed.split("\0") if name and (ROOT / name).exists()}


def test_nothing_that_git_ignores_lies_in_the_package() -> None:
    """hatchling leaves out of a wheel what .gitignore names, tracked or not."""
    names = sorted(tracked(PACKAGE))
    assert sum(not name.endswith(".py") for name in names) > 100
    command = ["git", "-C", str(ROOT), "check-ignore", "--no-index", "--stdin"]
    assert subprocess.run(command, input="\n".join(names), capture_output=True, text=True).stdout == ""
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == [PACKAGE] and not {"include", "exclude", "only-include"} & set(wheel)


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    copy = tmp_path / "copy"
    for name in tracked("."):
        if name.startswith(f"{PACKAGE}/") or "/" not in name or name == "docs/scalelens.1":
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=copy, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        held = set(wheel.namelist())
    assert {name.removeprefix("src/") for name in tracked(PACKAGE)} - held == set()
    assert f"scalelens-{__version__}.data/data/share/man/man1/scalelens.1" in held


def test_the_sdist_names_what_the_wheel_is_built_from() -> None:
    names = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all((ROOT / name.removeprefix("/")).exists() for name in names)
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert {"/src", *(f"/{name}" for name in shared), f"/{PROJECT['project']['readme']}"} <= set(names)


def test_the_version_is_the_same_wherever_it_is_said() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert PROJECT["project"]["dynamic"] == ["version"]
    newest = re.search(r"^## (\S+), (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    citation = (ROOT / "CITATION.cff").read_text()
    assert newest and newest[1] == __version__
    assert f"\nversion: {__version__}\n" in citation
    assert f'\ndate-released: "{newest[2]}"\n' in citation
    assert f"\nlicense: {PROJECT['project']['license']}\n" in citation


def test_the_man_page_is_printed_from_the_commands(golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    page = importlib.import_module("manual").page()
    golden(page, ROOT / "docs/scalelens.1")
    for command in ("ingest", "query", "trace critical\\-path"):
        assert f"\n.SS scalelens {command}\n" in page
    if groff := shutil.which("groff"):
        done = subprocess.run([groff, "-man", "-Tascii", "-ww"], input=page, capture_output=True, text=True, check=True)
        assert done.stderr == ""


def test_a_missing_python_is_named_by_make() -> None:
    command = ["make", "-C", str(ROOT), "--no-print-directory", "test-megatron-0.19", "PYTHON312=python3.nowhere"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "megatron-core 0.19 needs Python 3.12 or newer, and there is no python3.nowhere" in done.stderr
