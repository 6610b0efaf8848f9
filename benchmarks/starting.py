"""What the start of a question costs, against the imports that it cannot do without.

    python benchmarks/starting.py [--rounds 5] [QUERY ...]
    python benchmarks/starting.py --imports

Each command is a process of its own, and the commands take turns.  Printed is a table of all queries: the medians of the
rounds in seconds of the processor, and the ratio to importing DuckDB and Arrow, which is measured before each command:
measured once in a round it is 0.19 to 0.24 s, and twice as many queries are above twice the one as above twice the other.
The warehouse is that of the demo's logs: 8 runs.  Modules are compiled before, as they are where ScaleLens was installed, and
so is the file of macros.
"""

import argparse
import collections
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import scalelens
from scalelens.ingestion.ingest import ingest
from scalelens.queries.load import load

SIDES = "a=fp32-r1 b=bf16-r1"
COMMANDS = {
    "imports": "-c 'import duckdb, pyarrow'",
    "--help": "-m scalelens --help",
    "ingest of one log": "-m scalelens ingest one.log -w one --reread",
    "sql": "-m scalelens sql 'SELECT count(*) FROM steps' -w w",
    "connect": "-c 'import scalelens; scalelens.connect(\"w\")'",
    "runs_overview as a table": "-m scalelens query runs_overview -w w --format table",
    "plot scaling": "-m scalelens plot scaling -w w -o scaling.svg",
}
IMPORTING = (*COMMANDS, "scaling")


def commands(names: list[str]) -> dict[str, str]:
    """Arguments of Python by what is printed for them."""
    queries = load()
    chosen = {name: f"-m scalelens query {name} -w w" for name in sorted(queries) if not names or name in names}
    two_sided = {  # the others with an `a` have one of their own
        name for name, query in queries.items() if {"a", "b"} <= {p.name for p in query.parameters if p.default == "''"}
    }
    return COMMANDS | {name: f"{text} {SIDES}" if name in two_sided else text for name, text in chosen.items()}


def environment_in(folder: Path) -> dict[str, str]:
    """Where modules are compiled, and the file of macros is kept."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return environment | {
        "PYTHONPYCACHEPREFIX": f"{folder / 'compiled'}",
        "PYTHONPATH": f"{Path(scalelens.__file__).parents[1]}",
        "XDG_CACHE_HOME": f"{folder / 'cache'}",
    }


def processor_s(arguments: str, folder: Path) -> float:
    """Seconds of the processor of one process."""
    command = [sys.executable, *shlex.split(arguments)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=environment_in(folder), stdout=quiet, stderr=quiet)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return used.ru_utime + used.ru_stime


def imports(arguments: str, folder: Path) -> tuple[int, float, str]:
    """Modules that a command imports, the seconds that this takes, and the packages that take most of them."""
    command = [sys.executable, "-X", "importtime", *shlex.split(arguments)]
    done = subprocess.run(command, cwd=folder, env=environment_in(folder), capture_output=True, text=True, check=True)
    rows = [line.removeprefix("import time:").split("|") for line in done.stderr.splitlines() if line.count("|") == 2]
    spent: collections.Counter[str] = collections.Counter()
    for own_us, _, name in rows[1:]:  # after the names of the columns
        spent[name.strip().partition(".")[0]] += int(own_us)
    slowest = ", ".join(f"{name} {microseconds / 1e6:.3f}" for name, microseconds in spent.most_common(6))
    return len(rows) - 1, spent.total() / 1e6, slowest


def print_imports(chosen: dict[str, str], folder: Path) -> None:
    print("command,modules,seconds,slowest packages")
    for name in IMPORTING:
        modules, seconds, slowest = imports(chosen[name], folder)
        print(f'{name},{modules},{seconds:.2f},"{slowest}"')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", nargs="*", metavar="QUERY", help="some of the queries; all without")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--imports", action="store_true", help="what some commands import")
    options = parser.parse_args()
    chosen = commands(["scaling"] if options.imports else options.queries)
    logs = Path(scalelens.__file__).parent / "demo" / "logs"
    with tempfile.TemporaryDirectory() as folder:
        ingest([logs], Path(folder) / "w")
        shutil.copy(logs / "fp32-r1" / "rank0.log", Path(folder) / "one.log")
        for text in chosen.values():
            processor_s(text, Path(folder))  # compiles modules, makes the file of macros
        if options.imports:
            print_imports(chosen, Path(folder))
            return
        times: dict[str, list[float]] = {name: [] for name in chosen}
        for _ in range(options.rounds):
            for name, text in chosen.items():
                times["imports"].append(processor_s(COMMANDS["imports"], Path(folder)))
                times[name].append(processor_s(text, Path(folder)))
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    ratios = {name: seconds / medians["imports"] for name, seconds in medians.items()}
    print("command,processor_s,over_imports")
    for name in sorted(chosen, key=lambda name: -ratios[name]):
        print(f"{name},{medians[name]:.2f},{ratios[name]:.2f}")
    of_queries = [ratio for name, ratio in ratios.items() if name not in COMMANDS]
    above = ", ".join(f"{sum(ratio > bound for ratio in of_queries)} above {bound}" for bound in (1.5, 2, 2.5, 3))
    print(f"{len(of_queries)} queries: {above} times the imports", file=sys.stderr)


if __name__ == "__main__":
    main()
