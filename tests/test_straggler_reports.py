"""Ranks that Megatron's straggler detector and NVIDIA's Resiliency Extension name, as evidence of `outlier_gpus`."""

from collections.abc import Sequence
from pathlib import Path

import scalelens


def megatron_line(longest: tuple[float, int], clock: tuple[int, int], data: tuple[float, int] = (30.0, 3)) -> str:
    """A report: the longest time in ms, the lowest clock in MHz and the longest wait for data in ms, each with its rank."""
    return (
        f"0: INFO:megatron.core.utils:[2026-03-14 23:07:56] | MnRtt/Rnk: 3000.00ms/1 | "
        f"MxRtt/Rnk: {longest[0]:.2f}ms/{longest[1]} | MnClk/Rnk: {clock[0]}MHz/{clock[1]} | MxClk/Rnk: 1980MHz/0 | "
        f"MnDRtt/Rnk: 10.00ms/2 | MxDRtt/Rnk: {data[0]:.2f}ms/{data[1]} | MnEtpt/Rnk: 296.02TF/0 | "
        f"MxEtpt/Rnk: 297.32TF/8\n"
    )


def flagscale_report(step: int, slow: float, named: str) -> str:
    times = "".join(f"    Rank {rank}: {slow if rank == 2 else 10.0}ms\n" for rank in range(4))
    return f"=== Straggler Report at Step {step} ===\n\n{named}\n\nSection Timings (ms):\n\n  optimizer:\n{times}\n"


def nvrx_report(worst: Sequence[tuple[int, float]]) -> str:
    scores = [f"  Rank={rank} Node=n{rank // 8} Score={score:.2f}\n" for rank, score in worst]
    best = " Best performing 1/16 ranks:\n  Rank=0 Node=n0 Score=1.00\n"
    return "".join(["GPU relative performance:\n", f" Worst performing {len(worst)}/16 ranks:\n", *scores, best])


def answers(folder: Path, text: str) -> tuple[dict[tuple[int, str], tuple[object, ...]], dict[int | None, str]]:
    """What stands out by rank and measure, and the evidence of outlier_gpus by rank."""
    folder.mkdir()
    (folder / "train.log").write_text(text)
    scalelens.ingest(folder, warehouse=folder / "w")
    reports = scalelens.query("straggler_reports", warehouse=folder / "w").filter(stands_out=True)
    named = {
        (row["rank"], row["measure"]): (row["tool"], row["n_named"], row["n_reports"], round(row["excess"], 3))
        for row in reports.iter_rows(named=True)
    }
    rows = scalelens.query("outlier_gpus", warehouse=folder / "w").iter_rows(named=True)
    return named, {row["rank"]: f"{row['verdict']}: {row['evidence']}" for row in rows}


def test_a_rank_that_megatron_names_again_and_again(tmp_path: Path) -> None:
    slow = [megatron_line((3600, 7), (1500, 7)) for _ in range(5)]
    named, evidence = answers(tmp_path / "a", "".join([*slow, megatron_line((3650, 4), (1900, 2))]))
    assert named == {(7, "operations"): ("Megatron", 5, 6, 0.2), (7, "clock"): ("Megatron", 5, 6, 0.242)}
    assert evidence == {
        7: "unknown: Megatron: clock lower by 24 % in 5 of 6 reports; "
        "Megatron: operations slower than the fastest rank by 20 % in 5 of 6 reports"
    }


def test_who_is_named_by_turns_or_for_little_does_not_stand_out(tmp_path: Path) -> None:
    by_turns = [megatron_line((3600, rank), (1950, 7)) for rank in range(6)]
    assert answers(tmp_path / "a", "".join(by_turns)) == ({}, {})
    little = [megatron_line((3100, 7), (1950, 7), (100.0, 3)) for _ in range(6)]
    assert answers(tmp_path / "b", "".join(little)) == ({}, {})


def test_loading_data_is_held_against_the_whole_time(tmp_path: Path) -> None:
    named, _ = answers(tmp_path / "a", megatron_line((3100, 1), (1950, 7), (630.0, 3)))
    assert named == {(3, "data loading"): ("Megatron", 1, 1, 0.2)}


def test_scores_of_nvrx_are_counted_by_report(tmp_path: Path) -> None:
    reports = [nvrx_report([(13, 0.71), (12, 0.97)]) for _ in range(3)] + [nvrx_report([(9, 0.8), (13, 0.72)])]
    named, evidence = answers(tmp_path / "a", "\n".join(reports))
    assert named == {(13, "kernels"): ("NVRx", 4, 4, 0.408)}
    assert evidence == {13: "unknown: NVRx: kernels slower than the fastest rank by 41 % in 4 of 4 reports"}


def test_flagscale_names_ranks_in_some_of_its_reports(tmp_path: Path) -> None:
    named = [flagscale_report(step, 15.0, "\u26a0 Stragglers detected: [2]") for step in (10, 20)]
    none = flagscale_report(30, 10.0, "No stragglers detected")
    found, evidence = answers(tmp_path / "a", "".join([*named, none]))
    assert found == {(2, "sections"): ("FlagScale", 2, 3, 0.5)}
    assert evidence == {
        2: "unknown: FlagScale: sections slower than the fastest rank by 50 % in 2 of 3 reports",
    }
