"""Files of trackers, written by the tools in several versions, held against what the scripts logged.

    python tests/tracker_versions.py [--rows 200,5000,100000] [--tools wandb,mlflow] [--sites FOLDER] > trackers.csv

Each version is installed into a folder of its own (`pip install --target`), which needs the package index once.  The
script logs a configuration and records, and writes down when.  For the first size there are two runs and, where the
tool keeps something of it, a third one that is killed.  Every row, value, time and setting that is read must equal what
was logged; of the killed run the rows must be the beginning of it.  trackio gives a record the time at which it sends it,
after the call: that must be the time that its database keeps, and lie between the call and the end of the script.  One
line of CSV for each run: `ok`, or the first difference.
"""

import argparse
import csv
import itertools
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from scalelens.parsing.source import open_source
from test_formats import tables_of

_Tables = dict[str, list[dict[str, Any]]]


class Tool(NamedTuple):
    """How a tracker is installed and used, and what it leaves."""

    versions: tuple[str, ...]  # the last of each of the last three minor versions
    packages: str  # for `pip install`, with the version in braces
    begin: str
    log: str  # one record: `loss`, `norm` and `step` are known
    end: str
    files: str
    kept_times: str = ""  # SQL for the times of a run's records, where they are not those of the calls of log()
    survives: bool = True  # whether a killed run leaves what it logged
    log_many: str = ""  # instead of `log` where there are many records: how the tool takes several at once


CONFIGURATION = {"micro_batch_size": 4, "lr": 0.1, "optimizer": "adam"}
TOOLS = {
    "wandb": Tool(
        ("0.29.0", "0.30.0", "0.31.0"), "wandb=={}",
        "import wandb\nrun = wandb.init(project='p', name=name, config=configuration, mode='offline', dir='.')",
        "run.log({'loss': loss, 'norm': norm}, step=step)", "run.finish()", "wandb/offline-run-*/run-*.wandb",
    ),
    "mlflow": Tool(
        ("3.15.2", "3.16.1", "3.17.2"), "mlflow-skinny=={} sqlalchemy alembic",
        "import mlflow\nmlflow.set_tracking_uri('sqlite:///mlflow.db')\nmlflow.start_run(run_name=name)\n"
        "mlflow.log_params(configuration)",
        "mlflow.log_metrics({'loss': loss, 'norm': norm}, step=step)", "mlflow.end_run()", "mlflow.db",
        log_many="now = int(1000 * time.time()); batch = [] if k == 0 else batch\n"
        "    batch += [mlflow.entities.Metric('loss', loss, now, step), mlflow.entities.Metric('norm', norm, now, step)]\n"
        "    if len(batch) == 1000 or k == rows - 1:\n"
        "        mlflow.MlflowClient().log_batch(mlflow.active_run().info.run_id, batch); batch = []",
    ),
    "trackio": Tool(
        ("0.41.0", "0.42.0", "0.43.0"), "trackio=={}",
        "import trackio\ntrackio.init(project='p', name=name, config=configuration, embed=False)",
        "trackio.log({'loss': loss, 'norm': norm}, step=step)", "trackio.finish()", "**/p.db",
        kept_times="SELECT timestamp FROM metrics WHERE run_name = ? ORDER BY id",
    ),
    "neptune": Tool(
        ("1.12.0", "1.13.0", "1.14.0.post2"), "neptune=={}",
        "import neptune\nrun = neptune.init_run(mode='offline', project='w/p', capture_hardware_metrics=False)\n"
        "for key, value in configuration.items(): run[key] = value",
        "run['loss'].append(loss, step=step); run['norm'].append(norm, step=step)", "run.stop()",
        ".neptune/offline/*/data-*.log", survives=False,
    ),
    "comet_ml": Tool(
        ("3.56.0", "3.57.4", "3.58.8"), "comet-ml=={}",
        "import comet_ml\nrun = comet_ml.OfflineExperiment(project_name='p', workspace='w', offline_directory='.',\n"
        "    display_summary_level=0)\nrun.log_parameters(configuration)",
        "run.log_metrics({'loss': loss, 'norm': norm}, step=step)", "run.end()", "*.zip", survives=False,
    ),
    "clearml": Tool(
        ("1.18.0", "2.0.2", "2.1.12"), "clearml=={}",
        "from clearml import Task\nTask.set_offline(True)\ntask = Task.init('p', name, auto_connect_frameworks=False,\n"
        "    auto_resource_monitoring=False)\ntask.connect(configuration)\nlogger = task.get_logger()",
        "logger.report_scalar('loss', 'loss', loss, step); logger.report_scalar('norm', 'norm', norm, step)",
        "task.close()", ".clearml/cache/offline/*.zip", survives=False,
    ),
}  # fmt: skip
_MOST_ONE_BY_ONE = 5000  # MLflow takes 20 ms for a record
_SCRIPT = """
import json, os, signal, sys, time
name, rows, killed = sys.argv[1], int(sys.argv[2]), sys.argv[3] == 'killed'
configuration = json.loads(sys.argv[4])
{begin}
times = open(name + '.times', 'w', buffering=1 << 16)
for k in range(rows):
    loss, norm, step = 1 / (k + 1), k / 7, 10 * k
    before = time.time()
    {log}
    times.write(f'{{before}} {{time.time()}}\\n')
times.close()
if killed:
    time.sleep(5)
    os.kill(os.getpid(), signal.SIGKILL)
{end}
"""


class Written(NamedTuple):
    """What a script logged."""

    rows: int
    killed: bool
    times: list[tuple[float, float]]  # before and after each call
    ended: float  # when the script had ended
    name: str


def installed(tool: str, version: str, sites: Path) -> Path:
    site = sites / f"{tool}-{version}"
    if not site.exists():
        packages = TOOLS[tool].packages.format(version).split()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site), *packages]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return site


def write(tool: str, site: Path, folder: Path, name: str, rows: int, killed: bool) -> Written:
    log = TOOLS[tool].log if rows <= _MOST_ONE_BY_ONE else TOOLS[tool].log_many or TOOLS[tool].log
    script = _SCRIPT.format(begin=TOOLS[tool].begin, log=log, end=TOOLS[tool].end)
    environment = os.environ | {
        "PYTHONPATH": str(site), "HOME": str(folder), "WANDB_SILENT": "true", "TRACKIO_DIR": str(folder / "trackio"),
    }  # fmt: skip
    arguments = [name, str(rows), "killed" if killed else "whole", json.dumps(CONFIGURATION)]
    with (folder / "script.out").open("wb") as said:
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=folder, env=environment, stdout=said, stderr=said
        )
    if done.returncode != (-9 if killed else 0):
        raise SystemExit(f"{tool} in {site.name} ended with {done.returncode}: {(folder / 'script.out').read_text()}")
    ended = time.time()
    lines = (folder / f"{name}.times").read_text().splitlines()
    return Written(rows, killed, [(float(line.split()[0]), float(line.split()[1])) for line in lines], ended, name)


def runs_in(tool: str, folder: Path) -> Iterator[_Tables]:
    """The tables of each run that the files of a folder have."""
    if tool in ("comet_ml", "clearml"):
        for archive in sorted(folder.glob(TOOLS[tool].files)):
            yield _ingested(archive)
        return
    by_run: dict[tuple[str, int], _Tables] = {}
    for path in sorted(folder.glob(TOOLS[tool].files)):
        for name, table in tables_of(open_source(path))[1].items():
            for row in table.to_pylist():
                key = (str(path.parent), row.get("part", 0))
                by_run.setdefault(key, {}).setdefault(name, []).append(row)
    yield from (run for run in by_run.values() if "steps" in run)


def _ingested(archive: Path) -> _Tables:
    import scalelens

    with tempfile.TemporaryDirectory() as home:
        scalelens.ingest(archive, warehouse=home)
        connection = scalelens.connect(home)
        tables: _Tables = {}
        for name in ("steps", "metrics", "params"):
            answer = connection.execute(f"FROM {name} ORDER BY ALL")
            names = [column[0] for column in answer.description]
            tables[name] = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
        return tables


def kept_times(tool: str, folder: Path, run: str) -> list[float]:
    """The times of a run's records as the tool's own database has them, in seconds since 1970."""
    with sqlite3.connect(next(folder.glob(TOOLS[tool].files))) as database:
        found = [stamp for (stamp,) in database.execute(TOOLS[tool].kept_times, [run])]
    return [datetime.fromisoformat(stamp).timestamp() for stamp in found]


def late(tool: str, folder: Path, steps: list[dict[str, Any]], written: Written) -> str | None:
    """The first record whose time is not that of its call, or that which the tool gave it afterwards."""
    kept = kept_times(tool, folder, written.name) if TOOLS[tool].kept_times else None
    for k, (row, (before, after)) in enumerate(zip(steps, written.times, strict=False)):
        if row["ts"] is None or not before - 0.001 <= seconds_of(row) <= (written.ended if kept else after + 0.001):
            return f"row {k} has the time {row['ts']}, and was logged at {before}"
        if kept and abs(seconds_of(row) - kept[k]) > 1e-6:
            return f"row {k} has the time {row['ts']}, and the database has {kept[k]}"
    return None


def difference(tool: str, folder: Path, run: _Tables, written: Written) -> str | None:
    """The first thing that is not as it was logged."""
    steps = run.get("steps", [])
    rows = len(steps)
    if rows != written.rows and not (written.killed and rows < written.rows):
        return f"{rows} rows of {written.rows}"
    for k, row in enumerate(steps):
        if (row["step"], row["loss"]) != (10 * k, 1 / (k + 1)):
            return f"row {k} is step {row['step']} with {row['loss']}"
    norms = [(row["step"], row["value"]) for row in run.get("metrics", []) if row["name"] == "norm"]
    if norms[:rows] != [(10 * k, k / 7) for k in range(rows)]:
        return "another metric differs"
    if why := late(tool, folder, steps, written):
        return why
    facts = {(row["key"], row["value"]) for row in run.get("params", [])}
    missing = [key for key, value in CONFIGURATION.items() if (key, str(value)) not in facts]
    return f"settings {missing} are missing" if missing else None


def seconds_of(row: dict[str, Any]) -> float:
    return row["ts"].replace(tzinfo=UTC).timestamp()


def compared(tool: str, version: str, site: Path, sizes: list[int]) -> Iterator[list[Any]]:
    """A line for each run of each size."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            names = ["first"]
            if size == sizes[0]:
                names += ["second", "killed"] if TOOLS[tool].survives else ["second"]
            written = [write(tool, site, folder, run, size, run == "killed") for run in names]
            found = sorted(runs_in(tool, folder), key=_began)
            for k, (of_script, run) in enumerate(itertools.zip_longest(written, found)):
                known = [*(found[k : k + 1])] and of_script is not None and run is not None
                why = difference(tool, folder, run, of_script) if known else "another number of runs"
                kind = names[k] if k < len(names) else "more"
                yield [tool, version, size, kind, len(run["steps"]) if run else 0, why or "ok"]


def _began(run: _Tables) -> float:
    return min((seconds_of(row) for row in run.get("steps", []) if row.get("ts")), default=math.inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="200,5000")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--sites", type=Path, default=Path(tempfile.gettempdir(), "tracker-versions"))
    arguments = parser.parse_args()
    out, failed = csv.writer(sys.stdout), False
    out.writerow(["tool", "version", "rows_logged", "run", "rows_read", "result"])
    for tool in arguments.tools.split(","):
        for version in TOOLS[tool].versions:
            site = installed(tool, version, arguments.sites)
            for line in compared(tool, version, site, [int(size) for size in arguments.rows.split(",")]):
                out.writerow(line)
                sys.stdout.flush()
                failed |= line[-1] != "ok"
    sys.exit(failed)


if __name__ == "__main__":
    main()
