"""What the many formats cost: ingest with all of them against the few that a folder needs.

    python benchmarks/formats.py FOLDER [FOLDER ...] [--rounds 3]

Each folder is read with all formats and with only those that take something of it, then all folders at once with all
formats, each in a process of its own.  The whole is held against the largest folder with its own formats alone, in
seconds and in seconds per megabyte, as the other folders are work as well.  Seconds are of the processor, imports
included.  Prints one JSON object; the README quotes it with date and machine.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from pathlib import Path


def read(folders: list[Path], names: set[str] | None) -> tuple[float, int, set[str]]:
    """Processor seconds, files and formats of one ingest in this process, with all formats or those named."""
    from scalelens import connect
    from scalelens.ingestion import formats
    from scalelens.ingestion import ingest as ingestion

    if names is not None:
        every = formats.load()
        few = formats.Formats(
            *[[f for f in some if f.__name__.rpartition(".")[2] in names] for some in (every.of_lines, every.of_files)]
        )
        formats.load = lambda *_: few  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as scratch:
        ingestion.ingest(folders, Path(scratch) / "w", jobs=1)
        used = resource.getrusage(resource.RUSAGE_SELF)
        connection = connect(Path(scratch) / "w")
        taken = connection.execute("SELECT DISTINCT unnest(formats) FROM files").fetchall()
        ((count,),) = connection.execute("SELECT count(*) FROM files").fetchall()
    return used.ru_utime + used.ru_stime, count, {name for (name,) in taken}


def measured(folders: list[Path], names: set[str] | None) -> tuple[float, set[str]]:
    """Processor seconds and formats of one ingest in a new process."""
    given = ["--names", " ".join(sorted(names))] if names is not None else []
    command = [sys.executable, __file__, *map(str, folders), "--once", *given]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return told["cpu_s"], set(told["formats"])


def in_turn(rounds: int, *asked: tuple[list[Path], set[str] | None]) -> list[float]:
    """The least of several rounds of each, taken in turn: other work of the machine meets all of them."""
    seconds = ([measured(folders, names)[0] for folders, names in asked] for _ in range(rounds))
    return [min(times) for times in zip(*seconds, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--names", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        names = None if options.names is None else set(options.names.split())
        cpu_s, _, taken = read(options.folders, names)
        print(json.dumps({"cpu_s": cpu_s, "formats": sorted(taken)}))
        return
    groups: dict[Path, dict[str, float]] = {}
    taken: dict[Path, set[str]] = {}
    for folder in options.folders:
        megabytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
        _, taken[folder] = measured([folder], None)
        with_all, alone = in_turn(options.rounds, ([folder], None), ([folder], taken[folder]))
        groups[folder] = {
            "megabytes": round(megabytes, 1), "formats": len(taken[folder]), "all_s": round(with_all, 2),
            "own_s": round(alone, 2), "all_over_own": round(with_all / alone, 2),
        }  # fmt: skip
    largest = max(groups, key=lambda folder: groups[folder]["megabytes"])
    whole, alone = in_turn(options.rounds, (options.folders, None), ([largest], taken[largest]))
    share = groups[largest]["megabytes"] / sum(group["megabytes"] for group in groups.values())
    print(json.dumps({
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "groups": {folder.name: group for folder, group in groups.items()},
        "whole_s": round(whole, 2), "whole_formats": len(set().union(*taken.values())), "largest_s": round(alone, 2),
        "whole_over_largest": round(whole / alone, 2),
        "whole_over_largest_per_megabyte": round(whole / alone * share, 2),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
