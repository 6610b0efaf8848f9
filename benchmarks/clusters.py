"""How much faster two Dask workers read a folder than one process.

    python benchmarks/clusters.py FOLDER [--rounds 3]

Both read in turn.  Printed are the seconds of each round by the clock, those of the processors for the one process, and
the median ratio of the former.  One process keeps more than one core busy, because it writes in another thread: two
workers on two cores gain at most twice the ratio of its seconds to its processor seconds.
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
    print("one_wall_s,one_processor_s,two_wall_s,load")
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(options.rounds):
            one, two = (seconds(options.folder, Path(scratch) / "w", dask) for dask in (None, "local"))
            ratios.append(one[0] / two[0])
            print(",".join(f"{value:.1f}" for value in (*one, two[0], os.getloadavg()[0])), flush=True)
    print(f"two workers are {median(ratios):.2f} times as fast")


if __name__ == "__main__":
    main()
