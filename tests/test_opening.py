"""The cache of commit records: the same answers as from the records, whatever happens to the cache."""

import subprocess
import sys
from pathlib import Path

import pytest

from scalelens.database import opening
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.warehouse.compact import compact
from scalelens.warehouse.log import Warehouse
from test_warehouse import a_history, everything, records, steps_by_path, without_digest, write_log


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A warehouse with a sidecar, some of whose segments hold rows that no longer count."""
    home, logs = tmp_path / "warehouse", tmp_path / "logs"
    a_history(home, logs)
    (logs / "scalelens.toml").write_text('[labels]\nstudy = "b"\n[nonsense]\nx = 1\n')
    ingest([logs], home)
    return home


def caches(home: Path) -> list[Path]:
    return sorted((home / "_cache").glob("*"))


def from_records(home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[object]]:
    with monkeypatch.context() as context:
        context.setattr(opening, "read_cache", lambda path: None)
        context.setattr(opening, "write_cache", lambda *_: None)
        return everything(home)


def without_understanding(monkeypatch: pytest.MonkeyPatch, home: Path) -> dict[str, list[object]]:
    """All rows, where the records may be read and not understood."""
    with monkeypatch.context() as context:
        context.delattr(Warehouse, "records")
        return everything(home)


def test_answers_from_the_cache_are_those_of_the_records(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from_the_records = from_records(home, monkeypatch)
    assert caches(home) == [] and from_the_records["problems"]
    assert everything(home) == from_the_records
    assert len(caches(home)) == 1
    assert without_understanding(monkeypatch, home) == from_the_records


def test_each_commit_has_a_cache_of_its_own(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything(home)
    first = caches(home)
    ingest([write_log(tmp_path / "logs" / "late.log", 7)], home)
    assert steps_by_path(home)["late.log"] == 7
    assert len(caches(home)) == 1 and caches(home) != first
    Warehouse(home).forget([str(tmp_path / "logs" / "late.log")])
    assert "late.log" not in steps_by_path(home)
    assert everything(home) == from_records(home, monkeypatch)


@pytest.mark.parametrize("of_an_older_version", [False, True])
def test_an_altered_record_is_noticed(home: Path, of_an_older_version: bool) -> None:
    record = home / "_log" / records(home)[-1]
    if of_an_older_version:
        record = record.rename(without_digest(record))
    everything(home)
    record.write_bytes(record.read_bytes().replace(b"study", b"studx"))
    if of_an_older_version:  # nobody can tell, but the answer is that of the record
        assert any("studx" in row for row in everything(home)["params"])
    else:
        with pytest.raises(UserError, match="is damaged"):
            everything(home)


def test_a_missing_record_is_noticed(home: Path) -> None:
    everything(home)
    (home / "_log" / records(home)[1]).unlink()
    with pytest.raises(UserError, match="is gone"):
        everything(home)


def test_an_altered_cache_is_made_again(home: Path) -> None:
    before = everything(home)
    cache = caches(home)[0]
    whole = cache.read_bytes()
    damaged = [b"", whole[:10], whole[:-1], whole + b"\0"]
    damaged += [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in range(0, len(whole), len(whole) // 40)]
    for content in damaged:
        cache.write_bytes(content)
        assert opening.read_cache(cache) is None
    assert everything(home) == before
    assert caches(home)[0].read_bytes() == whole


def test_a_cache_that_cannot_be_written_costs_time_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "_cache").write_text("a file where the folder should be")
    assert everything(home) == from_records(home, monkeypatch)


def test_other_code_does_not_use_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything(home)
    first = caches(home)
    monkeypatch.setattr(opening, "digest_of_code", lambda: "other")
    everything(home)
    assert len(caches(home)) == 1 and caches(home) != first


def test_the_digest_is_of_all_code_that_understands_records() -> None:
    modules = {Path(module).stem for module in opening.code_files()}
    assert {"joining", "path_facts", "live", "log", "part_facts", "record_tables", "devices", "tables"} <= modules


def test_compact_erases_what_was_forgotten_from_the_cache_too(home: Path, tmp_path: Path) -> None:
    everything(home)
    (content,) = map(opening.read_cache, caches(home))
    assert content and any("copy.log" in path for path in opening.state_in(content).entry_records["path"].to_pylist())
    Warehouse(home).forget([str(tmp_path / "logs" / "copy.log")])
    compact(home)
    assert caches(home) == []


def test_a_question_does_not_load_what_interprets_records(home: Path) -> None:
    everything(home)
    asked = f"import sys, scalelens; scalelens.query('batch_stats', {str(home)!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scalelens.runs.joining", "scalelens.database.record_state"} & {*loaded}
