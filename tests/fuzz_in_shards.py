"""Tries random inputs for hours, in shards, each in a process of its own that the kernel holds to its limits.

    python tests/fuzz_in_shards.py 1000000           goes on where it was stopped; what it finds is in build/fuzz
    python tests/fuzz_in_shards.py --input 7 4711    tries one input again, by its seed and its number

A process that ends before its shard does leaves the number of the input that ended it; the rest is tried by the next.
"""

import argparse
import json
import mmap
import os
import resource
import secrets
import shutil
import signal
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

import fuzzing

SHARD = 5_000  # inputs: about a quarter of a minute
NUMBER = struct.Struct("q")
PAGE = os.sysconf("SC_PAGE_SIZE")


def fuzzed(home: Path, count: int) -> list[str]:
    """Tries inputs up to `count` and says of each that brought something to light what it was.

    What is done stands in `home`, so that the next call goes on; once all is done and nothing was found, the next
    begins anew with another seed.
    """
    home.mkdir(parents=True, exist_ok=True)
    state = home / "state.json"
    seed, done = json.loads(state.read_text()) if state.exists() else (secrets.randbelow(10**6), 0)
    for first in range(done, count, SHARD):
        last = min(first + SHARD, count)
        for number, what in shard(seed, first, last):
            (home / f"{seed}-{number}.txt").write_text(f"{fuzzing.trial_of(number).__name__}\n{what}")
        state.write_text(json.dumps([seed, last]))
        print(f"{last:,} of {count:,} inputs with seed {seed}, {len(findings(home))} findings", flush=True)
    found = findings(home)
    if not found:
        shutil.rmtree(home)
    return found


def findings(home: Path) -> list[str]:
    return [f"{path}: {path.read_text().strip().splitlines()[-1]}" for path in sorted(home.glob("*.txt"))]


def shard(seed: int, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Findings among the inputs from `first` to before `last`: the number of each and a text."""
    with tempfile.TemporaryDirectory() as folder, mmap.mmap(-1, NUMBER.size) as current:
        findings = Path(folder, "findings")
        while first < last:
            process = os.fork()
            if not process:
                try_all(seed, range(first, last), findings, current)
            status = os.waitpid(process, 0)[1]
            yield from (json.loads(line) for line in findings.read_text().splitlines())
            findings.unlink()
            if not status:
                return
            (number,) = NUMBER.unpack(current[:])
            yield number, f"ended its process ({os.waitstatus_to_exitcode(status)})"
            first = number + 1


def try_all(seed: int, numbers: range, findings: Path, current: mmap.mmap) -> None:
    """Tries inputs and ends the process."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as folder, findings.open("w", buffering=1) as found:
        for number in numbers:
            current[:] = NUMBER.pack(number)
            limit_input()
            try:
                fuzzing.try_input(seed, number, Path(folder))
            except BaseException:
                found.write(json.dumps([number, traceback.format_exc()]) + "\n")
    os._exit(0)


def limit_input() -> None:
    """Lets the kernel end the process where the next input takes too long, and refuse it too much memory."""
    signal.setitimer(signal.ITIMER_PROF, fuzzing.LIMIT_S)
    held = int(Path("/proc/self/statm").read_text().split()[5]) * PAGE
    resource.setrlimit(resource.RLIMIT_DATA, (held + fuzzing.LIMIT_BYTES, resource.RLIM_INFINITY))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--input", type=int, nargs=2, metavar=("SEED", "NUMBER"))
    given = parser.parse_args()
    if given.input:
        with tempfile.TemporaryDirectory() as folder:
            fuzzing.try_input(*given.input, Path(folder))
    elif found := fuzzed(Path("build/fuzz"), given.count):
        sys.exit("\n".join([*found, "each becomes a fixture; then remove build/fuzz"]))
