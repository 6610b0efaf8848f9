"""Objects of JSON after a tag, decoded many at a time: the same rows as line by line, whatever stands in the lines."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from scalelens.ingestion import formats, recognize
from scalelens.ingestion.recognize import read_rows
from scalelens.parsers import mllog
from scalelens.parsing import dispatch
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source
from scalelens.parsing.tagged_json import objects_of

LOADED = formats.load()
CASES = 40
DECODER = msgspec.json.Decoder(dict[str, Any])
ODD_OBJECTS = (
    '{"key": "loss", "value": NaN, "time_ms": 1700000000000}', '{"key": "x", "value": "\\ud800"}', "{}", "{ }", "", "prose", "{'a': 1}",
    '{"key": 5, "value": null, "metadata": {}, "time_ms": 1700000000000}', '{"key": "seed", "value": 1e999}', '{"key": null}',
    '{"key": ["a"], "value": 1}', '{"key": "a", "value": 12345678901234567890123, "metadata": {"step": 1}}', "[1]", '{"key": "a"} {"key": "b"}',
    '{"key": "opt", "value": "SGD", "time_ms": 1e30}', '{"key": "opt", "value": "é", "time_ms": 1700000000000}', '{"key": "a\tb"}',
    '{"key": "init_start", "value": null, "metadata": [1], "time_ms": 1700000000000}', '{"key": "a", "value": null, "metadata": 3}',
    '{"key": "power_measurement_x", "value": 1}', '{"key": "power_reading", "value": 500, "time_ms": 1700000000000, "metadata": ""}',
    '{"key": "init_start", "value": null, "time_ms": "soon", "metadata": {}}', '{"key": "status", "value": "a :::MLLOG b"}',
)  # fmt: skip


def mllog_lines(chance: random.Random) -> Iterator[str]:
    """A log with several ranks, as submitters write it, and lines that are unlike the others."""
    now, step = 1_700_000_000_000, 0
    prefix = chance.choice(("", "", "3: ", "[rank2]:", "x:1:2 [0] NCCL INFO", "[1,4]<stdout>:", "node7: "))

    def line(key: str, value: Any, **about: Any) -> str:
        return f":::MLLOG {json.dumps({'namespace': '', 'time_ms': now, 'event_type': 'POINT_IN_TIME', 'key': key, 'value': value, 'metadata': about})}"

    lines = [line("submission_benchmark", "resnet"), line("cache_clear", True), line("global_batch_size", 256)]
    lines += [line("init_start", None), line("weights_initialization", None, tensor="w")] * chance.choice((1, 8))
    lines += [line("init_stop", None), line("run_start", None), line("block_start", None, first_epoch_num=1)]
    for _ in range(chance.randrange(20, 120)):
        step, now = step + 1, now + chance.randrange(1, 5000)
        stats = {"throughput": chance.uniform(10, 20), "train_step_time": chance.uniform(0.1, 2), "loss": 1.5}
        lines.append(chance.choice((line("tracked_stats", stats, step=step), line("throughput", 12.5, epoch_num=step))))
        if chance.random() < 0.3:
            lines += [
                line("eval_start", None, epoch_num=step),
                line("eval_accuracy", 0.5, epoch_num=step),
                line("eval_stop", None),
            ]
        if chance.random() < 0.2:
            lines.append(chance.choice((lines[-1], line("seed", step), line("init_start", None, instance=1))))
    lines += [line("block_stop", None), line("run_stop", None, status="success")] * chance.choice((1, 2))
    for text in lines * chance.choice((1, 1, 2)):
        odd = chance.random()
        if odd < 0.05:
            text = f":::MLLOG {chance.choice(ODD_OBJECTS)}"
        elif odd < 0.08:
            text = chance.choice((text[: chance.randrange(len(text))], f"{text}{text}", f"{text} and", f"50%|#\r{text}", f"\x1b[0m{text}",
                                  f"{text}\r\r", f'"{text}', f"{text} {'x' * 1500}", text.replace('"value"', '"v" : 0, "value"')))  # fmt: skip
        elif odd < 0.1:
            yield chance.choice(("a warning", "", "Epoch: [1]  [ 20/400]  eta: 0:01:02  loss: 1.5 (1.5)  time: 0.1510  data: 0.0011",
                                 "0: " + text, f"0: {'y' * 1021}"))  # fmt: skip
        yield prefix + text


def everything(path: Path) -> tuple[dict[str, list[str]], list[Any]]:
    batches = defaultdict(list)
    rows = Rows("f", lambda table, batch: batches[table].append(pa.Table.from_batches([batch])))
    status = read_rows(open_source(path), LOADED, rows)
    rows.flush()
    by_table = {table: list(map(repr, pa.concat_tables(of_table).to_pylist())) for table, of_table in batches.items()}
    return by_table, [status, rows.taken, rows.timed_steps, rows.rows_by_format, rows.problems_by_format]


def test_objects_decoded_together_give_the_rows_of_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, take_json, path = 0, mllog.Reader.take_json, tmp_path / "job.out"

    def counted(reader: Any, *line: Any) -> bool:
        nonlocal taken
        took = take_json(reader, *line)
        taken += took
        return took

    monkeypatch.setattr(mllog.Reader, "take_json", counted)
    chance = random.Random(5)
    for case in range(CASES):
        end = chance.choice(("\n", "\n", "\r\n"))
        path.write_bytes((end.join(mllog_lines(chance)) + chance.choice(("", end))).encode("utf-8", "replace"))
        monkeypatch.setattr(recognize, "TEXT_BLOCK", chance.choice((3000, 1 << 20)))
        at_once = everything(path)
        with monkeypatch.context() as by_line:
            by_line.setattr(dispatch, "objects_of", lambda texts, decoder: [None] * len(texts))
            assert at_once == everything(path), case
    assert taken > 1000  # else nothing was compared


def test_what_msgspec_decodes_is_what_json_gives() -> None:
    texts = [text.encode() for text in ODD_OBJECTS] + [
        b'{"a": -0, "a": 0.1e1}',
        b'{"\\u0061": 18446744073709551616}',
        b'{"a": 1} \r',
    ]
    for at_once in (objects_of(texts, DECODER), [objects_of([text], DECODER)[0] for text in texts]):
        assert any(at_once)
        for text, record in zip(texts, at_once, strict=True):
            assert record is None or repr(record) == repr(json.loads(text))


def test_a_name_of_damaged_bytes_is_no_object() -> None:
    texts = [b'{"a": 1}', b'{"a\xd7b": 1}', b'{"a": "\xd7"}']
    assert [*objects_of(texts, DECODER)] == [{"a": 1}, None, None]
