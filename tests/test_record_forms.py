"""Records of one form, read by columns: the same rows as line by line, whatever stands between them."""

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scalelens.ingestion import formats, recognize
from scalelens.ingestion.recognize import read_rows
from scalelens.parsers import (
    deepspeed_pipeline,
    deepspeed_timer,
    dllogger,
    megatron,
    pytorch_imagenet,
    torchvision_references,
)
from scalelens.parsing import dispatch, record_forms
from scalelens.parsing.record_forms import Prefix
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source

LOADED = formats.load()


def megatron_records(chance: random.Random) -> Iterator[str]:
    """Records with what real logs hold between them, and what makes a record unlike the others."""
    prefix = chance.choice(("", "", "", "7: ", "[default0]:", "0: [default3]: "))
    width, step, gap = chance.choice((8, 4)), chance.randrange(50), chance.choice((1, 10))
    stamp = chance.choice((None, "2026-03-04 05:%02d:%02d", "2026-03-04 05:%02d:%02d.25"))
    for k in range(chance.randrange(60, 200)):
        step += gap
        odd = chance.random()
        if odd < 0.02:
            step = max(step - chance.randrange(40), 1)
        elif odd < 0.04:
            step += gap
        day = "2026-03-04" if odd < 0.06 or odd > 0.07 else "2026-13-04"  # a month that is none
        head = f" [{stamp % (k // 60 % 60, k % 60)}]".replace("2026-03-04", day) if stamp else ""
        loss = "nan" if 0.04 < odd < 0.05 else f"{9 - step / 1e4:.6E}"
        line = (
            f"{head} iteration {step:{width}d}/{900 + 0 * k:{width}d} | consumed samples: {step * 64:12d} | "
            f"elapsed time per iteration (ms): {chance.uniform(900, 1100):.1f} | learning rate: 1.500E-04 | "
            f"global batch size: {64 if odd < 0.99 else 128:5d} | lm loss: {loss} | loss scale: 1.0 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
        yield prefix + (line if odd < 0.985 else line[: chance.randrange(len(line))])
        if odd > 0.9:
            yield from chance.choice((
                [f"saving checkpoint at iteration {step:7d} to /data/ckpt"], ["(min, max) time across ranks (ms):",
                "    forward-backward ...............................: (1000.25, 1001.50)"], ["", "a line of another program | with | bars"],
                ["[before the start of training step] datetime: 2026-03-04 05:00:00"], [prefix + "a warning"], ["1: " + line],
                [f"validation loss at iteration {step} | lm loss value: 7.1E+00 | lm loss PPL: 1.2E+03 |"],
            ))  # fmt: skip


def imagenet_records(chance: random.Random) -> Iterator[str]:
    total, writers = chance.choice((40, 400, 900)), chance.choice((1, 1, 1, 2))
    prefix = chance.choice(("", "", "3: "))
    for epoch in range(chance.choice((1, 3)), chance.choice((5, 12))):
        for index in range(0, total, 10):
            for _ in range(writers):
                loss = f"{chance.uniform(6, 7):.4e}"
                line = (
                    f"Epoch: [{epoch}][{index:3d}/{total}]\tTime {chance.uniform(0.1, 2):6.3f} ( 0.500)\t"
                    f"Data {chance.uniform(0, 0.3):6.3f} ( 0.010)\tLoss {loss} ({loss})\tAcc@1   0.39 (  0.40)\tAcc@5   1.56 (  1.60)"
                )
                yield prefix + (line if chance.random() < 0.99 else line[: chance.randrange(len(line))])
            if chance.random() < 0.05:
                yield "a warning of some library"
        yield (
            prefix
            + f"Test: [ 0/{total}]\tTime  0.412 ( 1.120)\tLoss 1.0052e+00 (9.8012e-01)\tAcc@1  74.22 ( 75.11)\tAcc@5  92.19 ( 92.47)"
        )
        yield prefix + " * Acc@1 75.110 Acc@5 92.470"


def pipeline_records(chance: random.Random) -> Iterator[str]:
    """Records of DeepSpeed's pipeline engine, with other losses in some logs, and what makes a record unlike others."""
    prefix, names = chance.choice(("", "", "n3: ", "7: ")), chance.choice(((), (), ("lm_loss", "aux_2")))
    step, gap, batch = chance.randrange(3), chance.choice((1, 10)), chance.choice((64, 256))
    if chance.random() < 0.1:
        yield "  train_iters ..................................... 320000"
    for _ in range(chance.randrange(60, 200)):
        step += gap
        odd = chance.random()
        if odd < 0.02:
            step = max(step - chance.randrange(40), 1)
        elif odd < 0.04:
            step += chance.randrange(1, 20)
        losses = "".join(f"{name}: {chance.uniform(0, 3):.4f} " for name in names)
        loss = "nan" if 0.04 < odd < 0.05 else f"{chance.uniform(1, 12):.4f}"
        seconds = chance.uniform(0.4, 0.6)
        rate = (batch if odd < 0.99 else 2 * batch) / seconds
        line = f"steps: {step} loss: {loss} {losses}iter time (s): {seconds:.3f} samples/sec: {rate:.3f}"
        yield prefix + (line if odd < 0.985 else line[: chance.randrange(len(line))])
        if odd > 0.9:
            yield chance.choice(("", "a line: with: three: colons: 1", prefix + "a warning", "1: " + line, f"x {line}"))


def timer_records(chance: random.Random) -> Iterator[str]:
    """Records of DeepSpeed's throughput timer, most with the line of learning rates above, and what makes one unlike."""
    prefix, rank = chance.choice(("", "", "n3: ", "7: ")), chance.choice((0, 0, 12))
    step, gap, groups, seconds = chance.randrange(12), chance.choice((1, 10)), chance.choice((0, 1, 1, 2)), 0
    memory = chance.choice(("", "", ", MemAllocated=4.25GB, MaxMemAllocated=18.5GB"))
    if chance.random() < 0.3:
        yield f"[2026-03-04 05:00:00,359] [INFO] [config.py:752:print]   train_batch_size ............. {chance.choice((64, 256))}"
    if chance.random() < 0.1:
        yield "  train_iters ..................................... 320000"
    for k in range(chance.randrange(60, 200)):
        step, odd = step + gap, chance.random()
        seconds += chance.choice((0, 5, 7)) - (60 if 0.05 < odd < 0.06 else 0)
        if odd < 0.02:
            step = max(step - chance.randrange(40), 1)
        begin = f"{prefix}[2026-03-{4 if odd < 0.99 else 44:02d} 05:{seconds // 60 % 60:02d}:{seconds % 60:02d},{k:03d}] [INFO]"
        rates = ", ".join(
            f"{chance.uniform(0, 1) * (-1 if 0.04 < odd < 0.05 else 1):.{chance.choice((1, 9, 17))}g}"
            for _ in range(groups)
        )
        named = step if odd > 0.03 else step + 1
        if groups:
            yield f"{begin} [logging.py:96:log_dist] [Rank {rank}] step={named}, skipped={k // 50}, lr=[{rates}], mom=[(0.9, 0.95)]"
        if 0.06 < odd < 0.08:
            yield "a line between the two"
        rate = (
            chance.choice((f"{chance.uniform(80, 99)!r}", "92.5", "91.8116451593816"))
            if odd < 0.98
            else chance.choice(("inf", "-3.5", "0.0"))
        )
        line = (
            f"{begin} [timer.py:215:stop] epoch={k // 60}/micro_step={2 * step}/global_step={step}, "
            f"RunningAvgSamplesPerSec=91.8116451593816, CurrSamplesPerSec={rate}{memory}"
        )
        yield line if not 0.08 < odd < 0.095 else line[: chance.randrange(len(line))]
        if odd > 0.999:
            yield "  train_iters ..................................... 320000"
        if odd > 0.92:
            yield chance.choice(
                ("", "a=1, b=2", prefix + "a warning", "1: " + line, f"x {line}", f"100% | 1/2 [00:01]{line}")
            )


def dllogger_records(chance: random.Random) -> Iterator[str]:
    """Console lines of DLLogger in four of its forms, and what makes a record unlike the others."""
    prefix, kind = chance.choice(("", "", "n3: ", "7: ")), chance.randrange(4)
    step, gap, seconds, per_epoch = chance.randrange(12), chance.choice((1, 1, 10)), 0.0, chance.choice((60, 1000))
    timed = chance.choice(("throughput", "train_iter"))
    settings = chance.choice(("", "print_freq : 10 ", "log_every : 1 ", "train.x : 1 "))
    yield f"{prefix}DLL 2026-03-04 04:59:00.125000 - PARAMETER batch_size : 64  {settings}"
    if chance.random() < 0.8:
        yield ':::MLLOG {"time_ms": 1772600000000, "key": "global_batch_size", "value": 512, "metadata": {}}'
    for _ in range(chance.randrange(60, 200)):
        step, odd = step + gap, chance.random()
        seconds += chance.uniform(0, 2) - (60 if 0.05 < odd < 0.06 else 0)
        if odd < 0.02:
            step = max(step - chance.randrange(40), 1)
        elif odd < 0.04:
            step += gap
        loss = "nan" if 0.04 < odd < 0.05 else f"{chance.uniform(0, 9):.4f}"
        rate = f"{chance.uniform(80, 99):.2f}" if odd < 0.985 else "0.0"
        epoch, iteration = divmod(step, per_epoch)
        line = (
            f"Iteration {step} | train_acc : 0.6250 % | iteration_time : {chance.uniform(9, 120):.2f} ms | "
            f"train_loss : {loss}  | used_graph : {odd > 0.1} ",
            f"Epoch: {epoch} Iteration: {iteration}  train.loss : {loss} None train.compute_ips : 99.50 images/s "
            f"train.{chance.choice(('total_ips', 'total_ips', 'ips'))} : {rate} images/s train.lr : 0.25 ",
            f"({epoch}, {iteration}) data_time : 0.125 s train.compute_time : {chance.uniform(1, 2):.3f} s "
            f"total_ips : {rate}",
            f"Iteration: {step}  {timed}_time : 0.125 s mlm_loss : {loss}",
        )[kind]
        day = 4 if odd < 0.985 else 44
        begin = f"{prefix}DLL 2026-03-{day:02d} 05:{int(seconds) // 60:02d}:{seconds % 60:09.6f} - "
        yield begin + (line if not 0.06 < odd < 0.07 else line[: chance.randrange(len(line))])
        if 0.07 < odd < 0.08:
            yield f"{begin}{line.partition(' train')[0]} train.more : 1.5 "
        if odd > 0.92:
            yield chance.choice(
                ("", "a : 1 b : 2", prefix + "a warning", "1: " + begin + line, f"x {line}", f"{begin}Epoch: {epoch}  loss : 3.5",
                 f"{begin}Current_epoch_num 0.05 | eval_time : 1902.86 ms | total_steps : 48 ",
                 ':::MLLOG {"time_ms": 1772600000000, "key": "global_batch_size", "value": 256, "metadata": {}}')
            )  # fmt: skip


def torchvision_records(chance: random.Random) -> Iterator[str]:
    """Lines of a MetricLogger with and without accuracies and memory, and what makes a record unlike the others."""
    prefix, total, every = chance.choice(("", "", "n3: ", "7: ")), chance.choice((200, 900)), chance.choice((5, 5, 10))
    has_odd = chance.random() < 0.5
    named, memory = chance.random() < 0.5, chance.choice(("", "  max mem: 21022"))
    for epoch in range(chance.choice((0, 8)), chance.choice((9, 12))):
        for index in range(0, total, every):
            odd = chance.random() if has_odd else 0.5
            loss = f"{chance.uniform(0, 9):.4f}" if odd < 0.998 else "nan"
            acc = f"  acc1: {chance.uniform(0, 99):.4f} (50.1023)  acc5: {chance.uniform(0, 99):.4f} (0.6120)  img/s: 812.4"
            named_now = (acc if odd < 0.98 else acc.replace("acc5", "acc9")) if named else ""
            left = "1 day, 0:12:34" if odd < 0.002 else f"0:{chance.randrange(60):02d}:34"
            line = (
                f"Epoch: [{epoch}]  [{index if odd < 0.97 else max(index - 3 * every, 0):4d}/{total}]  eta: {left}  "
                f"lr: 0.0{chance.randrange(9)}  loss: {loss} ({loss}){named_now}  time: {chance.uniform(0, 1):.4f}  "
                f"data: {chance.uniform(0, 1):.{4 if odd < 0.998 or odd > 0.999 else 3}f}{memory}"
            )
            yield prefix + (line if odd < 0.985 else line[: chance.randrange(len(line))])
            if odd > 0.95:
                yield chance.choice(
                    ("", "a: 1", prefix + "a warning", "1: " + line, f"x {line}", "| distributed init (rank 0): env://")
                )
        if chance.random() < 0.5:
            yield f"{prefix}Test:   [ 0/79]  eta: 0:01:15  loss: 0.9123 (0.9123)  time: 0.9533  data: 0.7010"
            yield f"{prefix}Epoch: [{epoch}] Total time: 0:17:03"


def everything(path: Path) -> tuple[dict[str, list[str]], list[Any]]:
    """All rows, and all that is known of the file beside them."""
    batches = defaultdict(list)
    rows = Rows("f", lambda table, batch: batches[table].append(pa.Table.from_batches([batch])))
    status = read_rows(open_source(path), LOADED, rows)
    rows.flush()
    by_table = {table: sorted(map(repr, pa.concat_tables(of_table).to_pylist())) for table, of_table in batches.items()}
    facts = {part: (sorted(known.rows.items()), known.steps, known.attempts, known.started_at, known.ended_at,
             sorted(known.outcomes, key=repr)) for part, known in rows.parts.items()}  # fmt: skip
    return by_table, [
        status,
        sorted(rows.taken.items()),
        rows.timed_steps,
        facts,
        sorted(map(repr, rows.rows_by_format.items())),
    ]


def counts_of(format: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records a format takes by columns from now on, each time that it is offered some."""
    taken: list[int] = []
    take_records = format.Reader.take_records

    def counted(reader: Any, records: Any) -> int:
        taken.append(take_records(reader, records))
        return taken[-1]

    monkeypatch.setattr(format.Reader, "take_records", counted)
    return taken


@pytest.mark.parametrize(
    ("write", "format"),
    [
        (megatron_records, megatron),
        (imagenet_records, pytorch_imagenet),
        (pipeline_records, deepspeed_pipeline),
        (timer_records, deepspeed_timer),
        (dllogger_records, dllogger),
        (torchvision_records, torchvision_references),
    ],
)
@pytest.mark.parametrize("cases", [25, pytest.param(120, marks=pytest.mark.slow)])
def test_columns_give_the_rows_of_line_by_line(
    write: Any, format: Any, cases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, path = counts_of(format, monkeypatch), tmp_path / "job.out"
    monkeypatch.setattr(dispatch, "MANY_RECORDS", 30)
    chance = random.Random(3)
    for case in range(cases):
        learned_from = chance.choice((1500, 1 << 16))  # as of a long text, or a short one
        monkeypatch.setattr(dispatch, "LEARNED_FROM", learned_from)
        path.write_text("\n".join(write(chance)) + chance.choice(("", "\n")))
        monkeypatch.setattr(recognize, "TEXT_BLOCK", chance.choice((3000, 9000, 1 << 20)))
        read = []
        for fewest in (chance.choice((2, 5, 16)), 1 << 30):
            monkeypatch.setattr(dispatch, "FEWEST_RECORDS", fewest)
            monkeypatch.setattr(record_forms, "FEWEST_RECORDS", fewest)
            read.append(everything(path))
        assert read[0] == read[1], case
    assert sum(taken) > 16 * cases  # else nothing was compared


def test_a_count_with_one_more_digit_is_read_by_columns_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, path = counts_of(pytorch_imagenet, monkeypatch), tmp_path / "job.out"
    path.write_text("".join(
        f"Epoch: [{epoch}][{batch:4d}/1000]\tTime  0.312 ( 0.312)\tData  0.001 ( 0.002)\tLoss 2.{batch:04d}e+00 (2.5000e+00)"
        f"\tAcc@1  12.50 ( 10.00)\tAcc@5  50.00 ( 40.00)\n"
        for epoch in range(8, 12) for batch in range(1000)
    ))  # fmt: skip
    by_columns = everything(path)
    assert sum(taken) > 3000
    monkeypatch.setattr(dispatch, "FEWEST_RECORDS", 1 << 30)
    monkeypatch.setattr(record_forms, "FEWEST_RECORDS", 1 << 30)
    assert everything(path) == by_columns


@pytest.mark.parametrize("label", ["", "0: "])
@pytest.mark.parametrize("before", [
    ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1772409600000, \"event_type\": \"POINT_IN_TIME\", \"key\": \"seed\", "
    "\"value\": 3, \"metadata\": {\"file\": \"a.py\", \"lineno\": 1}}\n",
    "python main.py -a resnet18 --batch-size 64\n" * 3,
    "a line that nobody takes\n" * 300,
    "",
])  # fmt: skip
def test_what_stands_before_the_records_does_not_hide_that_they_are_many(
    label: str, before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, path = counts_of(pytorch_imagenet, monkeypatch), tmp_path / "job.out"
    records = "".join(
        f"Epoch: [0][{batch:3d}/600]\tTime  0.312 ( 0.312)\tData  0.001 ( 0.002)\tLoss 2.{batch:04d}e+00 (2.5000e+00)"
        f"\tAcc@1  12.50 ( 10.00)\tAcc@5  50.00 ( 40.00)\n"
        for batch in range(600)
    )
    path.write_text("".join(f"{label}{line}\n" for line in (before + records).splitlines()))
    assert path.stat().st_size < 2 * dispatch.LEARNED_FROM
    by_columns = everything(path)
    assert sum(taken) > 400
    monkeypatch.setattr(dispatch, "FEWEST_RECORDS", 1 << 30)
    monkeypatch.setattr(record_forms, "FEWEST_RECORDS", 1 << 30)
    assert everything(path) == by_columns


@pytest.mark.parametrize("closed", ["", "|"])
@pytest.mark.parametrize("key", ["loss", "a long name of a metric " * 5])
def test_records_at_the_end_of_a_text(key: str, closed: str) -> None:
    texts = [f"step {k:3d}|lr: 0.1|{key}: {k / 4}{closed}" for k in range(20)]
    form = record_forms.form_of(texts[10], "step  10", "|")
    assert form
    records = record_forms.Block("".join(f"{text}\n" for text in texts).encode(), 1).records(form, Prefix())
    assert records
    assert records.fields[1].to_pylist() == [k / 4 for k in range(20)]
    assert records.heads.to_pylist() == [f"step {k:3d}" for k in range(20)]


@pytest.mark.parametrize("text", [b"\n", b"x\n", b"a|b: 1\n", b"step   1|b: 1|\n"])
def test_a_text_shorter_than_a_record_holds_none(text: bytes) -> None:
    form = record_forms.form_of("step  10|loss: 1.5|", "step  10", "|")
    assert form
    assert record_forms.Block(text, 1).records(form, Prefix()) is None
