"""`scalelens bench`: job scripts that shells accept and a stand-in for Slurm runs, and power measured beside a command."""

import csv
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import scalelens
from asking import answer
from command_line import Run
from running import RUNNERS, runner_module
from scalelens.bench import job_script, launching, limits
from scalelens.bench.request import Request, Runtime
from scalelens.catalog import CATALOG_FOLDER
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest

CLI = [sys.executable, "-m", "scalelens"]


def bench(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*CLI, "bench", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=240)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1..64", [1, 2, 4, 8, 16, 32, 64]), ("1..6", [1, 2, 4]), ("3..12", [3, 6, 12]), ("6,1,2", [1, 2, 6]), ("4", [4])],
)
def test_sizes_double(text: str, numbers: list[int]) -> None:
    assert launching.sizes(text) == numbers


@pytest.mark.parametrize("text", ["", "0..4", "a", "1..", "4..2", "-1"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="does not name numbers of nodes"):
        launching.sizes(text)


@pytest.mark.parametrize("system", [*job_script.systems(), None])
@pytest.mark.parametrize("workload", ["vision", "language", "bert"])
def test_scripts_are_sound(system: str | None, workload: str, tmp_path: Path) -> None:
    options = ["--precision", "bf16", "--data", "/scratch/images of mine"]
    request = Request(workload, options, time="01:00:00", power=True)
    written = launching.write_study(request, [1, 2, 4], system, tmp_path, one_at_a_time=True)
    for path in written:
        subprocess.run(["bash", "-n", path], check=True)
        if shellcheck := shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"):
            subprocess.run([shellcheck, path], check=True)
    text = written[1].read_text()
    facts = job_script.systems().get(system or "", {})
    assert "#SBATCH --nodes=2\n" in text
    assert "#SBATCH --exclusive\n" in text
    partition = facts.get("partition", "")
    if partition == "none":
        assert "--partition" not in text
    elif "|" in partition:
        assert f"# FILL IN: one of {partition.replace('|', ', ')}\n#SBATCH --partition=FILL_IN\n" in text
    elif partition:
        assert f"#SBATCH --partition={partition}\n" in text
    if facts.get("gpu_option") == "none":
        assert "gpu" not in text.partition("set -euo")[0].partition("#SBATCH")[2]
    elif facts.get("gpu_option"):
        assert f"#SBATCH {facts['gpu_option']}\n" in text
    known_network = "SOCKET_IFNAME" in facts.get("environment", "")
    assert ("no interface is known to be needed" in text) != known_network
    assert "no interface" not in written[0].read_text()  # one node has no network
    suffix = facts.get("address_suffix", "")
    assert f"| head -n 1){suffix}\n" in text
    lines = text.splitlines()
    assert all(entry in lines for entry in job_script.entries(facts, "environment"))
    assert all("FILL IN" in lines[k - 1] for k, line in enumerate(lines) if line.endswith("FILL_IN"))
    assert "'/scratch/images of mine'" in text
    assert text.count("--dependency") == 0
    assert written[-1].read_text().count("--dependency=") == 2
    label = tomllib.loads((tmp_path / "scalelens.toml").read_text())
    assert label["labels"] == {"workload": workload}
    assert label.get("facts", {}).get("system") == facts.get("name")
    assert (tmp_path / "runners" / f"{workload}.py").read_bytes() == (RUNNERS / f"{workload}.py").read_bytes()


def test_what_is_known_of_a_system_has_a_source() -> None:
    systems = job_script.systems()
    assert list(systems) == [
        "lumi", "frontier", "leonardo", "marenostrum5", "meluxina", "karolina", "discoverer", "vega", "deucalion", "jupiter",
        "dardel", "jureca", "roihu", "daint", "clariden",
    ]  # fmt: skip
    for name, row in systems.items():
        known = any(value for key, value in row.items() if key not in ("system", "name", "source"))
        assert bool(row["source"]) == known, name
        assert all(source.startswith("https://") for source in row["source"].split()), name
        assert all(entry.startswith("export ") for entry in job_script.entries(row, "environment")), name
        assert all(entry.startswith("export ") for entry in job_script.entries(row, "bare_environment")), name
        assert all(entry.startswith("--") for entry in job_script.entries(row, "options")), name


def test_the_account_goes_where_it_is_asked_for(tmp_path: Path) -> None:
    request = Request("vision", account="p7", partition="debug")
    (path, _) = launching.write_study(request, [2], "discoverer", tmp_path)
    text = path.read_text()
    assert "#SBATCH --account=p7\n#SBATCH --partition=debug\n#SBATCH --qos=p7\n" in text
    assert "FILL IN" not in text


def script(tmp_path: Path, system: str | None = "lumi", nodes: int = 2, **asked: object) -> str:
    """The script of one size, which shells accept."""
    request = Request(**({"workload": "vision", "account": "p7"} | asked))
    (path, _) = launching.write_study(request, [nodes], system, tmp_path)
    subprocess.run(["bash", "-n", path], check=True)
    if shellcheck := shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"):
        subprocess.run([shellcheck, path], check=True)
    return path.read_text()


DATA = ["--data", "/scratch/images of mine", "--steps", "9"]


@pytest.mark.parametrize("runtime", [*Runtime][:-1])  # the last one is told what to mount by a file
@pytest.mark.parametrize("stage", [False, True])
def test_a_container_sees_the_study_and_the_data(runtime: Runtime, stage: bool, tmp_path: Path) -> None:
    text = script(tmp_path, None, container="image.sif", runtime=runtime, stage=stage, options=DATA)
    (line,) = [line for line in text.splitlines() if line.startswith("container=")]
    assert line.startswith(f"container=({runtime} ")
    assert line.removesuffix(")").removesuffix(" --module=gpu").endswith("image.sif")
    seen = '"$staged"' if stage else "'/scratch/images of mine'"
    assert (str(tmp_path) in line and seen in line) == (runtime is not Runtime.shifter)
    assert '    "${container[@]}" \\\n    "$python" -m torch.distributed.run' in text
    assert ("--rocm" in text, "/dev/dri" in text) == (runtime in ("apptainer", "singularity"), runtime == "podman")
    on_cpu = script(tmp_path, None, container="image.sif", runtime=runtime, options=["--device", "cpu"])
    assert not any(word in on_cpu for word in ("--nv", "gpu=all", "--module=gpu", "gpus="))


def test_on_lumi_a_container_has_the_folders_that_its_guide_binds(tmp_path: Path) -> None:
    lines = script(tmp_path / "own", container="torch.sif").splitlines()
    (module,) = (k for k, line in enumerate(lines) if line.startswith("module load lumi-aif-singularity-bindings"))
    assert lines[module - 1].startswith("module use ") and module < next(
        k for k, line in enumerate(lines) if line.startswith("container=(singularity")
    )
    other = script(tmp_path / "other", container="torch.sif", runtime=Runtime.podman)
    assert "module load" not in other, "the module is of the system's own runtime"
    assert "module load" not in script(tmp_path / "none")


@pytest.mark.parametrize("system", ["lumi", "frontier"])
def test_miopen_has_a_folder_on_each_node(system: str, tmp_path: Path) -> None:
    lines = script(tmp_path / "gpus", system).splitlines()
    assert lines.index("export MIOPEN_CUSTOM_CACHE_DIR=$MIOPEN_USER_DB_PATH") < lines.index(
        'srun --ntasks-per-node=1 mkdir -p "$MIOPEN_USER_DB_PATH"'
    )
    assert "mkdir" not in script(tmp_path / "cpus", system, options=["--device", "cpu"])


def test_more_nodes_than_a_system_has_are_refused_with_their_number(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Karolina has 72 nodes, and a job of this study asks for 128"):
        launching.write_study(Request("vision"), [1, 128], "karolina", tmp_path / "study")
    assert not (tmp_path / "study").exists()
    launching.write_study(Request("vision", partition="other"), [1, 128], "karolina", tmp_path / "study")


def test_the_runtime_is_the_systems_own(tmp_path: Path) -> None:
    assert "container=(singularity exec " in script(tmp_path, "lumi", container="image.sif")
    assert "container=(apptainer exec " in script(tmp_path, "frontier", container="image.sif")
    assert "container" not in script(tmp_path, "lumi").replace("--container IMAGE", "").replace("container-jobs", "")


def test_data_is_copied_to_the_nodes_own_storage(tmp_path: Path) -> None:
    text = script(tmp_path, "frontier", stage=True, options=DATA)
    assert "#SBATCH --constraint=nvme\n" in text
    assert 'staged="/mnt/bb/$USER/scalelens-$SLURM_JOB_ID"\n' in text
    assert "cp -rL '/scratch/images of mine' \"$staged/\"\n" in text
    assert "--data \"$staged\"/'images of mine' --steps 9\n" in text
    text = script(tmp_path, None, workload="language", stage=True, options=["--data", "/scratch/text"])
    assert 'cp -rL /scratch/text.bin /scratch/text.idx "$staged/"\n' in text
    assert 'staged="${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/scalelens-$SLURM_JOB_ID"\n' in text
    assert "nvme" not in script(tmp_path, "frontier", options=DATA).replace("burst-buffer", "")
    with pytest.raises(UserError, match="--data is missing"):
        script(tmp_path, stage=True)


def test_the_settings_that_the_guide_calls_necessary_on_leonardo(tmp_path: Path) -> None:
    text = script(tmp_path, "leonardo")
    assert "export NCCL_PXN_DISABLE=1\n" in text
    assert "# NCCL 2.22 to 2.29.1 needs NCCL_PXN_DISABLE=1" in text


@pytest.mark.parametrize("system", ["lumi", "frontier"])
def test_each_gcd_has_the_seven_free_cores_of_its_neighbourhood(system: str, tmp_path: Path) -> None:
    spans = [span.split("-") for span in job_script.systems()[system]["rank_cores"].split()]
    cores = [set(range(int(first), int(last) + 1)) for first, last in spans]
    assert sorted(core for group in cores for core in group) == [core for core in range(64) if core % 8]
    assert [min(group) // 8 for group in cores] == [6, 7, 2, 3, 0, 1, 4, 5]
    assert f'SCALELENS_RANK_CORES="{job_script.systems()[system]["rank_cores"]}"' in script(tmp_path, system)
    assert "RANK_CORES" not in script(tmp_path, system, options=["--device", "cpu"])


def test_a_rank_takes_its_own_cores_among_those_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    measuring = runner_module("measuring")
    taken: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(1, 60)))
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cores: taken.append(cores))
    for rank, spans in ((1, ["49-55", "57-63"]), (0, ["3"]), (0, ["60-63"]), (1, ["1-7"]), (0, [])):
        monkeypatch.setattr(measuring, "LOCAL_RANK", rank)
        measuring.bind(spans)
    assert taken == [{57, 58, 59}, {3}]


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("90", 5400), ("1:30", 90), ("01:30:00", 5400), ("2-12", 216_000), ("1-0:30", 88_200), ("1-00:00:01", 86_401)],
)
def test_times_are_read_as_slurm_reads_them(time: str, seconds: int) -> None:
    assert limits.seconds(time) == seconds


@pytest.mark.parametrize("time", ["", "4h", "1:2:3:4", "-5", "UNLIMITED"])
def test_a_time_that_is_none_is_refused(time: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a time limit"):
        script(tmp_path, None, time=time)


@pytest.mark.parametrize(
    ("system", "nodes", "time", "asked", "sentence"),
    [
        ("lumi", 1024, "48:00:00", {}, None),
        ("lumi", 1025, "1", {}, "1 to 1024 nodes, 48:00:00; take fewer nodes or less time"),
        ("lumi", 2, "48:00:01", {}, "--partition small-g (1 to 4 nodes, 72:00:00) would admit it"),
        ("lumi", 2, "48:00:01", {"partition": "small-g"}, None),
        ("frontier", 91, "02:00:01", {}, "92 to 183 nodes, 06:00:00"),
        ("frontier", 92, "02:00:01", {}, None),
        ("leonardo", 65, "1", {}, "--qos boost_qos_bprod (65 to 256 nodes, 24:00:00) would admit it"),
        ("leonardo", 65, "1", {"qos": "boost_qos_bprod"}, None),
        ("leonardo", 64, "1", {"qos": "boost_qos_bprod"}, "admits: 65 to 256 nodes"),
        ("leonardo", 3, "2-0", {"qos": "of_a_project"}, None),
        ("karolina", 17, "1", {}, "--partition qgpu_big (from 17 nodes on) would admit it"),
        ("vega", 60, "9-0", {}, None),
        (None, 1000, "9-0", {}, None),
    ],
)
def test_a_job_beyond_the_limits_is_refused_with_a_sentence(
    system: str | None, nodes: int, time: str, asked: dict[str, str], sentence: str | None, tmp_path: Path
) -> None:
    if sentence is None:
        text = script(tmp_path, system, nodes, time=time, **asked)
        assert all(f"#SBATCH --{name}={value}\n" in text for name, value in asked.items())
        return
    with pytest.raises(UserError, match=re.escape(sentence)):
        script(tmp_path, system, nodes, time=time, **asked)
    assert list(tmp_path.iterdir()) == []


def test_limits_are_of_known_systems_and_have_a_source() -> None:
    with (CATALOG_FOLDER / "slurm_limits.csv").open(newline="") as text:
        for row in csv.DictReader(text):
            assert row["system"] in job_script.systems()
            assert row["source"].startswith("https://")
            assert row["max_nodes"] or row["max_time"] or int(row["min_nodes"]) > 1
            assert not row["max_time"] or limits.seconds(row["max_time"]) > 0


def test_a_qos_takes_the_place_of_the_systems_own(tmp_path: Path) -> None:
    text = script(tmp_path, "marenostrum5", qos="acc_bsccs")
    assert [line for line in text.splitlines() if "--qos" in line] == ["#SBATCH --qos=acc_bsccs"]


def test_the_folder_of_a_run_is_new_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert launching.new_folder("vision") == Path("results/vision-1")
    (tmp_path / "results/vision-1").mkdir(parents=True)
    assert launching.new_folder("vision") == Path("results/vision-2")
    assert launching.new_folder("language") == Path("results/language-1")


def test_a_script_with_gaps_is_not_submitted(tmp_path: Path) -> None:
    done = bench("vision", "--slurm", "--nodes", "1,2", "--system", "lumi", "--out", tmp_path)
    assert done.returncode == 2
    assert "--account=FILL_IN" in done.stdout
    assert "fill these lines in first" in done.stderr


def test_an_unknown_system_is_named(tmp_path: Path) -> None:
    done = bench("vision", "--slurm", "--system", "lumy", "--out", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no catalog entry for the system 'lumy'; known are lumi, frontier, leonardo" in done.stderr


SLURM = {
    "scontrol": 'echo localhost\n',
    # One node is one process here; they meet by the rendezvous as they would over a network.
    "srun": 'while [[ $1 == --* ]]; do shift; done\nfor ((k = 0; k < SLURM_NNODES; k++)); do\n[[ $1 != cp ]] || { "$@"; continue; }  # the nodes share one local folder here\nSLURM_PROCID=$k taskset -c $((k % $(nproc))) "$@" &\ndone\n'
            'code=0; for job in $(jobs -p); do wait "$job" || code=$?; done; exit $code\n',
    "sbatch": 'while [[ $1 == --* ]]; do shift; done\nread -r count < "$JOBS" || count=7000; echo $((count + 1)) > "$JOBS"\n'
              'name=$(sed -n "s/^#SBATCH --job-name=//p" "$1"); output=$(sed -n "s/^#SBATCH --output=//p" "$1")\n'
              'output=${output//%x/$name}; export SLURM_JOB_ID=$count SLURM_JOB_NODELIST=localhost\n'
              'SLURM_NNODES=$(sed -n "s/^#SBATCH --nodes=//p" "$1"); export SLURM_NNODES\n'
              'bash "$1" > "${output//%j/$count}" 2>&1; echo "$count"\n',
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_a_study_runs_on_1_2_and_4_ranks(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in SLURM.items():
        (programs / name).write_text("#!/bin/bash\n" + text)
        (programs / name).chmod(0o755)
    (tmp_path / "jobs").write_text("54321\n")
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "JOBS": str(tmp_path / "jobs"), "PYTHON": sys.executable}
    out = tmp_path / "study"
    slurm = ("--slurm", "--nodes", "1..4", "--nproc", 1, "--account", "mine", "--partition", "cpu", "--out", out)
    small = ("--device", "cpu", "--image-size", 32, "--global-batch-size", 8, "--steps", 2, "--warmup-steps", 0)
    done = bench("vision", *slurm, "--one-at-a-time", *small, "--profile-steps", 0, **variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "vision-n1.sh 54321\nvision-n2.sh 54322\nvision-n4.sh 54323\n"
    ingest([out], tmp_path / "w", jobs=1)
    rows = answer(
        tmp_path / "w",
        "SELECT devices, nodes, micro_batch_size, global_batch_size, job_id, outcome FROM runs ORDER BY devices"
    ).fetchall()  # fmt: skip
    assert rows == [(n, n, 8 // n, 8, str(54320 + k), "completed") for k, n in ((1, 1), (2, 2), (3, 4))]
    counts = answer(
        tmp_path / "w",  # what a job prints repeats what its ranks log
        "SELECT rank, count(*) FROM steps JOIN members USING (run_id, file_id, part) WHERE why <> 'twin' GROUP BY ALL ORDER BY 1",
    )
    assert counts.fetchall() == [(0, 6), (1, 4), (2, 2), (3, 2)]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_a_study_runs_in_a_container_on_staged_data(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for k in range(8):
        folder = tmp_path / f"images of mine/train/class{k % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        image.new("RGB", (40, 40), (30 * k, 0, 0)).save(folder / f"{k}.jpg")
    apptainer = 'echo "in $*"; while [ "$1" != image.sif ]; do shift; done; shift; exec "$@"\n'
    for name, text in (SLURM | {"apptainer": apptainer}).items():
        program(tmp_path / "bin", name, f"#!/bin/bash\n{text}")
    (tmp_path / "jobs").write_text("54321\n")
    (tmp_path / "local").mkdir()
    variables = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "JOBS": str(tmp_path / "jobs")}
    variables |= {"PYTHON": sys.executable, "SLURM_TMPDIR": str(tmp_path / "local")}
    slurm = ("--slurm", "--nodes", 2, "--nproc", 1, "--account", "mine", "--partition", "cpu", "--out", tmp_path / "s")
    small = ("--device", "cpu", "--image-size", 32, "--batch-per-device", 2, "--steps", 2, "--profile-steps", 0)
    data = ("--data", tmp_path / "images of mine", "--workers", 0, "--stage", "--container", "image.sif")
    done = bench("vision", *slurm, *data, *small, **variables)
    assert done.returncode == 0, done.stderr
    printed = (tmp_path / "s/n2/vision-n2-54321.out").read_text()
    assert printed.count("in exec --bind") == 2, printed
    first = (tmp_path / "s/n2/rank0.log").read_text()
    assert '"dataset": "images of mine"' in first and first.count('"event": "step"') == 2, printed
    assert list((tmp_path / "local").iterdir()) == []


def test_what_is_started_on_this_machine(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for Python that writes down what it is told; `test_on_this_machine` starts the runner itself."""
    says = (
        'echo "$RANK $WORLD_SIZE $*" >> "$0.told"; case "$*" in *--wrong*) echo "vision.py: error: no" >&2; exit 2;; '
    )
    program(tmp_path / "bin", "python", f'#!/bin/bash\n{says}*--check) exit 0;; esac; echo "step 1"; exit $CODE\n')
    monkeypatch.setattr(launching, "find_spec", lambda _: True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    for variable, value in (("RANK", ""), ("WORLD_SIZE", ""), ("CODE", "3")):
        monkeypatch.setenv(variable, value)
    words, out = ("bench", "vision", "--nproc", 2, "--out", tmp_path / "r"), tmp_path / "r"
    refused = run(*words, "--wrong", 7)
    assert refused.code == 2 and "vision.py: no" in refused.err and not out.exists()
    failed = run(*words, "--device", "cpu")
    assert failed.code == 3 and "step 1\n" in failed.out and "next: " not in failed.err
    monkeypatch.setenv("CODE", "0")
    done = run(*words, "--device", "cpu")
    assert done.code == 0 and f"next: scalelens ingest {out}" in done.err
    assert (out / "job.out").read_text() == "step 1\n" * 2
    assert (out / "scalelens.toml").exists()
    runner = f"{RUNNERS / 'vision.py'} --out {out} --device cpu"
    told = [f"0 2 {runner} --check", f"  -m torch.distributed.run --standalone --nproc_per_node 2 {runner}"]
    assert (tmp_path / "bin/python.told").read_text().splitlines()[1:] == told * 2


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_on_this_machine(tmp_path: Path) -> None:
    small = ("--device", "cpu", "--model", "mobilenet_v2", "--image-size", 32, "--batch-per-device", 2, "--steps", 2)
    done = bench("vision", "--nproc", 1, "--out", tmp_path / "r", *small, "--profile-steps", 0)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r/rank0.log").read_text().count('"event": "step"') == 2
    assert "next: scalelens ingest" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_what_the_runner_refuses_is_said(tmp_path: Path) -> None:
    wrong = bench("vision", "--nproc", 1, "--out", tmp_path / "r", "--precision", "fp64")
    assert wrong.returncode == 2
    assert "invalid choice: 'fp64'" in wrong.stderr


def power(out: Path, *words: str, path: Path, hwmon: Path | None = None) -> subprocess.CompletedProcess[str]:
    options = ["--interval-ms", "20", "--hwmon", str(hwmon or out / "none")]
    command = [sys.executable, str(RUNNERS / "power.py"), "--out", str(out), *options, "--", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": f"{path}:/usr/bin:/bin"})


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(stat.S_IRWXU)


def power_of(folder: Path) -> list[tuple[str, str, float | None, int]]:
    ingest([folder], folder / "w", jobs=1)
    connection = scalelens.connect(folder / "w")
    assert connection.execute("FROM problems").fetchall() == []
    return connection.execute(
        "SELECT device, scope, max(power_w), count(*) FROM power GROUP BY ALL ORDER BY 1"
    ).fetchall()


def test_nvidias_gpus_are_sampled_by_nvidia_smi(tmp_path: Path) -> None:
    loop = '#!/bin/bash\nwhile sleep 0.02; do printf "0, 101.50\\n1, [N/A]\\n"; done\n'
    program(tmp_path / "bin", "nvidia-smi", loop)
    done = power(tmp_path / "out", "sleep", "1", path=tmp_path / "bin")
    assert done.returncode == 0, done.stderr
    (first, _, watts, count), (second, _, none, _) = power_of(tmp_path / "out")
    assert (first, watts, second, none) == ("pynvml:0", 101.5, "pynvml:1", None)
    assert 5 < count < 60


@pytest.mark.parametrize("answer", ["0, [N/A]\\n1, [N/A]", 'Field "power.draw.instant" is not a valid field to query.'])
def test_the_mean_of_a_second_is_sampled_where_there_is_no_other(answer: str, tmp_path: Path) -> None:
    loop = f"""#!/bin/bash
case "$*" in
    *instant*) printf '{answer}\\n{answer}\\n{answer}\\n'; exit 2;;
esac
while sleep 0.02; do printf "0, 101.50\\n1, [N/A]\\n"; done
"""
    program(tmp_path / "bin", "nvidia-smi", loop)
    assert power(tmp_path / "out", "sleep", "1", path=tmp_path / "bin").returncode == 0
    assert [row[:3] for row in power_of(tmp_path / "out")] == [("pynvml:0", "gpu", 101.5), ("pynvml:1", "gpu", None)]


def test_amds_and_grace_hoppers_sensors_are_read_from_hwmon(tmp_path: Path) -> None:
    for k, (name, watts) in enumerate((("amdgpu", 90_000_000), ("k10temp", None), ("amdgpu", None))):
        sensor = tmp_path / f"hwmon/hwmon{k}"
        (sensor / "device").mkdir(parents=True)
        (sensor / "name").write_text(f"{name}\n")
        if watts:
            (sensor / "power1_average").write_text(f"{watts}\n")
    grace = tmp_path / "hwmon/hwmon9/device"
    grace.mkdir(parents=True)
    (grace / "power1_oem_info").write_text("Module Power Socket 0\n")
    (grace / "power1_average").write_text("412500000\n")
    done = power(tmp_path / "out", "sh", "-c", "sleep 0.5; exit 3", path=tmp_path / "bin", hwmon=tmp_path / "hwmon")
    assert done.returncode == 3
    rows = [(device, scope, watts) for device, scope, watts, _ in power_of(tmp_path / "out")]
    assert rows == [("gh:Module Power Socket 0", "module", 412.5), ("rocm:0", "oam", 90.0), ("rocm:1", "gcd", None)]


def test_amds_gpus_are_sampled_by_rocm_smi_where_hwmon_is_not_seen(tmp_path: Path) -> None:
    answer = """#!/bin/bash
[ "$*" = "--showpower --csv" ] || exit 1
printf 'WARNING: a card is asleep\\n\\ndevice,Average Graphics Package Power (W)\\n'
printf 'card0,237.0\\ncard1,N/A (Secondary die)\\n\\n'
"""
    program(tmp_path / "bin", "rocm-smi", answer)
    done = power(tmp_path / "out", "sleep", "1", path=tmp_path / "bin")
    assert done.returncode == 0, done.stderr
    rows = power_of(tmp_path / "out")
    assert [row[:3] for row in rows] == [("rocm:0", "oam", 237.0), ("rocm:1", "gcd", None)]
    assert 3 < rows[0][3] < 60


def test_a_gpu_that_is_lost_leaves_the_columns_of_the_others(tmp_path: Path) -> None:
    loop = '#!/bin/bash\necho "0, 100.00"\necho "1, 300.00"\nwhile sleep 0.02; do echo "1, 300.00"; done\n'
    program(tmp_path / "bin", "nvidia-smi", loop)
    assert power(tmp_path / "out", "sleep", "1", path=tmp_path / "bin").returncode == 0
    assert [row[:3] for row in power_of(tmp_path / "out")] == [("pynvml:0", "gpu", 100.0), ("pynvml:1", "gpu", 300.0)]


def test_a_node_with_two_kinds_of_sensors_is_sampled_by_both(tmp_path: Path) -> None:
    program(tmp_path / "bin", "nvidia-smi", '#!/bin/bash\nwhile sleep 0.02; do echo "0, 101.50"; done\n')
    grace = tmp_path / "hwmon/hwmon0/device"
    grace.mkdir(parents=True)
    (grace / "power1_oem_info").write_text("Grace Power Socket 0\n")
    (grace / "power1_average").write_text("90000000\n")
    done = power(tmp_path / "out", "sleep", "1", path=tmp_path / "bin", hwmon=tmp_path / "hwmon")
    assert done.returncode == 0, done.stderr
    rows = power_of(tmp_path / "out")
    assert [row[:3] for row in rows] == [("gh:Grace Power Socket 0", "grace", 90.0), ("pynvml:0", "gpu", 101.5)]
    assert all(count > 5 for *_, count in rows)


def test_jpwr_does_it_where_it_is_installed(tmp_path: Path) -> None:
    program(tmp_path / "bin", "nvidia-smi", "#!/bin/bash\n")
    program(tmp_path / "bin", "jpwr", '#!/bin/bash\nprintf "%s " "$@"\n')
    done = power(tmp_path / "out", "echo", "hello", path=tmp_path / "bin")
    assert done.stdout == (
        f"--methods pynvml --interval 20 --df-out {tmp_path / 'out'} --df-filetype csv -- echo hello "
    )


def test_without_a_sensor_the_command_runs_all_the_same(tmp_path: Path) -> None:
    done = power(tmp_path / "out", "echo", "hello", path=tmp_path / "bin")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "there is no sensor" in done.stderr


def test_what_ends_the_sampler_ends_the_command(tmp_path: Path) -> None:
    command = [sys.executable, str(RUNNERS / "power.py"), "--out", str(tmp_path), "--", "sleep", "60"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    time.sleep(1.5)
    process.terminate()
    assert process.wait(timeout=10) == 128 + 15


@pytest.mark.parametrize(("system", "cpus", "threads"), [("vega", 256, 128), ("dardel", 128, 64), ("lumi", 56, 56)])
def test_all_cores_of_a_node_are_asked_for_where_slurm_counts_hardware_threads(
    system: str, cpus: int, threads: int, tmp_path: Path
) -> None:
    text = script(tmp_path, system)
    assert f"#SBATCH --cpus-per-task={cpus}\n" in text
    assert f"export SRUN_CPUS_PER_TASK={cpus} " in text
    assert f"export OMP_NUM_THREADS=$(({threads} / devices))\n" in text


def test_a_script_of_dardel_finds_modules(tmp_path: Path) -> None:
    """PDC: without -l a script has no modules; its containers start by the module singularity."""
    text = script(tmp_path, "dardel", container="image.sif")
    assert text.startswith("#!/bin/bash -l\n")
    assert "#SBATCH --partition=gpu\n" in text
    assert "#SBATCH --cpus-per-task=128\n" in text
    assert text.index("module load PDC\nmodule load singularity\n") < text.index("container=(singularity exec ")
    assert script(tmp_path / "other", "lumi").startswith("#!/bin/bash\n")
    with pytest.raises(UserError, match="24:00:00"):
        script(tmp_path / "long", "dardel", time="25:00:00")


def test_a_script_of_roihu_is_that_of_its_guide(tmp_path: Path) -> None:
    text = script(tmp_path, "roihu")
    wanted = (
        "--partition=gpularge",
        "--gres=gpu:gh200:4",
        "--cpus-per-task=288",
        "--ntasks-per-node=1",
        "--account=p7",
    )
    assert all(f"#SBATCH {option}\n" in text for option in wanted)
    with pytest.raises(UserError, match="1 to 10 nodes"):
        script(tmp_path / "large", "roihu", nodes=11)
    with pytest.raises(UserError, match="--partition gpularge"):
        script(tmp_path / "two", "roihu", partition="gpumedium")


@pytest.mark.parametrize("system", ["daint", "clariden"])
def test_scripts_of_alps_are_those_of_its_guide(system: str, tmp_path: Path) -> None:
    """Nodes are whole and need no option for GPUs; NCCL finds Slingshot by the plugin, which a container brings."""
    text = script(tmp_path, system)
    assert "#SBATCH --partition=normal\n" in text
    assert "--gres" not in text and "--gpus" not in text
    assert "export NCCL_NET='AWS Libfabric'\n" in text
    assert "export FI_MR_CACHE_MONITOR=userfaultfd\n" in text
    assert 'SCALELENS_RANK_CORES="0-71 72-143 144-215 216-287"' in text
    assert "--environment" not in text
    contained = script(tmp_path / "contained", system, container="pytorch")
    assert "srun --ntasks-per-node=1 --kill-on-bad-exit=1 --environment=pytorch bash -c" in contained
    assert "NCCL_NET=" not in contained
    assert "${container" not in contained
    assert f"PyTorch, mount\n# {tmp_path / 'contained'} under the same name" in contained
    with pytest.raises(UserError, match="is beyond what --partition normal"):
        script(tmp_path / "long", system, time="30:00:00")
