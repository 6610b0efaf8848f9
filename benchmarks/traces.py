"""Speed and memory of reading and asking profiler traces, beside HTA and TraceLens in the same run.

    python benchmarks/traces.py TRACE... --hta PYTHON [--tracelens PYTHON] [--before SRC] [--rounds 5] [--ranks 8]

PYTHON is an interpreter that has HolisticTraceAnalysis (or its continuation `traceinsight`) with pandas < 3, or
TraceLens; without one our own figures are printed.  Where TraceLens does not read a trace, its reason stands there.  SRC is the folder `src` of another version of ScaleLens, measured in turn with this
one, to see whether a change made something slower.  Each measurement is a process of its own, which first imports what
it measures: no side's imports count but those of `commands`.  Modules are compiled before.  All take turns, and the least of the rounds counts.

- `to_parquet`: ours from the file to the committed warehouse in one process; HTA's from the file to the data frame
  (`parse_trace_dataframe`), TraceLens's to its tree of events (`TreePerfAnalyzer.from_file`)
- `end_to_end`: ours from the file through a new warehouse to temporal_breakdown, comm_overlap and kernel_summary;
  HTA's from the file through TraceAnalysis to get_temporal_breakdown, get_comm_comp_overlap and
  get_gpu_kernel_breakdown, TraceLens's to get_df_gpu_timeline and get_df_kernels
- `from_warehouse`: the three queries on a warehouse that is there, its opening included, against all of theirs, which
  keeps nothing between processes
- `queries`: the same without the opening, as in a notebook that asks more than once
- `commands`: `scalelens query` for each of the three, as a person types them, their starts included; any version of
  ScaleLens can be asked so, while the others need one with this version's functions
- `in_parallel`: copies of the first trace, ingested by one process on one core and by two on two, the command's start
  included; as in a Slurm job, for elsewhere workers give way to other processes and a single one does not; needs Linux

CPU time is that of all threads of the process.  Where a machine has other work, its ratios are the ones to trust.
Prints one JSON object.
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
{before}
wall, cpu = time.perf_counter(), time.process_time()
{work}
print(json.dumps({{
    "wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu,
    "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2),
}}))
"""
QUERIES = "temporal_breakdown", "comm_overlap", "kernel_summary"
OPEN = f"""session = Session(Path(sys.argv[2]), about="{" ".join(QUERIES)}")
session.open()"""
ASK = f"""
for name in {QUERIES}:
    session.ask(Question(name)).frame
"""
ANALYSE = """
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
analysis.get_temporal_breakdown(visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
"""
READING = (  # what is imported when it is first used: numpy.ma by pyarrow at its first array
    "import numpy.ma\nimport pyarrow.compute\nfrom pathlib import Path\nfrom scalelens.ingestion import formats\n"
    "from scalelens.ingestion.ingest import ingest\nformats.load()"
)
INGEST = "ingest([Path(sys.argv[1])], Path(sys.argv[2]), jobs=1)"
ASKING = (
    "import polars\nfrom scalelens.question.question import Question\nfrom scalelens.question.session import Session"
)
ALONE = f"from pathlib import Path\n{ASKING}"
COMMANDS = f"""
import json, os, resource, subprocess, sys, time
def run(*arguments):
    command = [sys.executable, "-m", "scalelens", *arguments, "-w", sys.argv[2]]
    subprocess.run(command, check=True, capture_output=True)
if not os.path.exists(sys.argv[2]):
    run("ingest", sys.argv[1])
def used_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
wall, cpu = time.perf_counter(), used_s()
for name in {QUERIES}:
    run("query", name)
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
print(json.dumps({{"wall_s": time.perf_counter() - wall, "cpu_s": used_s() - cpu, "memory_mb": memory}}))
"""
OURS = {
    "to_parquet": MEASURED.format(imports=READING, before="", work=INGEST),
    "end_to_end": MEASURED.format(imports=f"{READING}\n{ASKING}", before="", work=f"{INGEST}\n{OPEN}\n{ASK}"),
    "from_warehouse": MEASURED.format(imports=ALONE, before="", work=f"{OPEN}\n{ASK}"),
    "queries": MEASURED.format(imports=ALONE, before=OPEN, work=ASK),
    "commands": COMMANDS,
}
HTA = {
    "to_parquet": MEASURED.format(
        imports="from hta.common.trace_parser import parse_trace_dataframe\n"
        "from hta.configs.parser_config import ParserConfig",
        before="",
        work="parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())",
    ),
    "end_to_end": MEASURED.format(imports="from hta.trace_analysis import TraceAnalysis", before="", work=ANALYSE),
}
_TREE = "from TraceLens import TreePerfAnalyzer"
_PLANTED = "analyzer = TreePerfAnalyzer.from_file(sys.argv[1], include_unlinked_kernels=True)"
TRACELENS = {
    "to_parquet": MEASURED.format(imports=_TREE, before="", work=_PLANTED),
    "end_to_end": MEASURED.format(
        imports=_TREE,
        before="",
        work=f"{_PLANTED}\nanalyzer.get_df_gpu_timeline()\nanalyzer.get_df_kernels()",
    ),
}
PEERS = {"hta": HTA, "tracelens": TRACELENS}
AGAINST = {
    "to_parquet": "to_parquet",
    "end_to_end": "end_to_end",
    "from_warehouse": "end_to_end",
    "queries": "end_to_end",
    "commands": "end_to_end",
}


def measured(python: str, script: str, *arguments: str, source: Path | None = None) -> dict[str, float]:
    """What a script prints of itself, run in a process of its own; `source` is where it finds ScaleLens.

    Raises ValueError with the last line that a failed process printed.
    """
    compiled = {"PYTHONPYCACHEPREFIX": f"{Path(tempfile.gettempdir()) / 'scalelens-compiled'}"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | compiled
    environment |= {"PYTHONPATH": str(source.resolve())} if source else {}
    done = subprocess.run([python, "-c", script, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise ValueError(f"{python} failed on {arguments[0]}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def least(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(min(figures[key] for figures in rounds), 3) for key in rounds[0]}


def compared(trace: Path, peers: dict[str, str], before: Path | None, rounds: int) -> dict[str, object]:
    """One trace, read and asked by all in turn; `peers` are interpreters by the name of the peer."""
    ours: dict[str, list[dict[str, float]]] = {name: [] for name in OURS}
    others: dict[tuple[str, str], list[dict[str, float]]] = {}
    failed: dict[str, str] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as scratch:
            for name, script in OURS.items():  # the last ask the warehouse that the one before them made
                home = f"{scratch}/{'parquet' if name == 'to_parquet' else 'w'}"
                ours[name].append(measured(sys.executable, script, str(trace), home))
                if before and f"before, {name}" not in failed:
                    try:
                        figures = measured(sys.executable, script, str(trace), f"{home}-before", source=before)
                        others.setdefault(("before", name), []).append(figures)
                    except ValueError as error:  # a function that it does not have
                        failed[f"before, {name}"] = str(error)
                for peer, python in peers.items():
                    if name not in PEERS[peer] or peer in failed:
                        continue
                    try:
                        others.setdefault((peer, name), []).append(measured(python, PEERS[peer][name], str(trace)))
                    except ValueError as error:
                        failed[peer] = str(error)
    data = trace.read_bytes()
    size = len(gzip.decompress(data) if trace.suffix == ".gz" else data) / 1e6
    record: dict[str, object] = {"trace": trace.name, "megabytes": round(size, 1), "failed": failed}
    for name, of_peers in AGAINST.items():
        record[name] = {"ours": (a := least(ours[name]))}
        if ("before", name) in others:
            c = least(others["before", name])
            record[name] |= {"before": c, "ours_over_before": {key: round(a[key] / c[key], 2) for key in a}}  # type: ignore[operator]
        for peer in peers.keys() - failed.keys():
            b = least(others[peer, of_peers])
            record[name] |= {peer: b, f"{peer}_over_ours": {key: round(b[key] / a[key], 2) for key in a}}  # type: ignore[operator]
    return record


def ranks_on_two_cores(trace: Path, ranks: int, rounds: int) -> dict[str, object]:
    """Copies of a trace, ingested by one process on one core and by two on two."""
    cores = sorted(os.sched_getaffinity(0))
    data = trace.read_bytes()
    took: dict[int, list[float]] = {1: [], 2: []}
    in_a_job = os.environ | {"SLURM_JOB_ID": os.environ.get("SLURM_JOB_ID", "1")}
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
                os.sched_setaffinity(0, cores[:jobs])  # which the process inherits
                subprocess.run(
                    [sys.executable, "-m", "scalelens", *command], check=True, capture_output=True, env=in_a_job
                )
                os.sched_setaffinity(0, cores)
                times.append(time.perf_counter() - start)
    one, two = min(took[1]), min(took[2])
    return {
        "ranks": ranks,
        "one_core_s": round(one, 2),
        "two_cores_s": round(two, 2),
        "ratio": round(one / two, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, nargs="+", metavar="TRACE")
    parser.add_argument("--hta", metavar="PYTHON")
    parser.add_argument("--tracelens", metavar="PYTHON")
    parser.add_argument("--before", type=Path, metavar="SRC")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=8)
    options = parser.parse_args()
    peers = {peer: python for peer in PEERS if (python := getattr(options, peer))}
    print(json.dumps({
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load": [round(load, 1) for load in os.getloadavg()],
        "traces": [compared(trace, peers, options.before, options.rounds) for trace in options.traces],
        "in_parallel": ranks_on_two_cores(options.traces[0], options.ranks, options.rounds),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
