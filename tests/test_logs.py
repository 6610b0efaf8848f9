"""What a log must not be taken for, what its numbers are, and how its run ended: from the log to the answer in SQL."""

import csv
import json
from pathlib import Path

import pytest

import scalelens
from asking import answer
from conftest import FIXTURES
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.parsing.format_file import name_of, samples

LOADED = formats.load()
SAMPLES = [(name_of(module), sample) for module in LOADED.of_lines for sample in samples(module)]


@pytest.fixture
def ask(tmp_path: Path):
    """Rows of a statement over a file of this name and text."""

    def rows(name: str, text: str, statement: str, encoding: str = "utf-8") -> list[tuple]:
        file = tmp_path / "logs" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding)
        ingest([file], tmp_path / "w", jobs=1)
        return answer(tmp_path / "w", statement).fetchall()

    return rows


# No file yields rows under a wrong format

FILE = "SELECT status, formats, rows, problems FROM files"
CRASH = """\
=> using pre-trained model 'resnet50'
Traceback (most recent call last):
  File "main.py", line 420, in <module>
    main()
  File "/env/lib/python3.11/site-packages/torchvision/datasets/folder.py", line 23, in find_classes
    classes = [d for d in os.listdir(dir) if os.path.isdir(os.path.join(dir, d))]
FileNotFoundError: [Errno 2] No such file or directory: '/data/images/val'
"""
# What programs print, as their source says it: the words are there, the values are not.
SOURCE = """\
import os, sys
with open(sys.argv[0]) as f:
    code = f.read() # read the code of this file ASAP, for logging
print0(f"step:{step}/{train_steps} val_loss:{val_loss:.4f} train_time:{training_time_ms:.0f}ms step_avg:{training_time_ms/max(step, 1):.2f}ms", console=True)
    log_string = ' iteration {:8d}/{:8d} |'.format(iteration, args.train_iters)
    log_string += ' elapsed time per iteration (ms): {:.1f} |'.format(elapsed_time_per_iteration * 1000.0)
    print(f"iter {iter_num}: loss {lossf:.4f}, time {dt*1000:.2f}ms, mfu {running_mfu*100:.2f}%")
    log('Iter #%d: %.1f img/sec per %s' % (x, img_sec, device))
    progress = ProgressMeter(len(loader), [batch_time], prefix="Epoch: [{}]".format(epoch))
    _logger.info(f'Train: {epoch} [{update_idx:>4d}/{updates_per_epoch} ({100. * update_idx:>3.0f}%)]  Loss: {loss:#.3g}')
    logger.info(f"Step: {train_step} | Loss: {loss.item():.2f} | Tokens per second: {tps:.2f} | TFLOPs: {tflops:.2f}")
    logger.info("[Eval][Epoch {}][Iter: {}/{}]{}, {}, {}".format(epoch_id, iter_id, size, metric_msg, time_msg, ips_msg))
    print(":::MLLOG {}".format(json.dumps(record)))
====================================================================================================
Running Python 3.12.7
"""
EVALUATION = """\
Test: [  1/196]\tTime  2.113 ( 2.113)\tLoss 9.1230e-01 (9.1230e-01)\tAcc@1  78.12 ( 78.12)\tAcc@5  93.75 ( 93.75)
Test: [ 11/196]\tTime  0.213 ( 0.413)\tLoss 9.0230e-01 (9.0630e-01)\tAcc@1  77.12 ( 77.62)\tAcc@5  93.25 ( 93.50)
 *   Acc@1 77.000 Acc@5 93.400
"""


def test_a_crash_is_an_end_and_nothing_else(ask) -> None:
    assert ask("job.log", CRASH, "SELECT status, formats, problems FROM files") == [
        ("ok", ["job_end", "pytorch_imagenet"], 0)  # the model is that of its first line
    ]
    assert ask("job.log", CRASH, "SELECT outcome, outcome_line, model FROM runs") == [("error", 2, "resnet50")]
    for table in ("steps", "phases", "metrics"):
        assert ask("job.log", CRASH, f"FROM {table}") == []


def test_the_programs_own_source_before_its_log_is_no_log(ask) -> None:
    log = "step:1/100 train_loss:10.5500 train_time:170ms step_avg:nanms\n"
    assert ask("run.txt", SOURCE + log, FILE) == [("ok", ["modded_nanogpt"], 3, 0)]
    lines = ask("run.txt", SOURCE + log, "SELECT DISTINCT line FROM steps UNION SELECT DISTINCT line FROM metrics")
    assert lines == [(SOURCE.count("\n") + 1,)]


def test_source_alone_is_nothing(ask) -> None:
    assert ask("run.txt", SOURCE, FILE) == [("unknown", [], 0, 0)]


@pytest.mark.parametrize("name", ["notes.md", "README", "README.txt"])
def test_markdown_that_quotes_log_lines_is_a_document(ask, name: str) -> None:
    quoted = "# Results\n\n```\n" + "\n".join(sample for _, sample in SAMPLES) + "\n```\n"
    assert ask(name, quoted, FILE) == [("document", [], 0, 0)]


def test_the_documentation_of_a_library_has_no_failures(ask) -> None:
    """It names the errors that a function returns: a run was said to have lost its node."""
    text = (
        '<?xml version="1.0"?>\n<doc>\n<member name="F:Nvml.GpuIsLost">\n<summary>\n{}\n</summary>\n</member>\n</doc>\n'
    )
    error = "The GPU has fallen off the bus or has otherwise become inaccessible"
    assert ask("Monitor.xml", text.format(error), FILE) == [("document", [], 0, 0)]
    assert ask("monitor.log", text.format(error), FILE)[0][0] != "document"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])  # PowerShell's > writes the second
@pytest.mark.parametrize("name", ["readme_output_aws.txt", "README"])
def test_a_log_that_is_called_readme_is_a_log(ask, name: str, encoding: str) -> None:
    steps = "".join(f"step:{k}/30 train_time:{k * 250}ms\n" for k in range(1, 31))
    log = f"command:\ntrain --epoch 300\n\ntraining output:\n{steps}"
    assert ask(name, log, FILE, encoding) == [("ok", ["modded_nanogpt"], 61, 0)]


@pytest.mark.parametrize("indent", [None, 1])
def test_json_that_quotes_log_lines_is_no_log(ask, indent: int | None) -> None:
    """Each line of each format, as a string within JSON lines, and within a document laid out over lines."""
    records = [{"format": name, "note": "prints " + sample, "lines": [sample]} for name, sample in SAMPLES]
    text = "\n".join(json.dumps(record, indent=indent) for record in records) + "\n"
    assert ask("notes.jsonl", text, FILE) == [("unknown", [], 0, 0)]


def test_a_log_of_evaluations_alone_has_no_training_step(ask) -> None:
    phases = ask("eval.log", EVALUATION, "SELECT DISTINCT phase FROM steps")
    assert phases == [("validation",)]
    assert ask("eval.log", EVALUATION, "SELECT count(*) FROM step_times") == [(0,)]
    assert ask("eval.log", EVALUATION, "SELECT n_steps, step_s FROM batch_stats()") == []
    assert ask("eval.log", EVALUATION, "FROM scaling()") == []


# What a format's times and rates are.  Kinds of value: one step, a mean since the record before or over a window, since
# the start of the epoch or the run, of an epoch, of the run.  Scopes: of the whole job, or of the process that prints.

ONE, WINDOW, RUNNING, EPOCH, RUN = "instant", "interval_mean", "running_mean", "epoch_mean", "run_mean"
JOB, RANK, NO_RATE = "global", "rank", None
MEANINGS: dict[str, set[tuple[str, str | None]]] = {
    "ascend_step_trace": {(ONE, NO_RATE)},
    "baselines": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # by the time since the start
    "basicsr": {(WINDOW, NO_RATE), (RUNNING, NO_RATE)},  # between stamps; else the printed mean
    "catboost": {(WINDOW, NO_RATE)},  # differences of the time since the start
    "centernet": {(ONE, NO_RATE)},  # the mean since the epoch began, as a clock
    "clu": {(WINDOW, NO_RATE), (WINDOW, JOB)},  # steps per second since the record before; T5X's rate is of the job
    "colossalai": {(RUN, JOB), (RUN, RANK)},  # means over the run; of a rank where dp_world_size is missing
    "column_lines": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # of one step, or of an epoch by its stamps
    "composer": {(RUNNING, JOB)},
    "cscs_course": {(ONE, RANK), (WINDOW, RANK)},  # tokens per second of one process since the line before
    # One image, by the batch; a mean since the line before of pix2pixHD; smoothed by CUT.
    "cyclegan": {(ONE, NO_RATE), (WINDOW, NO_RATE), (RUNNING, NO_RATE)},
    "darknet": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # an update; with several GPUs a mean over as many
    "deepspeed_breakdown": {(WINDOW, JOB)},
    "deepspeed_chat": {(ONE, JOB)},
    "deepspeed_comms": {(WINDOW, JOB)},
    "deepspeed_config": {(ONE, JOB)},
    "deepspeed_pipeline": {(ONE, JOB), (WINDOW, JOB)},
    # CurrSamplesPerSec; older versions had the average alone.  Beside it in one fixture, the bar of tqdm.
    "deepspeed_timer": {(ONE, JOB), (RUNNING, JOB), (WINDOW, JOB)},  # by the stamps, without a batch
    "detectron2": {(ONE, NO_RATE), (RUNNING, NO_RATE)},  # last_time, else a mean since the start
    "detectron2_json": {(RUNNING, NO_RATE)},  # a median of the last 20
    "dllogger": {
        (ONE, JOB),
        (WINDOW, JOB),
        (ONE, NO_RATE),
    },  # PyTorch logs each iteration, TensorFlow and MXNet a display interval
    "edm_stats": {(WINDOW, JOB)},  # images of all ranks over a tick
    "coqui_tts": {(ONE, NO_RATE)},
    "epicure_vision": {(ONE, NO_RATE)},
    "faster_rcnn": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # since the record before
    "failure_lines": {(ONE, NO_RATE)},  # the records of nanoGPT beside them in a fixture
    "fairseq": {(WINDOW, JOB), (RUNNING, JOB)},  # since the record before; of old, since the epoch began
    "fleetx": {(WINDOW, NO_RATE)},
    # Tables are what their columns say: a rate per device, or of nobody knows whom.
    "generic_csv": {(ONE, RANK), (ONE, NO_RATE), (WINDOW, NO_RATE), (RUN, JOB), (RUN, NO_RATE)},
    "generic_json": {(ONE, NO_RATE), (RUN, NO_RATE)},
    "generic_markdown": {(RUN, JOB)},
    "generic_jsonl": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # what the time stamps tell is a mean
    # Means of an epoch stand in lines that count epochs alone; a rate without a time, such as an agent's or that of a bar
    # of images, is of nobody knows whom.
    "generic_lines": {
        (ONE, NO_RATE),
        (WINDOW, NO_RATE),
        (WINDOW, RANK),
        (RUNNING, NO_RATE),
        (EPOCH, NO_RATE),
        (EPOCH, RANK),
        ("", NO_RATE),
    },
    "gnmt": {(ONE, NO_RATE)},  # a batch; its mean over the epoch is left out
    # Horovod's rank 0 counts all workers; beside them in a fixture, MXNet's Speedometer.
    "gluon": {(WINDOW, JOB), (EPOCH, JOB), (WINDOW, NO_RATE)},
    # PyTorch's CNN prints one throughput for each epoch, examples-utils the benchmark's mean.
    "graphcore": {(ONE, JOB), (WINDOW, JOB), (EPOCH, JOB), (RUN, JOB)},
    "hf_progress": {
        (ONE, NO_RATE),
        (WINDOW, NO_RATE),
        (RUN, NO_RATE),
    },  # tqdm, inverted; a step with an evaluation is a window; a summary of the trainer
    # The bar beside the records; train_runtime in each of them tells the time since the one before.
    # Of ms-swift also the mean of the run.
    "hf_trainer": {(WINDOW, NO_RATE), (ONE, NO_RATE), (RUN, NO_RATE)},
    "hf_trainer_state": {(WINDOW, NO_RATE), (RUN, NO_RATE)},
    "horovod_synthetic": {(WINDOW, RANK)},  # the mean of ten batches, per GPU
    "hrnet": {(WINDOW, NO_RATE), (ONE, RANK)},  # differences of means since the epoch began; a batch of one process
    "ijepa": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # the mean since the epoch began, as a clock
    "internevo": {(ONE, RANK), (WINDOW, RANK)},  # tgs is of a device; times between the stamps of records
    "job_end": {(ONE, JOB)},  # Megatron's records in its fixtures
    "caffe": {(WINDOW, NO_RATE)},  # what all iterations since the line before took; between stamps
    "joeynmt": {(WINDOW, NO_RATE)},  # between stamps
    "jube": {(RUN, JOB)},  # `_avg` of a pattern
    "jube_result": {(RUN, JOB)},
    # A step's time below its heading; differences of the time since the start; an epoch's mean below its heading.
    "headed_lines": {(ONE, NO_RATE), (WINDOW, NO_RATE), (EPOCH, NO_RATE)},
    "json_lists": {(ONE, NO_RATE)},
    "keras": {
        (EPOCH, NO_RATE),
        (EPOCH, JOB),
        (RUNNING, NO_RATE),
    },  # or samples of arrays; time per step when the epoch is over; else the mean so far
    "lerobot": {
        (WINDOW, NO_RATE)
    },  # means over the steps since the line before, of the update and of the wait for data
    "levanter": {(ONE, JOB)},
    "lightning_metrics": {(WINDOW, NO_RATE)},  # by ThroughputMonitor's seconds of training
    # Differences of means since the start, and single steps of bars that other loops draw.
    "lightning_progress": {(WINDOW, NO_RATE), (ONE, NO_RATE)},
    "litgpt": {(ONE, NO_RATE)},
    "llamafactory_log": {(WINDOW, NO_RATE)},  # differences of the elapsed time
    "llmc": {(ONE, NO_RATE)},
    "maxtext": {(ONE, RANK)},  # per device
    "matconvnet": {(ONE, JOB)},
    "megatron": {(ONE, JOB), (WINDOW, JOB)},
    "megatron_bridge": {(ONE, JOB), (WINDOW, JOB)},
    "megatron_energy": {(ONE, JOB), (WINDOW, JOB)},  # Megatron's records in its fixtures
    "mindformers": {(ONE, RANK), (WINDOW, RANK)},  # a mean over the steps that were sent to the device together
    "mindspore": {(EPOCH, NO_RATE)},  # TimeMonitor divides the epoch by its steps
    "mindspeed_fsdp2": {(ONE, JOB), (WINDOW, JOB)},
    "hugectr": {(WINDOW, NO_RATE)},
    "mllog": {
        (ONE, JOB),
        (WINDOW, JOB),
        (RUNNING, JOB),
        (EPOCH, JOB),
        (EPOCH, RANK),
    },  # tracked_stats are what each submitter made them
    "mmcv": {(WINDOW, NO_RATE)},
    "mmcv_json": {(ONE, NO_RATE), (WINDOW, NO_RATE)},
    "modded_nanogpt": {
        (WINDOW, NO_RATE),
        (RUNNING, NO_RATE),
    },  # train_time's growth, else step_avg since the tenth step
    "gpt2_finetuning": {(WINDOW, NO_RATE)},
    "mxnet_speedometer": {(WINDOW, JOB), (WINDOW, NO_RATE)},  # of the job where the log names its batch, else unsaid
    "nanochat": {(ONE, JOB), (ONE, NO_RATE)},  # tok/sec of all ranks, of which scripts made from it may print one
    "nanogpt": {(ONE, NO_RATE)},
    "nanotron": {(ONE, JOB)},
    "nccl_tests": {(ONE, JOB)},  # of a training in the same file
    "numbered_lines": {(ONE, RANK)},  # of the rank that prints it
    "nerfstudio": {(RUNNING, NO_RATE)},  # a mean over the last 20 steps
    "nemo": {(ONE, NO_RATE), (RUNNING, NO_RATE)},  # train_step_timing; where it is missing, the bar
    "olmo": {(RUNNING, JOB)},  # batches of the job per second, over a window of steps
    "olmo_core": {(ONE, NO_RATE)},  # one over the time of the step
    "openclip": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # the rates are of the last step alone: metrics
    "openrlhf": {(ONE, NO_RATE)},
    "ray_results": {(ONE, NO_RATE)},
    "paddleclas": {(RUNNING, RANK)},  # an AverageMeter since the fifth batch, of one device's batch
    "paddlex": {
        (ONE, RANK),
        (WINDOW, RANK),
    },  # since the record before, or over a window as long; of one device's batch
    "argparse_namespace": {(ONE, JOB)},  # records of Megatron in its fixture
    "launch_heading": {(ONE, JOB)},  # likewise
    "command_line": {(WINDOW, JOB), (ONE, NO_RATE)},  # records of other formats in its fixtures
    "paddle_model": {(WINDOW, NO_RATE)},  # what the mean of an epoch, times its count, grew by
    "pbs_job": {(WINDOW, JOB)},  # Megatron's record in its fixture
    "pytorch_cifar": {(ONE, NO_RATE)},  # what the time since the first batch grew by
    "pytorch_imagenet": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # `Time a (b)`: a is one batch, b is left out
    "run_summary": {
        (RUN, JOB),
        (RUN, RANK),
        (RUN, NO_RATE),
        ("run_median", NO_RATE),
    },  # of the job, of each rank, refused
    "scalelens_run": {(ONE, NO_RATE)},
    "stable_baselines3": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # what the time since the start grew by
    "stable_baselines3_table": {(ONE, NO_RATE), (WINDOW, NO_RATE)},  # as progress.csv
    "tf_distribute": {(WINDOW, JOB)},  # likewise, of tf_time_history
    "tf_time_history": {
        (WINDOW, JOB),
        ("", JOB),
    },  # since the line before, if there is one; the examples of all replicas
    "openpcdet": {(ONE, NO_RATE)},  # `time a(b)`: a is one iteration, b is left out
    "stated_means": {(RUN, NO_RATE), ("run_median", NO_RATE), (RUN, JOB), (RUN, RANK)},
    "supcontrast": {(ONE, NO_RATE)},  # `BT a (b)`: a is one batch, b is left out
    "swin": {(ONE, NO_RATE)},  # `time a (b)`: a is one batch, b is left out
    # Since step 1; the images of one process, which are the job's where there is one process.
    "tf_cnn_benchmarks": {(RUNNING, RANK), (RUNNING, JOB), (RUNNING, NO_RATE)},
    "tf_estimator": {(WINDOW, NO_RATE)},
    "ssd_pytorch": {(ONE, RANK)},  # the timer of one process
    # Detectron2's, smoothed over its last records; a named time; torchtitan's, a mean since the values before.
    "tfevents": {(RUNNING, NO_RATE), (ONE, NO_RATE), (WINDOW, NO_RATE)},
    "tflearn": {(ONE, NO_RATE)},  # the time since the epoch began
    "timm": {(ONE, JOB), (ONE, NO_RATE)},  # the rate is bs * world / time; validation prints none
    "timm_results": {(RUN, JOB)},  # one device
    "tinygrad": {(ONE, NO_RATE)},
    "deep_text_recognition": {(WINDOW, NO_RATE)},  # what the time since the start grew by, with the validation
    "pytorch_seq2seq": {(WINDOW, NO_RATE)},  # likewise
    "rl_games": {(ONE, JOB)},  # of all devices
    "tacotron2": {(ONE, NO_RATE)},
    "monai": {(ONE, NO_RATE)},  # without the wait for the batch
    "ignite_progress": {(WINDOW, NO_RATE)},  # what the elapsed seconds grew by
    "pfllib": {(ONE, NO_RATE)},  # a round of all clients, with its evaluation
    # The same, by the stamps or by what the time since the start grew by; or the mean of all rounds.
    "flower": {(ONE, NO_RATE), (RUN, NO_RATE)},
    "preference_trainer": {(ONE, JOB)},  # the batch of all ranks over the time of the last step
    # What the time since the start, by the rate, grew by; where the digits are too few, the rate since the start.
    "cleanrl": {(ONE, NO_RATE), (WINDOW, NO_RATE), (RUNNING, JOB)},
    "a2c_acktr": {(WINDOW, NO_RATE), (RUNNING, JOB)},
    "pufferlib": {(WINDOW, JOB), ("", JOB)},  # what the time since the start grew by; the rate since the last panel
    "torchtitan": {(ONE, RANK), (WINDOW, RANK)},  # tps per device
    "torchtitan_settings": {(ONE, RANK), (WINDOW, RANK)},  # torchtitan's records in its fixture
    "torchvision_references": {(WINDOW, NO_RATE)},  # of the last twenty iterations
    "ultralytics": {(EPOCH, NO_RATE)},  # the bar when the epoch is over
    "verl": {(ONE, JOB)},  # tokens of the job over the step's time
    "verl_config": {(ONE, JOB)},  # the records of verl in its fixture
    "deepmd": {(WINDOW, NO_RATE)},  # sums since the line before
    "vits": {(WINDOW, NO_RATE)},  # between stamps
    "vietocr": {(WINDOW, NO_RATE)},  # sums since the line before
    # Differences of the stamps of a tracker, or a column that the script calls the time of a step.
    "clearml_metrics": {(WINDOW, NO_RATE)},
    "comet_messages": {(WINDOW, NO_RATE)},
    "mlflow_database": {(WINDOW, NO_RATE)},
    "wandb_history": {(WINDOW, NO_RATE)},
    "wandb_run": {(WINDOW, NO_RATE)},
    "trackio_database": {(WINDOW, NO_RATE), (ONE, NO_RATE)},
    # Where the batch is not stated, a line has a rate and, once the clock tells one, the time since an earlier line.
    "xlm": {("", RANK), (WINDOW, RANK)},
    "xtuner": {(ONE, RANK)},  # data_time and time of one rank
}


def golden_steps() -> dict[str, list[dict[str, str]]]:
    """Records of the goldens that hold a time or a rate, by format."""
    found: dict[str, list[dict[str, str]]] = {}
    for path in sorted(FIXTURES.glob("*/*.steps.csv")):
        rows = [row for row in csv.DictReader(path.open()) if row.get("step_s") or row.get("samples_per_s")]
        if rows:
            found.setdefault(path.parent.name, []).extend(rows)
    return found


GOLDEN = golden_steps()


def test_every_format_with_times_says_what_they_are() -> None:
    assert MEANINGS.keys() == GOLDEN.keys()


@pytest.mark.parametrize("name", GOLDEN)
def test_times_and_rates_are_what_the_tool_means_by_them(name: str) -> None:
    found = {(row.get("value_kind") or "", row.get("rate_scope") or None) for row in GOLDEN[name]}
    assert found == MEANINGS[name]


def rates_to_check() -> dict[str, list[tuple[dict[str, str], int]]]:
    """Records of the goldens that hold a batch, a time and a rate, with the ranks that the rate leaves out; by format."""
    records: dict[str, list[tuple[dict[str, str], int]]] = {}
    for path in sorted(FIXTURES.glob("*/*.steps.csv")):
        facts = path.with_name(path.name.replace(".steps.", ".params."))
        devices = {}
        for row in csv.DictReader(facts.open()) if facts.exists() else ():
            if row["key"] == "devices":
                devices[row["part"]] = int(row["value"])
        for row in csv.DictReader(path.open()):
            if all(row.get(key) for key in ("samples", "step_s", "samples_per_s")):
                ranks = devices[row["part"]] if row["rate_scope"] == "rank" else 1
                records.setdefault(path.parent.name, []).append((row, ranks))
    return records


RATES = rates_to_check()


def test_enough_formats_print_a_batch_a_time_and_a_rate() -> None:
    assert len(RATES) >= 17, "a parser lost one of the three, and nothing checks its rate any more"


@pytest.mark.parametrize("name", RATES)
def test_a_rate_is_the_batch_over_the_time(name: str) -> None:
    """A rate of one rank is its share of that."""
    for row, ranks in RATES[name]:
        samples, step_s, rate = (float(row[key]) for key in ("samples", "step_s", "samples_per_s"))
        assert ranks * rate == pytest.approx(samples / step_s, rel=0.06), row


# Kinds are never mixed, scopes never compared


HOROVOD = """\
Model: resnet50
Batch size: 32
Number of GPUs: {devices}
Running benchmark...
Iter #0: 160.0 img/sec per GPU
Iter #1: 160.0 img/sec per GPU
Iter #2: {rate:.1f} img/sec per GPU
Iter #3: {rate:.1f} img/sec per GPU
Iter #4: {rate:.1f} img/sec per GPU
Img/sec per GPU: {rate:.1f} +-0.0
Total img/sec on {devices} GPU(s): {total:.1f} +-0.0
"""


def test_rates_per_rank_become_the_jobs_before_sizes_are_compared(tmp_path: Path) -> None:
    """160 and 152 images a second per GPU on 1 and 8 are 160 and 1216 of the job: 95 %, not 12 %."""
    for devices, rate in ((1, 160.0), (8, 152.0)):
        log = HOROVOD.format(devices=devices, rate=rate, total=devices * rate)
        (tmp_path / f"gpus{devices}.log").write_text(log)
    ingest([tmp_path], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    stats = connection.execute("SELECT samples_per_s FROM batch_stats() ORDER BY samples_per_s").fetchall()
    assert [rate for (rate,) in stats] == pytest.approx([160.0, 1216.0])
    scaled = connection.execute("SELECT scaling, devices, samples_per_s, efficiency FROM scaling()").fetchall()
    assert scaled == [("weak", 1, pytest.approx(160), 1.0), ("weak", 8, pytest.approx(1216), pytest.approx(0.95))]


def test_a_rate_per_rank_and_one_of_the_job_are_one_series(tmp_path: Path) -> None:
    """Horovod prints a rate per GPU, a record of two ranks none: both are compared as the batch over the time."""
    (tmp_path / "one.log").write_text(HOROVOD.format(devices=1, rate=160.0, total=160.0))
    record = '{{"event": "step", "rank": {rank}, "phase": "train", "step": {step}, "step_s": 0.25, "samples": 64}}\n'
    facts = {
        "event": "run",
        "rank": 0,
        "framework": "pytorch",
        "model": "resnet50",
        "devices": 2,
        "dataset": "synthetic",
    }
    text = f":::SCALELENS {json.dumps(facts | {'global_batch_size': 64, 'micro_batch_size': 32})}\n"
    text += "".join(":::SCALELENS " + record.format(rank=rank, step=step) for step in range(6) for rank in range(2))
    (tmp_path / "two.log").write_text(text)
    ingest([tmp_path], tmp_path / "w", jobs=1)
    rates = answer(tmp_path / "w", "SELECT samples_per_s FROM batch_stats() ORDER BY 1").fetchall()
    assert [rate for (rate,) in rates] == pytest.approx([160.0, 256.0])  # 64 samples each 0.25 s, whatever the ranks


def test_a_running_mean_is_refused_or_doubted_never_mixed(tmp_path: Path) -> None:
    """PaddleClas prints running means alone; beside single steps a running mean is left out, and its rule says so."""
    logs = FIXTURES / "paddleclas" / "dynamic.log"
    ingest([logs], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    (refusals,) = connection.execute("SELECT list(DISTINCT reason), count(step_s) FROM batch_cdf()").fetchall()
    assert refusals == (["running_mean: a mean of many steps hides the tail of single ones"], 0)
    notes = connection.execute("SELECT DISTINCT value_kinds, note LIKE '%running mean%' FROM batch_stats()").fetchall()
    assert notes == [("running_mean", True)]


AVERAGES = '''"""The running mean that a logger of the user prints.

Tool: ours
Versions: 1
Yields: steps
Source: ours

Samples:
    average after step 3: 9.5 s
"""

import re

VERSION = 1
ANCHORS = ("average after step ",)


class Reader:
    claims = None

    def __init__(self, rows):
        self.rows = rows

    def take(self, line):
        found = re.match(r"average after step (\\d+): ([\\d.]+) s", line.text)
        if found:
            step, time_s = int(found[1]), float(found[2])
            self.rows.add("steps", line.number, attempt=0, phase="train", step=step, step_s=time_s, value_kind="running_mean")
        return bool(found)
'''


def test_a_running_mean_of_a_step_is_not_its_time(tmp_path: Path) -> None:
    """Two formats speak of one step: the larger number is the mean, the step's own time is the other."""
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "averages.py").write_text(AVERAGES)
    times = [1.0, 0.5, 0.25, 0.25, 0.25]
    lines = [
        f"iter {step}: loss 4.0000, time {1000 * time_s:.2f}ms, mfu 38.12%\naverage after step {step}: 9.5 s\n"
        for step, time_s in enumerate(times, 1)
    ]
    (tmp_path / "job.log").write_text("".join(lines))
    ingest([tmp_path / "job.log"], tmp_path / "w", 1, (tmp_path / "formats",))
    connection = scalelens.connect(tmp_path / "w")
    kinds = "SELECT value_kind, list(step_s ORDER BY step) FROM step_times GROUP BY ALL ORDER BY ALL"
    assert connection.execute(kinds).fetchall() == [("instant", times), ("running_mean", [9.5] * 5)]
    assert connection.execute("SELECT n_steps, step_s, value_kinds FROM batch_stats()").fetchall() == [
        (3, 0.25, "instant")
    ]
    assert connection.execute("SELECT DISTINCT label FROM batch_cdf()").fetchall() == [("single steps",)]


# How a run ended, with the line that says so and the rank

COMPLETED = "megatron/core016_second_record.log"
ENDS = [
    (COMPLETED, "completed", None, None),
    ("job_end/out_of_memory.log", "oom", 8, "17"),
    ("job_end/task_out_of_memory.err", "oom", 1, "5"),
    ("job_end/collective_timeout_of_a_group.log", "collective_timeout", 1, "3"),
    ("job_end/time_limit.err", "time_limit", 1, None),
    ("job_end/node_failure.err", "node_failure", 1, None),
    ("job_end/python_error.log", "error", 1, "6"),
    ("job_end/cancelled.err", "cancelled", 1, None),
    ("job_end/interrupted.log", "cancelled", 3, None),
    ("job_end/mpi_abort.log", "error", 2, "6"),
    ("job_end/step_ended_by_a_task.err", "error", 1, "3"),
    ("job_end/pbs_walltime.log", "time_limit", 1, None),
    ("job_end/lsf_memory.log", "oom", 1, None),
    ("job_end/survived.log", "unknown", None, None),
]


@pytest.mark.parametrize(("log", "outcome", "line", "rank"), ENDS, ids=[log for log, *_ in ENDS])
def test_how_a_run_ended(tmp_path: Path, log: str, outcome: str, line: int | None, rank: str | None) -> None:
    ingest([FIXTURES / log], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    ((said, where),) = connection.execute("SELECT outcome, outcome_line FROM runs").fetchall()
    assert said == outcome
    assert where == line or log == COMPLETED
    assert connection.execute("SELECT line, value FROM params WHERE key = 'outcome_rank'").fetchall() == (
        [] if rank is None else [(line, rank)]
    )


def test_every_outcome_has_a_log() -> None:
    from scalelens.tables import OUTCOMES

    assert {outcome for _, outcome, *_ in ENDS} == set(OUTCOMES)
