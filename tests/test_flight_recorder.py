"""The flight recorder's dumps: which rank did not come, and a pickle that would do harm does none."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import scalelens
from asking import answer
from scalelens.parsing.plain_pickle import filled_dicts

RANKS, HUNG, CALLS = 64, 17, 200


def dump(rank: int, calls: int, state: str = "completed", collective: str = "all_reduce") -> dict[str, Any]:
    """What a rank writes that has made some calls, of which the last is in a state."""
    entries = [
        {
            "record_id": n, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": n + 1, "p2p_seq_id": 0,
            "op_id": n + 1, "profiling_name": f"nccl:{collective if n + 1 == calls else 'all_gather'}",
            "input_sizes": [[1024]], "input_dtypes": ["BFloat16"], "time_created_ns": 10**18 + n * 10**6 + rank,
            "state": state if n + 1 == calls else "completed", "retired": n + 1 < calls, "timeout_ms": 600_000, "is_p2p": False,
        }
        for n in range(max(calls - 50, 0), calls)  # a recorder keeps the newest
    ]  # fmt: skip
    ranks = ", ".join(map(str, range(RANKS)))
    return {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": f"[{ranks}]"}}, "entries": entries}  # fmt: skip


def where_ranks_stood(folder: Path, dumps: dict[int, dict[str, Any]]) -> dict[int, tuple[Any, ...]]:
    """Verdict, collective and last common call of each rank; every other dump is a pickle."""
    folder.mkdir()
    for rank, content in dumps.items():
        path = folder / f"nccl_trace_rank_{rank}"
        path.write_bytes(pickle.dumps(content, protocol=2) if rank % 2 else json.dumps(content).encode())
    scalelens.ingest(folder, warehouse=folder / "w")
    rows = scalelens.query("stuck_collectives", warehouse=folder / "w").iter_rows(named=True)
    return {row["rank"]: (row["verdict"], row["waits_in"], row["last_common"], row["missing_ranks"]) for row in rows}


def test_the_rank_that_did_not_come_is_named(tmp_path: Path) -> None:
    dumps = {rank: dump(rank, CALLS - (rank == HUNG), "started") for rank in range(RANKS)}
    stood = where_ranks_stood(tmp_path / "dumps", dumps)
    assert stood.pop(HUNG) == ("behind", "all_reduce", CALLS - 1, 0)
    assert set(stood.values()) == {("waits", "all_reduce", CALLS - 1, 0)}


@pytest.mark.parametrize(
    ("odd", "verdict", "others", "waits_in"),
    [
        (dump(3, CALLS, "scheduled"), "not begun", "not done", "all_reduce"),
        (dump(3, CALLS, "started", "broadcast"), "mismatch", "mismatch", "all_reduce or broadcast"),
        (dump(3, CALLS, "started"), "not done", "not done", "all_reduce"),
    ],
)
def test_ranks_that_all_called_and_one_that_is_odd(
    tmp_path: Path, odd: dict[str, Any], verdict: str, others: str, waits_in: str
) -> None:
    dumps = {rank: dump(rank, CALLS, "started") for rank in range(8)} | {3: odd}
    stood = where_ranks_stood(tmp_path / "dumps", dumps)
    assert stood.pop(3) == (verdict, waits_in, CALLS, RANKS - 8)
    assert set(stood.values()) == {(others, waits_in, CALLS, RANKS - 8)}


class Harmful:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("harm-done"),)


def test_a_hostile_pickle_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = dump(0, 3) | {"harm": Harmful()}
    report = scalelens.ingest(*written(tmp_path, pickle.dumps(content, protocol=2)), warehouse=tmp_path / "w")
    assert not (tmp_path / "harm-done").exists()
    assert [entry.status for entry in report.entries] == ["partial"]
    reasons = answer(tmp_path / "w", "SELECT reason FROM problems").fetchall()
    assert "contains more than plain containers" in reasons[0][0]
    assert answer(tmp_path / "w", "SELECT count(*) FROM events").fetchall() == [(3,)], "the rest is kept"


def written(folder: Path, content: bytes) -> list[Path]:
    path = folder / "nccl_trace_rank_0"
    path.write_bytes(content)
    return [path]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_containers_come_as_they_are(protocol: int) -> None:
    inner = {"text": "a", "numbers": [1, 300, 1 << 40, -5, 0.5, None, True, False], "pairs": ("a", ("b", 1), ())}
    outer = {"inner": inner, "again": [inner, inner]}
    *_, last = filled_dicts(pickle.dumps(outer, protocol=protocol))
    assert last == outer


def test_damage_is_a_sentence(tmp_path: Path) -> None:
    content = pickle.dumps(dump(0, 3), protocol=2)
    for end in range(len(content)):
        with pytest.raises(ValueError):
            list(filled_dicts(content[:end]))
    far = b"\x80\x02}r\xff\xff\xff\x7f."  # asks Python's own unpickler for a table of 2^31 places
    assert list(filled_dicts(far)) == []
