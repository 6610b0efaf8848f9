"""What the start of a question costs, against the imports that it cannot do without.

    python benchmarks/starting.py

Each command is a process of its own, and the commands take turns.  Printed are the medians of eleven processes of each
in seconds of the processor, and their ratio to the imports.  The warehouse is that of the demo's logs: 8 runs.  Modules
are compiled before, as they are where ScaleLens was installed.
"""

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import scalelens
from scalelens.ingestion.ingest import ingest

ROUNDS = 11
COMMANDS = {
    "imports": "-c 'import duckdb, pyarrow'",
    "help": "-m scalelens --help",
    **{name: f"-m scalelens query {name} -w w" for name in ("runs_overview", "batch_stats", "scaling")},
    "table": "-m scalelens query runs_overview -w w --format table",
    "sql": "-m scalelens sql 'SELECT count(*) FROM steps' -w w",
}


def processor_s(arguments: str, folder: Path) -> float:
    """Seconds of the processor of one process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {
        "PYTHONPYCACHEPREFIX": f"{folder / 'compiled'}",
        "PYTHONPATH": f"{Path(scalelens.__file__).parents[1]}",
    }
    command = [sys.executable, *shlex.split(arguments)]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return used.ru_utime + used.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ingest([Path(scalelens.__file__).parent / "demo" / "logs"], Path(folder) / "w")
        rounds = [{name: processor_s(text, Path(folder)) for name, text in COMMANDS.items()} for _ in range(ROUNDS + 1)]
    medians = {name: statistics.median(times[name] for times in rounds[1:]) for name in COMMANDS}
    print("command,processor_s,over_imports")
    for name, seconds in medians.items():
        print(f"{name},{seconds:.2f},{seconds / medians['imports']:.1f}")


if __name__ == "__main__":
    main()
