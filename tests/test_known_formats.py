"""What is kept of our formats, so that an ingest loads only those that a file may need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import scalelens.parsers
from conftest import FIXTURES
from scalelens.folders import modules_of
from scalelens.ingestion import known_formats
from scalelens.ingestion.known_formats import KnownFormat, our_formats
from scalelens.parsing.format_file import CONSTANTS, is_of_lines, methods_of


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of caches: empty, and there is none yet of ScaleLens."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "scalelens"


def kept_in(cache: Path) -> list[Path]:
    return sorted(cache.iterdir())


def test_what_is_kept_is_what_the_files_say(cache: Path) -> None:
    modules = modules_of(scalelens.parsers)
    assert our_formats() == modules
    known = our_formats()
    assert known.keys() == modules.keys() and all(isinstance(format, KnownFormat) for format in known.values())
    for name, module in modules.items():
        for constant in CONSTANTS:
            one, other = vars(known[name]).get(constant), vars(module).get(constant)
            assert one == (list(other) if isinstance(other, tuple | list) else other), (name, constant)
        assert methods_of(known[name]) == methods_of(module), name
        assert is_of_lines(known[name]) == is_of_lines(module), name
        assert known[name].__doc__ == module.__doc__, name
        assert known[name].__file__ == module.__file__, name


def test_it_is_made_anew_when_a_file_changes(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    (package / "parsing").mkdir(parents=True)
    (package / "parsing" / "one.py").write_text("a")
    monkeypatch.setattr(known_formats, "PACKAGE", package)
    our_formats()
    before = kept_in(cache)
    our_formats()
    assert kept_in(cache) == before and len(before) == 1
    os.utime(package / "parsing" / "one.py", ns=(0, 1))
    our_formats()
    assert kept_in(cache) != before and len(kept_in(cache)) == 1


@pytest.mark.parametrize("damage", [b"", b"\x81", b"{}", b"\x81\xa1a\x01"])
def test_what_is_damaged_is_made_anew(cache: Path, damage: bytes) -> None:
    our_formats()
    [file] = kept_in(cache)
    whole = file.read_bytes()
    file.write_bytes(damage)
    assert our_formats() == modules_of(scalelens.parsers)
    assert file.read_bytes() == whole


def test_a_folder_that_others_can_write_to_is_not_used(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    assert our_formats() == our_formats() == modules_of(scalelens.parsers)
    assert not kept_in(cache)


def test_a_log_loads_few_formats(cache: Path, tmp_path: Path) -> None:
    our_formats()
    log = sorted((FIXTURES / "megatron").glob("*.log"))[0]
    code = (
        "import sys; from pathlib import Path; from scalelens.ingestion.ingest import ingest; "
        "ingest([Path(sys.argv[1])], Path(sys.argv[2]), jobs=1); "
        "print(sum(name.startswith('scalelens.parsers.') for name in sys.modules))"
    )
    asked = [sys.executable, "-c", code, str(log), str(tmp_path / "warehouse")]
    assert 1 <= int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout) <= 40
