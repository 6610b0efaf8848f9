"""timm's tables of benchmarks and of validations: a row per model.

Tool: timm (pytorch-image-models), benchmark.py and validate.py with --results-file; its results/*.csv
Versions: 0.4 to 1.0
Yields: params, steps, metrics
Source: pytorch-image-models/benchmark.py, TrainBenchmarkRunner.run(); validate.py, main(); write_results()

Each model is a run of its own (a part of the file), on one device.  `train_step_time` is the mean of a step in
milliseconds, `train_samples_per_sec` the batch over it; what inference took is metrics, as are accuracies.  The number
of steps is not said.  `param_count` is in millions.  Precision and device are in the name of the published files,
which follows no rule: they are not taken from it.

Samples:
    model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count
    resnet50,812.5,315.077,256,224,25.56
    model,top1,top1_err,top5,top5_err,param_count,img_size,crop_pct,interpolation
"""

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import first_cells, rows_of

VERSION = 1
IN_HEAD = (b"train_samples_per_sec", b"infer_samples_per_sec", b"top1_err")

_TABLES = (
    {"model", "train_samples_per_sec", "train_step_time"}, {"model", "infer_samples_per_sec", "infer_step_time"},
    {"model", "top1", "top1_err", "top5"},
)  # fmt: skip
_UNITS = {
    "infer_samples_per_sec": "samples/s",
    "infer_step_time": "ms",
    "top1": "%",
    "top1_err": "%",
    "top5": "%",
    "top5_err": "%",
}
_NO_METRIC = (
    "train_samples_per_sec",
    "train_step_time",
    "train_batch_size",
    "param_count",
    "img_size",
    "train_img_size",
)


def recognise(head: bytes, name: str) -> bool:
    names = {*first_cells(head)}
    return any(table <= names for table in _TABLES)


def read(source: Source, rows: Rows) -> None:
    names: list[str] = []
    for line, cells, whole in rows_of(source):
        if not names:
            names = cells
            continue
        if not whole or len(cells) != len(names):
            rows.problem(
                line, f"the row has {len(cells)} cells, the header {len(names)}, or it is cut", ",".join(cells)
            )
            continue
        if "model" in rows.params:
            rows.new_part()
        _model(dict(zip(names, cells, strict=True)), line, rows)


def _model(cells: dict[str, str], line: int, rows: Rows) -> None:
    """The row of a model."""
    values = {name: value for name, cell in cells.items() if (value := number(cell)) is not None}
    rows.param("model", cells["model"] or None, line)
    rows.param("framework", "pytorch", line, origin="inferred")
    if "param_count" in values:
        rows.param("parameters", round(values["param_count"] * 1e6), line)
    size = next((values[name] for name in ("train_img_size", "infer_img_size", "img_size") if name in values), None)
    rows.param("image_size", None if size is None else int(size), line)
    step_ms, batch = values.get("train_step_time"), values.get("train_batch_size")
    if step_ms is not None:
        rows.param("devices", 1, line, origin="inferred")
        for fact in ("micro_batch_size", "global_batch_size"):
            rows.param(fact, None if batch is None else int(batch), line)
        rows.add(
            "steps", line, attempt=0, phase="train", step_s=step_ms / 1000, value_kind="run_mean", samples=batch,
            samples_per_s=values.get("train_samples_per_sec"), rate_scope="global",
        )  # fmt: skip
    named = [(name, value, _UNITS.get(name)) for name, value in values.items() if name not in _NO_METRIC]
    rows.metrics(line, None, None, None, named)
