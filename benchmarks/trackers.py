"""Processor time and memory of reading what trackers keep: a million records of W&B and of MLflow.

    python benchmarks/trackers.py [--records 1000000]

The files are written first, as the tools write them: W&B with two summaries after each record.  Its messages are made
once, with a gap for each number, and filled with numbers of a fixed width: else writing takes longer than all the rest.
Each file is then ingested by a process of its own, the start of the command included.  CPU time is that of the process;
where a machine has other work, it is the figure to trust.  Prints one JSON object.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from trackers import BEGAN, HISTORY, SUMMARY, field, mlflow_database, run, wandb_file

_LOGGED = {"train/loss": "0.0000000000000000", "lr": "0.001", "tokens_per_s": "1000.25"}
_OWN = {"_step": "1000000", "_runtime": "250000.00", "_timestamp": f"{BEGAN}.00"}
_BEFORE, _BEFORE_S = 1_000_000, 250_000  # steps and seconds of the run before: so many digits has each number

_MOST = 3_000_000


def gaps_in(numbers: dict[str, str]) -> bytes:
    """The items of these names, to be filled by `%` with texts as long as these."""
    items = (field(1, field(2, name) + field(16, "#" * len(number))) for name, number in numbers.items())
    return re.sub(rb"#+", b"%b", b"".join(items).replace(b"%", b"%%"))


def records_of(count: int) -> Iterator[bytes]:
    yield run("large", {"micro_batch_size": 4})
    record, short = gaps_in(_LOGGED | _OWN), gaps_in(_LOGGED)
    of_client = field(SUMMARY, field(1, field(2, "_wandb") + field(2, "runtime") + field(16, "250000")))
    for k in range(count):
        logged = (b"%.16f" % (1 / (k + 1)), b"0.001", b"%.2f" % (1000.25 + k % 7))
        seconds = _BEFORE_S + 0.25 * k
        own = (b"%d" % (_BEFORE + k), b"%.2f" % seconds, b"%.2f" % (BEGAN + seconds))
        yield field(HISTORY, record % (*logged, *own) + field(2, field(1, _BEFORE + k)))
        yield of_client
        yield field(SUMMARY, short % logged)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000, help=f"at most {_MOST:,}")
    records = parser.parse_args().records
    if records > _MOST:
        parser.error(f"at most {_MOST:,} records: their numbers have so many digits")
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        wandb, mlflow = Path(folder, "run-large.wandb"), Path(folder, "mlflow.db")
        wandb.write_bytes(wandb_file(records_of(records)))
        metrics = ((key, 1 / (k + 1), 250 * k, k) for k in range(records // 2) for key in ("loss", "lr"))
        mlflow_database(mlflow, [{"name": "large", "metrics": metrics}])
        for path in (wandb, mlflow):
            arguments = [
                sys.executable,
                "-m",
                "scalelens",
                "ingest",
                str(path),
                "-w",
                f"{path}-warehouse",
                "--jobs",
                "1",
            ]
            pid = os.spawnv(os.P_NOWAIT, sys.executable, arguments)
            _, status, usage = os.wait4(pid, 0)
            measured[path.name] = {
                "bytes": path.stat().st_size, "cpu_s": usage.ru_utime + usage.ru_stime, "status": status,
                "memory_mb": usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2),
            }  # fmt: skip
    print(json.dumps({"records": records, "files": measured}, indent=1))


if __name__ == "__main__":
    main()
