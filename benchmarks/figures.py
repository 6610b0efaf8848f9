"""What a figure of many marks costs before Vega draws it.

    python benchmarks/figures.py [--rows 20000] [--rounds 3]

Rows become a figure of two layers, as the charts make them, and then its Vega-Lite specification.  Printed are the
seconds of the processor of both, each the least of the rounds.
"""

import argparse
import time

import altair as alt
from altair.utils import schemapi

from scalelens.charts import style
from scalelens.report import rendering


def drawn(n_rows: int) -> tuple[float, float]:
    """Seconds of the processor for the figure, and for its specification."""
    rows = [{"step": step, "step_s": 0.1 + step % 7 / 100} for step in range(n_rows)]
    begun = time.process_time()
    with schemapi.debug_mode(False):  # as `plot` does
        points = alt.Chart(style.values(rows)).encode(x="step:Q", y="step_s:Q")
        panel = style.Panel(alt.layer(points.mark_line(), points.mark_point()))
        figure = style.figure([[panel]], [], ["Times of steps."])
    made = time.process_time()
    rendering.specification(figure, {})
    return made - begun, time.process_time() - made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds = [drawn(options.rows) for _ in range(options.rounds)]
    figure_s, specification_s = map(min, zip(*rounds, strict=True))
    print(f"rows,figure_s,specification_s\n{options.rows},{figure_s:.3f},{specification_s:.3f}")


if __name__ == "__main__":
    main()
