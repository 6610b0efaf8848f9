"""Speed and memory of reading profiler traces, from file to Parquet, beside HTA's parser in the same run.

    python benchmarks/traces.py TRACE... --hta PYTHON [--rounds 5] [--ranks 8]

PYTHON is an interpreter that has HolisticTraceAnalysis (or its continuation `traceinsight`) with pandas < 3; without
it our own figures are printed.  One process per measurement, ours and HTA's in turn; the least of the rounds counts.
What is timed: ours from the file to the committed warehouse, theirs from the file to the data frame, imports left out.
The ranks are copies of the first trace, read by one process and by two.  Prints one JSON object.
"""

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MEASURED = """
import json, resource, sys, time
{imports}
wall, cpu = time.perf_counter(), time.process_time()
{work}
print(json.dumps({{
    "wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu,
    "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2),
}}))
"""
OURS = MEASURED.format(
    imports="from pathlib import Path\nfrom scalelens import formats\nfrom scalelens.ingestion import ingest\nformats.load()",
    work="ingest([Path(sys.argv[1])], Path(sys.argv[2]), jobs=1)",
)
HTA = MEASURED.format(
    imports="from hta.common.trace_parser import parse_trace_dataframe\nfrom hta.configs.parser_config import ParserConfig",
    work="parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())",
)


def measured(python: str, script: str, *arguments: str) -> dict[str, float]:
    """What a script prints of itself, run in a process of its own."""
    done = subprocess.run([python, "-c", script, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{python} failed on {arguments[0]}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def least(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(min(one[key] for one in rounds), 3) for key in rounds[0]}


def compared(trace: Path, hta: str | None, rounds: int) -> dict[str, object]:
    """One trace, read by both in turn."""
    ours, theirs = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as scratch:
            ours.append(measured(sys.executable, OURS, str(trace), f"{scratch}/w"))
        theirs += [measured(hta, HTA, str(trace))] if hta else []
    data = trace.read_bytes()
    size = len(gzip.decompress(data) if trace.suffix == ".gz" else data) / 1e6
    found: dict[str, object] = {"trace": trace.name, "megabytes": round(size, 1), "ours": least(ours)}
    if hta:
        a, b = least(ours), least(theirs)
        found |= {"hta": b, "hta_over_ours": {key: round(b[key] / a[key], 2) for key in a}}
    return found


def ranks_on_two_cores(trace: Path, ranks: int, rounds: int) -> dict[str, object]:
    """Copies of a trace, ingested by one process and by two."""
    data = trace.read_bytes()
    took: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "traces"
        folder.mkdir()
        for rank in range(ranks):  # blanks behind the end: else one content would be read once
            blanks = b"\n" * (rank + 1)
            end = gzip.compress(blanks) if trace.suffix == ".gz" else blanks
            (folder / f"rank{rank}.json{trace.suffix if trace.suffix == '.gz' else ''}").write_bytes(data + end)
        for k in range(rounds):
            for jobs, times in took.items():
                start = time.perf_counter()
                command = ["ingest", str(folder), "-w", f"{scratch}/w{k}-{jobs}", "--jobs", str(jobs)]
                subprocess.run([sys.executable, "-m", "scalelens", *command], check=True, capture_output=True)
                times.append(time.perf_counter() - start)
    one, two = min(took[1]), min(took[2])
    return {
        "ranks": ranks,
        "one_process_s": round(one, 2),
        "two_processes_s": round(two, 2),
        "ratio": round(one / two, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, nargs="+", metavar="TRACE")
    parser.add_argument("--hta", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=8)
    options = parser.parse_args()
    print(json.dumps({
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "traces": [compared(trace, options.hta, options.rounds) for trace in options.traces],
        "in_parallel": ranks_on_two_cores(options.traces[0], options.ranks, options.rounds),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
