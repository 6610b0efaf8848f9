"""The noise beside a difference: the smallest difference that so many runs a side can show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalelens.cli.output import errors

if TYPE_CHECKING:
    import polars as pl

RUNS_A_SIDE = (1, 3, 5, 10)


def print_noise(noise_of: str | None, least: Sequence[float | None]) -> None:
    """Prints the limits of 1, 3, 5 and 10 runs a side, and which runs they rest on."""
    if noise_of is None or None in least:
        return
    limits = ", ".join(f"{k} a side {100 * (limit or 0):.1f} %" for k, limit in zip(RUNS_A_SIDE, least, strict=True))
    errors.print(f"noise of {noise_of}: smallest difference that runs show: {limits}", style="dim", markup=False)


def print_noise_of_history(rows: "pl.DataFrame") -> None:
    """Prints the noise of each series around its levels; of a series of fewer than ten runs nothing."""
    import polars as pl

    from scalelens.statistics.noise import FEWEST, noise

    for (series,), group in rows.group_by("series", maintain_order=True):
        ratios = group.select(pl.col("run_value") / pl.col("level")).to_series().to_numpy()
        if len(ratios) >= FEWEST:
            found = noise(ratios)
            print_noise(f"{series}, {len(ratios)} runs", [found.least_1, found.least_3, found.least_5, found.least_10])
