"""Runs a command and measures the power of this node's devices meanwhile.  Needs only Python.

    python power.py --out runs/n1 -- torchrun --standalone --nproc_per_node 4 vision.py --out runs/n1

Start one on each node.  Where jpwr is installed, it does the work, as a program.  Otherwise NVIDIA's GPUs are read by
nvidia-smi, AMD's GPUs and Grace Hopper superchips from the kernel's hwmon files, and AMD's GPUs by rocm-smi where hwmon
does not show them.  Each kind of sensor has a file power.HOST.PID.csv with jpwr's columns.
"""
# mypy: ignore-errors

import argparse
import glob
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

# A row of rocm-smi.  Where a card has two dies, one of them may show the power of both, and the other N/A.
CARD = re.compile(r"^card(\d+),(?:N/A[^,\n]*,)*(\d+(?:\.\d+)?)?", re.MULTILINE)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the samples")
    parser.add_argument("--interval-ms", type=int, default=100)
    parser.add_argument("--hwmon", type=Path, default=Path("/sys/class/hwmon"), help="folder of the kernel's sensors")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    args.command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not args.command:
        parser.error("no command to run")
    return args


def hwmon(folder):
    """Files of microwatts by jpwr's names of devices.

    An AMD card of two GCDs has one sensor.  The GCD without it gets None, so that both keep their numbers.
    """
    files = {}
    cards = [path for path in folder.glob("hwmon*") if text(path / "name") == "amdgpu"]
    for k, card in enumerate(sorted(cards, key=lambda path: os.path.realpath(path / "device"))):
        sensors = (card / name for name in ("power1_average", "power1_input"))
        files[f"rocm:{k}"] = next((sensor for sensor in sensors if text(sensor)), None)
    for path in sorted(folder.glob("hwmon*/device/power1_oem_info")):
        files[f"gh:{text(path)}"] = path.with_name("power1_average")
    return files if any(files.values()) else {}


def text(path):
    try:
        return path.read_text().strip()
    except OSError:
        return None


def watts_of(path):
    """Watts; 0 where there is no sensor, as jpwr has it."""
    value = text(path) if path else None
    return int(value) / 1e6 if value and value.isdigit() else 0.0


class Samples:
    """The file, written to every two seconds."""

    def __init__(self, out, labels):
        out.mkdir(parents=True, exist_ok=True)
        # Each kind of sensor has a thread, whose number stands for the process's.
        self.file = open(out / f"power.{socket.gethostname()}.{threading.get_native_id()}.csv", "w")  # noqa: SIM115
        self.file.write(",".join(["", "timestamps", *labels]) + "\n")
        self.labels, self.count, self.flushed = list(labels), 0, 0.0

    def add(self, watts):
        """A row of watts by label; nan for a device that no longer answers."""
        now = time.time()
        values = [f"{watts.get(label, float('nan')):.3f}" for label in self.labels]
        self.file.write(",".join([str(self.count), f"{now:.6f}", *values]) + "\n")
        self.count += 1
        if now > self.flushed + 2:
            self.file.flush()
            self.flushed = now


def sample_hwmon(args, files, done):
    samples = Samples(args.out, files)
    while not done.wait(args.interval_ms / 1000):
        samples.add({label: watts_of(path) for label, path in files.items()})
    samples.file.close()


def sample_nvidia(args, done):
    """From Ampere on power.draw is the mean of the last second and lags by half of it; older drivers have no other."""
    for field in ("power.draw.instant", "power.draw"):
        ask = ["nvidia-smi", f"--query-gpu=index,{field}", "--format=csv,noheader,nounits"]
        process = subprocess.Popen([*ask, "-lms", str(args.interval_ms)], stdout=subprocess.PIPE, text=True)
        threading.Thread(
            target=lambda process: (done.wait(), process.terminate()), args=(process,), daemon=True
        ).start()
        samples = None
        for row in sweeps(process.stdout):
            if not samples and field != "power.draw" and all(map(math.isnan, row.values())):
                process.terminate()
                break
            samples = samples or Samples(args.out, row)
            samples.add(row)
        if samples:
            samples.file.close()
            return


def sweeps(lines):
    """Watts by jpwr's names of devices, one dict for each round of nvidia-smi; nan for what is no number."""
    row = {}
    for line in lines:
        index, comma, watts = (part.strip() for part in line.partition(","))
        index = f"pynvml:{index}"
        if index in row:  # the next round begins
            yield row
            row = {}
        if comma:
            row[index] = float(watts) if re.fullmatch(r"\d+(\.\d+)?", watts) else float("nan")  # [N/A]


def sample_rocm(args, done):
    ask, samples = ["rocm-smi", "--showpower", "--csv"], None
    while not done.wait(args.interval_ms / 1000):
        try:
            output = subprocess.run(ask, capture_output=True, text=True, timeout=5).stdout
        except subprocess.TimeoutExpired:
            continue  # no sample this time
        watts = {f"rocm:{card}": float(number or 0) for card, number in CARD.findall(output)}
        if watts:
            samples = samples or Samples(args.out, watts)
            samples.add(watts)
    if samples:
        samples.file.close()


def measured(args):
    """The command, and the threads that measure beside it.  With jpwr there are none: it runs the command itself."""
    files, nvidia = hwmon(args.hwmon), shutil.which("nvidia-smi")
    if shutil.which("jpwr"):
        rocm = shutil.which("rocm-smi") or glob.glob("/dev/kfd")
        available = {"pynvml": nvidia, "rocm": rocm, "gh": "gh:" in str(files)}
        methods = [method for method, present in available.items() if present]
        if methods:
            options = ["--interval", str(args.interval_ms), "--df-out", str(args.out), "--df-filetype", "csv"]
            return ["jpwr", "--methods", *methods, *options, "--", *args.command], []
    threads = [(sample_nvidia, (args,))] if nvidia else []
    threads += [(sample_hwmon, (args, files))] if files else []
    if "rocm:" not in str(files) and shutil.which("rocm-smi"):
        threads.append((sample_rocm, (args,)))
    if not threads:
        sensors = "nvidia-smi, rocm-smi, hwmon of amdgpu or Grace Hopper"
        print(f"power.py: there is no sensor ({sensors}), so nothing is measured", file=sys.stderr)
    return args.command, threads


def main():
    args = arguments()
    command, threads = measured(args)
    process = subprocess.Popen(command)
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda number, _: process.send_signal(number))
    done = threading.Event()
    workers = [threading.Thread(target=work, args=(*values, done)) for work, values in threads]
    for worker in workers:
        worker.start()
    code = process.wait()
    done.set()
    for worker in workers:
        worker.join(timeout=10)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
