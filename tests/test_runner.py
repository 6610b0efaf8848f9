"""The vision runner as a user starts it: by torchrun, on the CPU, and killed."""

import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import scalelens
from running import RUNNERS, carried_out, finished, free_port, of, records, rows_of, runner_module, start, wait_for
from scalelens.ingestion.ingest import ingest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed")


SMALL_IMAGES = ("--image-size", 32)


def vision_run(out: Path, *options: object, ranks: int = 1, **environment: str) -> subprocess.Popen[str]:
    return start("vision.py", *SMALL_IMAGES, "--out", out, *options, ranks=ranks, **environment)


@pytest.fixture(scope="module")
def vision() -> ModuleType:
    return runner_module("vision")


ONE_RANK = (
    "--batch-per-device", 4, "--steps", 3, "--epochs", 2, "--validation-steps", 2, "--profile-steps", 0, "--lr", 0,
)  # fmt: skip


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("one")
    secrets = {"HF_TOKEN": "hidden1", "SLURM_JWT": "hidden2", "NCCL_API_KEY": "hidden3", "SLURM_JOB_ACCOUNT": "hidden4"}
    variables = {"SLURM_JOB_ID": "4242", "NCCL_DEBUG": "INFO", "NCCL_PROXY": "http://me:hidden5@proxy", **secrets}
    carried_out("vision.py", *SMALL_IMAGES, "--out", out, *ONE_RANK, **variables)
    return out


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("two")
    options = ("--global-batch-size", 8, "--steps", 6, "--profile-steps", 2, "--lr", 0)
    carried_out("vision.py", *SMALL_IMAGES, "--out", out, *options, ranks=2)
    return out


WATCHED = """
import gc, runpy, sys
from torch import distributed, nn

def watched(end=distributed.destroy_process_group):
    models = [one for one in gc.get_objects() if type(one) is nn.parallel.DistributedDataParallel]
    assert not models, "a model outlives its group"
    end()

distributed.destroy_process_group = watched
sys.path[0] = {folder!r}
runpy.run_path({script!r}, run_name="__main__")
"""


@pytest.mark.parametrize(("script", "options"), [("bert.py", ("--seq-length", 8)), ("vision.py", ("--image-size", 64))])
def test_models_end_before_their_group(tmp_path: Path, script: str, options: tuple[object, ...]) -> None:
    """Otherwise the model ends the group while it holds Python, which Gloo's thread may wait for: one rank in eighty hung."""
    (tmp_path / script).write_text(WATCHED.format(folder=str(RUNNERS), script=str(RUNNERS / script)))
    few = ("--batch-per-device", 1, "--steps", 1, "--warmup-steps", 0, "--profile-steps", 0, "--out", tmp_path / "out")
    carried_out(str(tmp_path / script), *few, *options, ranks=2)


@pytest.mark.parametrize(
    ("name", "parameters", "tensors"),
    [
        ("resnet50", 25_557_032, 161),
        ("resnet101", 44_549_160, 314),
        ("inception_v3", 27_161_264, 292),
        ("mobilenet_v2", 3_504_872, 158),
        ("efficientnet_b0", 5_288_548, 213),
    ],
)
def test_models_are_torchvisions(vision: ModuleType, name: str, parameters: int, tensors: int) -> None:
    with torch.device("meta"):
        shapes = {name: value.shape for name, value in vision.MODELS[name](1000).named_parameters()}
    assert sum(shape.numel() for shape in shapes.values()) == parameters
    assert len(shapes) == tensors
    expected = {
        "resnet50": {
            "conv1.weight": (64, 3, 7, 7),
            "layer1.0.downsample.0.weight": (256, 64, 1, 1),
            "layer2.0.conv2.weight": (128, 128, 3, 3),
            "layer3.5.bn2.weight": (256,),
            "layer4.2.bn3.weight": (2048,),
            "fc.weight": (1000, 2048),
        },
        "resnet101": {"layer3.22.conv3.weight": (1024, 256, 1, 1), "layer4.0.downsample.1.bias": (2048,)},
        "inception_v3": {
            "Conv2d_1a_3x3.conv.weight": (32, 3, 3, 3),
            "Mixed_5b.branch5x5_2.conv.weight": (64, 48, 5, 5),
            "Mixed_6a.branch3x3.bn.bias": (384,),
            "Mixed_6b.branch7x7dbl_2.conv.weight": (128, 128, 7, 1),
            "AuxLogits.conv1.conv.weight": (768, 128, 5, 5),
            "Mixed_7a.branch7x7x3_4.conv.weight": (192, 192, 3, 3),
            "Mixed_7c.branch3x3dbl_3b.conv.weight": (384, 384, 3, 1),
            "Mixed_7c.branch_pool.conv.weight": (192, 2048, 1, 1),
            "fc.bias": (1000,),
        },
        "mobilenet_v2": {
            "features.0.0.weight": (32, 3, 3, 3),
            "features.1.conv.1.weight": (16, 32, 1, 1),
            "features.4.conv.1.0.weight": (144, 1, 3, 3),
            "features.17.conv.3.bias": (320,),
            "features.18.0.weight": (1280, 320, 1, 1),
            "classifier.1.weight": (1000, 1280),
        },
        "efficientnet_b0": {
            "features.1.0.block.1.fc1.weight": (8, 32, 1, 1),
            "features.3.1.block.1.0.weight": (240, 1, 5, 5),
            "features.4.2.block.2.fc2.bias": (480,),
            "features.7.0.block.3.1.weight": (320,),
            "features.8.0.weight": (1280, 320, 1, 1),
            "classifier.1.bias": (1000,),
        },
    }[name]
    assert {name: shapes.get(name) for name in expected} == expected


def test_the_stride_of_resnet_is_in_the_3x3_convolution(vision: ModuleType) -> None:
    with torch.device("meta"):
        model = vision.MODELS["resnet50"](1000)
    assert [model.get_submodule(f"layer{k}.0.conv2").stride[0] for k in (1, 2, 3, 4)] == [1, 2, 2, 2]


def test_inception_scores_by_two_heads_in_training(vision: ModuleType) -> None:
    with torch.device("meta"):
        model = vision.MODELS["inception_v3"](10)
        images = torch.empty(2, 3, 299, 299)
    assert [tuple(head.shape) for head in model(images)] == [(2, 10), (2, 10)]
    assert model.eval()(images).shape == (2, 10)
    heads, labels = (torch.randn(2, 10), torch.randn(2, 10)), torch.tensor([1, 2])
    one, other = (vision.loss_of(head, labels).item() for head in heads)
    assert vision.loss_of(heads, labels).item() == pytest.approx(one + 0.4 * other)


def test_learning_rate_grows_with_the_batch_and_by_steps(vision: ModuleType, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["vision.py", "--out", "nowhere", "--global-batch-size", "8192"])
    args = vision.arguments()
    rates = [vision.learning_rate(args, step, 100) for step in (0, 250, 500, 3000, 3001, 6001, 8001)]
    assert rates == pytest.approx([0.1, 1.65, 3.2, 3.2, 0.32, 0.032, 0.0032])  # Goyal et al. 2017: 0.1 to 3.2 for 8k


def test_five_steps_are_traced_because_two_cannot_name_a_slow_rank(vision: ModuleType, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["vision.py", "--out", "nowhere"])
    args = vision.arguments()
    assert (args.profile_steps, args.warmup_steps) == (5, 7)


def test_one_process_logs_every_event(one_rank: Path) -> None:
    events = records(one_rank / "rank0.log")
    epoch = ["step"] * 3 + ["phase"] + ["step"] * 2 + ["phase", "phase"]
    assert [record["event"] for record in events] == ["run", "facts", "phase", *epoch, *epoch, "end"]
    facts = events[0]
    assert facts["parameters"] == 25_557_032
    assert (facts["devices"], facts["nodes"], facts["global_batch_size"], facts["scaling"]) == (1, 1, 4, "weak")
    assert (events[1]["job_id"], facts["device_unit"], facts["precision"]) == ("4242", "cpu", "fp32")
    steps = [record for record in of(events, "step") if record["phase"] != "validation"]
    assert [(record["epoch"], record["step"]) for record in steps] == [(k // 3, k + 1) for k in range(6)]
    validation = [record for record in of(events, "step") if record["phase"] == "validation"]
    assert [(record["epoch"], record["step"]) for record in validation] == [(0, 1), (0, 2), (1, 3), (1, 4)]
    startup, *phases = of(events, "phase")
    assert startup["phase"] == "startup"
    assert [(p["phase"], p["epoch"], p["step"], p["samples"]) for p in phases] == [
        ("train", 0, 3, 12), ("validation", 0, 3, 8), ("epoch", 0, 3, 12),
        ("train", 1, 6, 12), ("validation", 1, 6, 8), ("epoch", 1, 6, 12),
    ]  # fmt: skip
    for phase, part in ((phases[0], steps[:3]), (phases[1], validation[:2]), (phases[3], steps[3:])):
        assert 0 <= phase["span_s"] - sum(step["step_s"] for step in part) < 0.5
    assert 0 <= phases[2]["span_s"] - phases[0]["span_s"] - phases[1]["span_s"] < 0.1
    assert events[-1]["outcome"] == "completed"
    assert not list(one_rank.glob("trace*"))


def test_facts_name_what_matters_and_no_secret(one_rank: Path) -> None:
    facts = of(records(one_rank / "rank0.log"), "facts")[0]
    assert facts["torch_version"] == torch.__version__
    assert facts["env_NCCL_DEBUG"] == "INFO"
    assert "hidden" not in (one_rank / "rank0.log").read_text()


def test_validation_is_no_restart(one_rank: Path) -> None:
    tables = rows_of(one_rank / "rank0.log")
    assert "problems" not in tables
    assert {row["attempt"] for row in tables["steps"]} == {row["attempt"] for row in tables["phases"]} == {0}
    assert [row["step"] for row in tables["steps"] if row["phase"] == "validation"] == [1, 2, 3, 4]


def test_every_step_of_every_rank_is_read(two_ranks: Path) -> None:
    for rank in (0, 1):
        tables = rows_of(two_ranks / f"rank{rank}.log")
        assert "problems" not in tables
        assert [row["step"] for row in tables["steps"]] == [1, 2, 3, 4, 5, 6]
        assert [row["phase"] for row in tables["steps"]] == ["warmup"] * 5 + ["train"]
        assert {row["rank"] for row in tables["steps"]} == {rank}
        assert {(row["samples"], row["value_kind"]) for row in tables["steps"]} == {(8.0, "instant")}
        assert all(0 <= row["data_s"] < row["step_s"] for row in tables["steps"])
        params = {row["key"]: row["value"] for row in tables["params"]}
        assert (params["devices"], params["nodes"], params["micro_batch_size"]) == ("2", "1", "4")
        assert (params["scaling"], params["outcome"]) == ("strong", "completed")


def test_steps_last_as_long_in_the_trace_as_in_the_log(two_ranks: Path) -> None:
    """To 2 %, all but one: what else a machine does may come between two readings of a clock, but seldom."""
    apart = []
    for rank in (0, 1):
        steps = {record["step"]: record for record in of(records(two_ranks / f"rank{rank}.log"), "step")}
        trace = json.loads(gzip.decompress((two_ranks / f"trace_rank{rank}.json.gz").read_bytes()))
        assert trace["distributedInfo"]["rank"] == rank
        traced = [event for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
        assert [event["name"] for event in traced] == ["ProfilerStep#3", "ProfilerStep#4"]
        for event in traced:
            step = steps[int(event["name"].partition("#")[2])]
            apart.append(abs(event["dur"] / 1e6 / step["step_s"] - 1))
            assert event["dur"] / 1e6 == pytest.approx(step["step_s"], abs=0.05)
            ended = trace["baseTimeNanoseconds"] / 1e9 + (event["ts"] + event["dur"]) / 1e6
            assert ended == pytest.approx(step["time"], abs=0.05)
    assert sorted(apart)[-2] < 0.02


def test_rank_0_computes_the_same_in_any_world(one_rank: Path, two_ranks: Path) -> None:
    """At a learning rate of 0, the same seed and batch per device give the same losses step by step."""
    alone, together, other = (
        [record["loss"] for record in of(records(log), "step") if record["phase"] != "validation"]
        for log in (one_rank / "rank0.log", two_ranks / "rank0.log", two_ranks / "rank1.log")
    )
    # The number of threads changes the order of sums, which batch normalization over four values makes larger.
    assert together == pytest.approx(alone, rel=5e-3)
    assert max(abs(b / a - 1) for a, b in zip(alone, other, strict=True)) > 2e-2
    assert alone[:2] == pytest.approx(alone[4:], rel=1e-4)


@pytest.mark.slow
def test_losses_fall_and_sigterm_leaves_whole_lines(tmp_path: Path) -> None:
    options = ("--batch-per-device", "4", "--precision", "bf16", "--profile-steps", "0")
    process = vision_run(tmp_path, *options, ranks=2)
    wait_for(lambda: (tmp_path / "rank1.log").read_text().count('"data_s"') >= 16, process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    for rank in (0, 1):
        events = records(tmp_path / f"rank{rank}.log")
        assert (events[-1]["event"], events[-1]["outcome"]) == ("end", "cancelled")
        steps = of(events, "step")
        assert [record["step"] for record in steps] == list(range(1, len(steps) + 1))
        losses = [record["loss"] for record in steps]
        assert sum(losses[-4:]) < sum(losses[:4])
        assert "problems" not in rows_of(tmp_path / f"rank{rank}.log")


def test_sigterm_is_heeded_while_another_rank_is_awaited(tmp_path: Path) -> None:
    alone = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    process = vision_run(tmp_path, **alone)
    wait_for(lambda: "run" in (tmp_path / "rank0.log").read_text(), process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert [record["event"] for record in records(tmp_path / "rank0.log")] == ["run", "facts", "end"]


def test_restart_after_a_kill_is_another_attempt(one_rank: Path, tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    whole = (one_rank / "rank0.log").read_text()
    log.write_text(whole[: whole.index('"step": 5')])
    carried_out("vision.py", *SMALL_IMAGES, "--out", tmp_path, *ONE_RANK)
    tables = rows_of(log)
    assert [(row["attempt"], row["step"]) for row in tables["steps"] if row["phase"] != "validation"] == [
        (0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6),
    ]  # fmt: skip
    assert [row["reason"] for row in tables["problems"]] == ["the record is cut, or its JSON is damaged"]
    assert {row["part"] for row in tables["steps"]} == {0}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--device", "cpu", "--precision", "tf32"], "tf32 is a mode of NVIDIA's GPUs"),
        (["--model", "inception_v3", "--image-size", "224"], "needs images of 299 pixels"),
        (["--model", "resnet101", "--image-size", "32", "--batch-per-device", "1"], "more than 32 pixels, or 2 images"),
        (["--validation-steps", "-1"], "needs --data"),
        (["--slow-rank", "2"], "ranks are 0 to 1"),
        (["--global-batch-size", "9"], "cannot be shared equally by 2 devices"),
        (["--batch-per-device", "4", "--global-batch-size", "16"], "not allowed with"),
    ],
)
def test_what_cannot_run_is_refused(vision: ModuleType, monkeypatch, capsys, options: list[str], sentence: str) -> None:
    monkeypatch.setattr(vision, "WORLD", 2)
    monkeypatch.setattr(sys, "argv", ["vision.py", "--out", "nowhere", *options])
    with pytest.raises(SystemExit, match="2"):
        vision.arguments()
    assert sentence in capsys.readouterr().err


FAILING = """
import argparse, pathlib, sys
import measuring, runlog, torch
args = argparse.Namespace(out=pathlib.Path(sys.argv[1]), profile_steps=2, warmup_steps=3)
log, say = runlog.open_log(args.out / "rank0.log")
with runlog.ending(log), measuring.profiler(args, 3) as tracer:
    tracer.step()
    torch.ones(3) @ torch.ones(4 if len(sys.argv) == 2 else 3)
    raise torch.OutOfMemoryError("no memory")
"""


@pytest.mark.parametrize(("words", "outcome"), [([], "error"), (["long"], "oom")])
def test_an_error_within_the_traced_steps_is_logged_and_ends_in_a_traceback(
    tmp_path: Path, words: list[str], outcome: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING, str(tmp_path), *words], cwd=RUNNERS, capture_output=True, text=True
    )
    assert done.returncode == 1, (
        done.stderr
    )  # not -11: a profiler that still records at the end is a segmentation fault
    (end,) = records(tmp_path / "rank0.log")
    assert (end["event"], end["outcome"]) == ("end", outcome)
    assert end["outcome_text"].rpartition(": ")[2] in done.stderr


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes that differ in colour, with a little noise."""
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("pictures")
    generator = torch.Generator().manual_seed(0)
    for part, count in (("train", 24), ("val", 5)):
        for name, colour in (("blue", (40, 60, 200)), ("red", (200, 60, 40))):
            (folder / part / name).mkdir(parents=True)
            for k in range(count):
                noise = torch.randint(0, 50, (48, 40, 3), generator=generator)
                pixels = (torch.tensor(colour) + noise).to(torch.uint8)
                content = image.frombytes("RGB", (40, 48), pixels.numpy().tobytes())
                content.save(folder / part / name / f"{k}.png")
    return folder


def test_losses_fall_on_a_folder_of_images(pictures: Path, tmp_path: Path) -> None:
    options = ("--data", pictures, "--workers", 0, "--batch-per-device", 8, "--epochs", 3, "--validation-steps", -1)
    carried_out("vision.py", *SMALL_IMAGES, "--out", tmp_path, *options, "--profile-steps", 0, "--lr", 0.3)
    events = records(tmp_path / "rank0.log")
    assert (events[0]["dataset"], events[0]["steps_per_epoch"]) == (pictures.name, 6)
    steps = of(events, "step")
    losses = [record["loss"] for record in steps if record["phase"] != "validation"]
    assert len(losses) == 18
    assert sum(losses[-6:]) < 0.5 * sum(losses[:6])
    assert [record["samples"] for record in steps if record["phase"] == "validation"] == [8, 2] * 3
    assert [phase["samples"] for phase in of(events, "phase") if phase["phase"] == "validation"] == [10] * 3


def test_an_lmdb_gives_the_same_images(pictures: Path, tmp_path: Path, vision: ModuleType) -> None:
    pytest.importorskip("lmdb")
    convert = [sys.executable, RUNNERS / "vision_data.py", pictures, tmp_path / "lmdb"]
    said = subprocess.run(convert, capture_output=True, text=True, check=True).stdout
    assert "train: 48 images of 2 classes" in said
    folder, lmdb = (
        list(vision.Batches(path, "val", 4, 0, 32, 0, 1, workers, False, 1).start(0))
        for path, workers in ((pictures, 0), (tmp_path / "lmdb", 1))
    )
    for (images, labels), (others, others_labels) in zip(folder, lmdb, strict=True):
        assert torch.equal(images, others)
        assert torch.equal(labels, others_labels)
    shares = [
        [labels for _, labels in vision.Batches(tmp_path / "lmdb", "train", 4, 0, 32, rank, 2, 0, False, 1).start(0)]
        for rank in (0, 1)
    ]
    assert sum(map(len, shares)) == 12
    assert sorted(torch.cat([*shares[0], *shares[1]]).tolist()) == [0] * 24 + [1] * 24


@pytest.mark.slow
def test_a_planted_straggler_is_found_and_named(tmp_path: Path) -> None:
    options = ("--batch-per-device", 4, "--steps", 24, "--warmup-steps", 4, "--profile-steps", 1)
    finished(vision_run(tmp_path / "r", *options, "--slow-rank", 1, "--slow-by", 0.2, ranks=4))
    ingest([tmp_path / "r"], tmp_path / "w", jobs=1)
    rows = scalelens.query("outlier_gpus", tmp_path / "w").sort("rank").rows(named=True)
    assert [row["verdict"] for row in rows] == ["ordinary", "slow", "ordinary", "ordinary"], rows
    assert rows[1]["ratio"] == pytest.approx(1.2, abs=0.1)
    assert rows[1]["n_steps"] == 24
