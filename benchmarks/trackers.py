"""Processor time and memory of reading what trackers keep: a million records of W&B and of MLflow.

    python benchmarks/trackers.py [--records 1000000]

The files are written first, as the tools write them: W&B with two summaries after each record.  Each is then ingested by
a process of its own, the start of the command included.  CPU time is that of the process; where a machine has other
work, it is the figure to trust.  Prints one JSON object.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from trackers import history, mlflow_database, run, summary, wandb_file


def records_of(count: int) -> Iterator[bytes]:
    yield run("large", {"micro_batch_size": 4})
    for k in range(count):
        values = {"train/loss": 1 / (k + 1), "lr": 1e-3, "tokens_per_s": 1000.25 + k % 7}
        yield history(k, 0.25 * k, values)
        yield summary({"_wandb|runtime": k})
        yield summary(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    records = parser.parse_args().records
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
