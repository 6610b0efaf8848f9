"""Time and memory of a large capture of Nsight Systems: made up, read into a warehouse, and asked.

    python benchmarks/nsight.py [--kernels 2000000] [--depth 8] [--scratch DIR]

Each kernel is launched within `depth` nested ranges of NVTX, a step of 1,000 kernels around them.  The tables have the
columns of a real export of schema 3.25.  Reading is `scalelens ingest`; asking is `kernel_tree`, which attributes each
kernel to the ranges around its launch.  Each is a process of its own, whose CPU time and peak memory count.  Needs 1.2 GB
of disk and 5 GB of memory, for asking.  Prints one JSON object.
"""

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PER_STEP = 1000
PID = 100
THREAD, PROCESS = 1 << 48 | PID << 24 | PID, 1 << 48 | PID << 24
NAMES = [f"aten::op{k}" for k in range(64)] + [f"kernel{k}(float*)" for k in range(64)] + ["cudaLaunchKernel_v7000"]
TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
    "META_DATA_EXPORT": "name TEXT, value TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "NVTX_EVENTS": """start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
        category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
        domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
        int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT""",
    "CUPTI_ACTIVITY_KIND_RUNTIME": """start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
        globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
        callchainId INTEGER""",
    "CUPTI_ACTIVITY_KIND_KERNEL": """start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
        contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
        globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
        launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
        gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
        blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
        localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
        sharedMemoryExecuted INTEGER, graphNodeId INTEGER""",
}
COUNTED = "WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k + 1 < ?)"
# A launch takes 10 us.  Its ranges begin one after the other and end in turn, 50 ns apart.
RANGES = f"""{COUNTED}, d(j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM d WHERE j + 1 < ?)
    INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId)
    SELECT 10000 * k + 50 * j, 10000 * k + 9000 - 50 * j, 59, {THREAD}, 1 + (k * 7 + j) % 64, 0 FROM n, d"""
STEPS = f"""{COUNTED} INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)
    SELECT {PER_STEP * 10000} * k, {PER_STEP * 10000} * (k + 1) - 1, 59, 'step ' || k, {THREAD}, 0 FROM n"""
CALLS = f"""{COUNTED} INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
    SELECT 10000 * k + 2000, 10000 * k + 5000, 0, {THREAD}, k + 1, {len(NAMES)}, 0, NULL FROM n"""
KERNELS = f"""{COUNTED} INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
    SELECT 10000 * k + 6000, 10000 * k + 15000 - k % 7 * 500, 0, 1, NULL, 7, k + 1, {PROCESS}, 65 + k % 64, 65 + k % 64,
        NULL, 1, 0, 32, 132, 1, 1, 256, 1, 1, 0, 49152, 0, 0, k + 1, NULL, NULL FROM n"""


def write_capture(path: Path, kernels: int, depth: int) -> None:
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    for table, columns in TABLES.items():
        database.execute(f"CREATE TABLE {table} ({columns})")
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(NAMES, 1))
    database.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2026.2.1.210')")
    database.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1790000000000000000, '', '')")
    database.execute(RANGES, (kernels, depth))
    database.execute(STEPS, (-(-kernels // PER_STEP),))
    database.execute(CALLS, (kernels,))
    database.execute(KERNELS, (kernels,))
    database.commit()
    database.close()


def measured(arguments: list[str]) -> dict[str, float | str]:
    """Wall and CPU time and peak memory of a scalelens command, and the first line that it prints."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "scalelens", *arguments], capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr)
    kilobytes = after.ru_maxrss / (1 if sys.platform == "linux" else 1024)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "wall_s": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "memory_mb": round(kilobytes / 1024),
        "said": done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=2_000_000)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--scratch", type=Path, help="folder for the files, kept; a capture in it is used again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = options.scratch or Path(temporary)
        scratch.mkdir(exist_ok=True, parents=True)
        capture, warehouse = scratch / f"{options.kernels}x{options.depth}.sqlite", scratch / f"w{os.getpid()}"
        if not capture.exists():
            write_capture(capture, options.kernels, options.depth)
        figures: dict[str, object] = {
            "megabytes": round(capture.stat().st_size / 1e6),
            "ingest": measured(["ingest", str(capture), "-w", str(warehouse), "--jobs", "1"]),
        }
        total = "SELECT sum(calls), count(*) FROM kernel_tree()"
        figures["kernel_tree"] = measured(["sql", total, "-w", str(warehouse), "--format", "csv"])
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
