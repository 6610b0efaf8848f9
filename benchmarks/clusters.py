"""How much faster two Dask workers read a folder than one process, and what that costs in processor time.

    python benchmarks/clusters.py FOLDER [--rounds 3]

Both read in turn.  Printed are the seconds of each round, by the clock and of all processors together, and the median
ratio of the former.  On a machine that others use too, the clock says how the machine was shared: then the processor time
tells how much more work two workers have, and so what they can gain at most.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median

from scalelens.ingestion.ingest import ingest


def seconds(folder: Path, home: Path, dask: str | None) -> tuple[float, float]:
    """Seconds of an ingest in a process of its own, by the clock and of its processors."""
    shutil.rmtree(home, ignore_errors=True)
    begin, process = time.perf_counter(), os.fork()
    if not process:
        report = ingest([folder], home, jobs=2 if dask else 1, dask=dask)
        os._exit(0 if report.entries else 1)
    _, status, usage = os.wait4(process, 0)
    assert status == 0
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ratios = []
    print("one_wall_s,one_processor_s,two_wall_s,two_processor_s,load")
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(options.rounds):
            one, two = (seconds(options.folder, Path(scratch) / "w", dask) for dask in (None, "local"))
            ratios.append(one[0] / two[0])
            print(",".join(f"{value:.1f}" for value in (*one, *two, os.getloadavg()[0])), flush=True)
    print(f"two workers are {median(ratios):.2f} times as fast")


if __name__ == "__main__":
    main()
