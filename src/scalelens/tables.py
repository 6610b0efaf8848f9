"""Every table and column of the warehouse: type, unit, meaning.

Measured columns end in their unit (`_s _ns _w _j _bytes _per_s`).  NULL means unknown, never 0.
Times are UTC where the zone is known; a naive time is kept as it stands and marked by `ts_origin`.
Stored tables carry `file_id, part, line` so that each number traces back to a line of a file; in SQL they begin
`run_id, file_id, line` once `members` has said which run a part belongs to.
"""

from typing import NamedTuple

import pyarrow as pa

# Raise it with every change of a stored table.  Columns that an older segment lacks are NULL.
# 2: events have a class, 3: collective_benchmarks, 4: implausible steps, 5: times of energies, 6: planned_runs
SCHEMA_VERSION = 6
OLDEST_SCHEMA = 2  # raise it when older segments would be read wrongly: their warehouse is refused
LONGEST_TEXT = 500  # characters of a text in `problems`

TEXT, INT, FLOAT, TIME = pa.string(), pa.int64(), pa.float64(), pa.timestamp("us")
_FINE_TIME = pa.timestamp("ns")
SMALL = pa.int32()
_BOOL = pa.bool_()
_TEXTS = pa.list_(TEXT)
_SQL_TYPES = {
    TEXT: "VARCHAR", INT: "BIGINT", SMALL: "INTEGER", FLOAT: "DOUBLE", TIME: "TIMESTAMP", _FINE_TIME: "TIMESTAMP_NS",
    _TEXTS: "VARCHAR[]", _BOOL: "BOOLEAN",
}  # fmt: skip

PHASES_OF_STEPS = ("train", "validation", "warmup")
_VALUE_KINDS = ("instant", "interval_mean", "running_mean", "epoch_mean", "run_mean", "run_median")
_RATE_SCOPES = ("global", "rank")
# How a run ended, the first that any line says.  A run that completed after a restart counts as completed; otherwise
# the line that tells most wins over the plain error that follows it.
OUTCOMES = (
    "completed", "oom", "collective_timeout", "time_limit", "node_failure", "cancelled", "error", "unknown",
)  # fmt: skip
_SCOPES = (
    "what the sensor covers: gpu gpu_part gcd oam module grace cpu cpu_part memory sysio ipu board platform total "
    "node_ac node_dc switch"
)
ORIGINS = ("sidecar", "log", "scheduler", "nccl", "environment", "path", "inferred")


class Column(NamedTuple):
    name: str
    type: pa.DataType
    meaning: str


KEY = (
    Column("file_id", TEXT, "sha256 of the stored bytes of the file, in hexadecimal"),
    Column("part", SMALL, "which run in a file with several, from 0"),
    Column("line", INT, "line of the file, from 1; in files without lines the record's number"),
)
RANK = (
    Column("attempt", SMALL, "restart of the same run, from 0: the iteration went back"),
    Column("rank", SMALL, "global rank, NULL where the file does not say"),
    Column("place", TEXT, "local rank, node, host, pod or process, where that is all the launcher's prefix says"),
)
STAMP = (
    Column("ts", TIME, "time of the record; UTC unless ts_origin says otherwise"),
    Column("ts_origin", TEXT, "`utc` the zone is known, `naive` local time of an unknown zone"),
)

# Tables with segments of their own.
STORED: dict[str, tuple[Column, ...]] = {
    "params": (
        *KEY,
        Column("key", TEXT, "name of the fact: a column of `runs`, or the writer's own argument name"),
        Column("value", TEXT, "value as text"),
        Column("unit", TEXT, "unit of the value, NULL for none"),
        Column("origin", TEXT, "where it comes from, in order of precedence: " + " ".join(ORIGINS)),
    ),
    "steps": (
        *KEY, *RANK,
        Column("phase", TEXT, "train, validation or warmup"),
        Column("epoch", FLOAT, "epoch, from 0; a fraction where the log counts so"),
        Column("step", INT, "global step as the log counts it; the last step of an interval"),
        Column("step_s", FLOAT, "seconds per step (see value_kind)"),
        Column("averaged_steps", INT, "how many steps step_s is a mean of"),
        Column("value_kind", TEXT, "instant, interval_mean, running_mean, epoch_mean, run_mean or run_median"),
        Column("samples", FLOAT, "samples per step, of the global batch"),
        Column("tokens", FLOAT, "tokens per step, of the global batch"),
        Column("samples_per_s", FLOAT, "samples per second as printed (see rate_scope)"),
        Column("rate_scope", TEXT, "whether the printed rates are of the whole job (global) or of one rank"),
        Column("tflops_per_device", FLOAT, "TFLOP/s per device as printed, by the writer's own formula"),
        Column("data_s", FLOAT, "seconds of the step spent waiting for data"),
        Column("loss", FLOAT, "training loss as printed"),
        Column("accuracy", FLOAT, "top-1 accuracy, 0 to 1"),
        Column("learning_rate", FLOAT, "learning rate"),
        Column("grad_norm", FLOAT, "gradient norm"),
        Column("peak_memory_bytes", FLOAT, "largest memory of the device so far"),
        Column("skipped_steps", INT, "iterations skipped in the interval (loss scale overflow)"),
        Column("nan_steps", INT, "iterations with a NaN loss in the interval"),
        Column("energy_j", FLOAT, "joules per step and device, as the log says"),
        Column("power_w", FLOAT, "watts per device, as the log says"),
        Column("implausible", TEXT, "names of its values that cannot be true, with blanks between them"),
        *STAMP,
    ),
    "phases": (
        *KEY, *RANK,
        Column("phase", TEXT, "epoch, train, validation, compile, checkpoint, evaluation, startup or run"),
        Column("epoch", FLOAT, "epoch, from 0"),
        Column("step", INT, "step at which the phase happened"),
        Column("span_s", FLOAT, "seconds it took"),
        Column("samples", FLOAT, "samples processed"),
        Column("samples_per_s", FLOAT, "samples per second"),
        Column("origin", TEXT, "`logged` or `derived` from other lines"),
        *STAMP,
    ),
    "metrics": (
        *KEY, *RANK,
        Column("step", INT, "step the value belongs to"),
        Column("name", TEXT, "name as the writer prints it"),
        Column("value", FLOAT, "value in `unit`"),
        Column("unit", TEXT, "unit of the value; it ends in `/device` where a rate is of one device"),
        Column("stat", TEXT, "value, min, max or mean: over the ranks"),
    ),
    "power": (
        *KEY,
        Column("node", TEXT, "host name"),
        Column("device", TEXT, "device as the tool numbers it"),
        Column("scope", TEXT, _SCOPES),
        Column("ts", _FINE_TIME, "time of the sample, to the nanosecond; UTC unless ts_origin says otherwise"),
        Column("ts_origin", TEXT, f"{STAMP[1].meaning}, `relative` since a zero that is not known"),
        Column("power_w", FLOAT, "watts"),
        Column(
            "flag", TEXT,
            "why the value should be doubted: na zero duplicate stale forced_zero implausible clock_changed clock_back",
        ),
    ),
    "energy": (
        *KEY,
        Column("node", TEXT, "host name"),
        Column("device", TEXT, "device as the tool numbers it"),
        Column("scope", TEXT, "what the sensor covers, as in `power`"),
        Column("energy_j", FLOAT, "joules"),
        Column("span_s", FLOAT, "seconds covered"),
        Column(
            "method", TEXT,
            "how the tool calculated it: counter riemann_right, or the tool's name for a rule of its own: "
            "codecarbon ear mlperf omnistat zeus",
        ),
        Column("ts", _FINE_TIME, "end of the time covered; UTC unless ts_origin says otherwise"),
        Column("ts_origin", TEXT, f"{STAMP[1].meaning}, `relative` since a zero that is not known"),
        Column("flag", TEXT, "why the value should be doubted: estimated (a constant of the tool), reset (at least)"),
    ),
    "events": (
        *KEY,
        Column("rank", SMALL, "global rank of the process that was traced"),
        Column("ph", TEXT, "phase of the trace event format: X complete, i instant, C counter"),
        Column("name", TEXT, "name of the event"),
        Column("category", TEXT, "category in lower case (cpu_op, kernel, gpu_memcpy, user_annotation, ...)"),
        Column("class", TEXT, "compute, communication or memory; NULL where the event is not work of a device"),
        Column("start_ns", INT, "start in nanoseconds since 1970 where the trace has a base, else since its own zero"),
        Column("duration_ns", INT, "duration in nanoseconds"),
        Column("process", TEXT, "process id as the trace gives it"),
        Column("thread", TEXT, "thread id as the trace gives it"),
        Column("stream", INT, "device stream"),
        Column("correlation", INT, "joins a launch with the work it launched"),
        Column("train_step", INT, "step of the annotation (ProfilerStep#N) that the event starts in"),
        Column("collective", TEXT, "collective operation as the trace names it"),
        Column("process_group", TEXT, "process group name"),
        Column("group_size", INT, "ranks in the group"),
        Column("message_bytes", INT, "bytes a rank puts into the collective"),
        Column("dtype", TEXT, "element type of the message"),
        Column("args", TEXT, "arguments of the event, raw JSON text"),
    ),
    "collective_benchmarks": (
        *KEY,
        Column("rank", SMALL, "global rank that printed the row, NULL where the file does not say"),
        Column("test", TEXT, "what was measured: all_reduce, alltoall, sendrecv, ..."),
        Column("message_bytes", INT, "bytes of the message, as the test counts them"),
        Column("count", INT, "elements of the message"),
        Column("dtype", TEXT, "element type"),
        Column("redop", TEXT, "reduction, NULL for none"),
        Column("root", INT, "root rank, NULL for none"),
        Column("place", TEXT, "`in` the result overwrites the message, `out` it has its own buffer"),
        Column("time_s", FLOAT, "seconds of one operation, mean over the iterations"),
        Column("algbw_bytes_per_s", FLOAT, "message_bytes over time_s, as printed"),
        Column("busbw_bytes_per_s", FLOAT, "algbw corrected for the collective and its ranks, as printed"),
        Column("wrong", INT, "elements with a wrong value, NULL where they were not checked"),
    ),
    "jobs": (
        *KEY,
        Column("job_id", TEXT, "scheduler's job id"),
        Column("step_id", TEXT, "job step, NULL for the job itself"),
        Column("state", TEXT, "state as the scheduler names it"),
        Column("nodes", SMALL, "nodes allocated"),
        Column("node_list", TEXT, "host names, expanded, separated by commas"),
        Column("devices", SMALL, "devices allocated"),
        Column("submitted_at", TIME, "time of submission"),
        Column("started_at", TIME, "time of start"),
        Column("ended_at", TIME, "time of end"),
        Column("elapsed_s", FLOAT, "seconds between start and end"),
        Column("energy_j", FLOAT, "joules as the scheduler accounts them"),
    ),
    "planned_runs": (
        *KEY,
        Column("planned_run", TEXT, "folder or file that its logs go into, relative to the folder of the plan"),
        Column("nodes", SMALL, "nodes of the job"),
        Column("repeat", SMALL, "which repeat of the same settings it is, from 1"),
        Column("precision", TEXT, "precision that is asked for"),
        Column("dataset", TEXT, "data set that is asked for"),
        Column("command", TEXT, "line for a shell, in the folder of the plan, that makes the run"),
    ),
    "problems": (
        *KEY,
        Column("format", TEXT, "format that the line belongs to, NULL where none is known"),
        Column("reason", TEXT, "what was not understood, in a sentence"),
        Column("text", TEXT, "the text itself, cut at 500 characters"),
    ),
}  # fmt: skip

# Tables made from the commit records when a warehouse is opened.
FILES: tuple[Column, ...] = (
    Column("file_id", TEXT, "sha256 of the stored bytes that were parsed"),
    Column("path", TEXT, "absolute path under which the content was seen first"),
    Column("paths", _TEXTS, "all paths with this content"),
    Column("size_bytes", INT, "bytes parsed"),
    Column("modified_at", TIME, "time of the last change, UTC"),
    Column("formats", _TEXTS, "formats that took lines of it"),
    Column("status", TEXT, "ok, partial, unknown, empty, document or duplicate"),
    Column("rows", INT, "rows it gave"),
    Column("problems", INT, "rows of `problems` it gave"),
    Column("note", TEXT, "what is worth knowing about it"),
    Column("parser_version", TEXT, "formats and versions that read it"),
    Column("ingested_at", TIME, "time of the commit, UTC"),
)
MEMBERS: tuple[Column, ...] = (
    Column("file_id", TEXT, "file"),
    Column("part", SMALL, "part of the file"),
    Column("run_id", TEXT, "run it belongs to"),
    Column(
        "why",
        TEXT,
        "the rule that joined them: sidecar, job id, name, folder, times or file; twin: repeats another's records; "
        "copy: repeats another's power readings",
    ),
)

# View over `params`: one row per run.  Each of these is a key of `params`, chosen by the precedence of its origin.
RUN_FACTS: tuple[Column, ...] = (
    Column("framework", TEXT, "what trained: megatron-lm, pytorch, ..."),
    Column("model", TEXT, "model as named, or from its shape"),
    Column("parameters", FLOAT, "number of parameters"),
    Column("precision", TEXT, "fp32 tf32 fp16 bf16 fp8 fp4 amp ..."),
    Column("dataset", TEXT, "data set, `synthetic` where the log says so"),
    Column("system", TEXT, "machine"),
    Column("nodes", SMALL, "nodes"),
    Column("devices", SMALL, "devices that took part, in device_unit"),
    Column("devices_per_node", SMALL, "devices per node"),
    Column("device_model", TEXT, "model of the device"),
    Column("device_unit", TEXT, "gpu, gcd, ipu, hpu, tpu or cpu"),
    Column("micro_batch_size", INT, "samples per device and forward pass"),
    Column("global_batch_size", INT, "samples per step over all devices"),
    Column("seq_length", INT, "tokens per sample"),
    Column("tp", SMALL, "tensor parallel size"),
    Column("pp", SMALL, "pipeline parallel size"),
    Column("dp", SMALL, "data parallel size"),
    Column("cp", SMALL, "context parallel size"),
    Column("job_id", TEXT, "scheduler's job id"),
    Column(
        "outcome", TEXT, "completed, oom, collective_timeout, time_limit, node_failure, error, cancelled or unknown"
    ),
)
_RUNS: tuple[Column, ...] = (
    Column("run_id", TEXT, "one training job with one configuration"),
    Column("name", TEXT, "name of the file or folder it comes from"),
    Column("path", TEXT, "file that carries its steps, else its first file"),
    *RUN_FACTS,
    Column("outcome_line", INT, "line that says how it ended"),
    Column("started_at", TIME, "first time stamp"),
    Column("ended_at", TIME, "last time stamp"),
    Column("attempts", SMALL, "times it was started"),
)
_STEP_TIMES: tuple[Column, ...] = (
    Column("run_id", TEXT, "run"),
    Column("file_id", TEXT, "file of the slowest rank's record"),
    Column("line", INT, "line of the slowest rank's record"),
    Column("attempt", SMALL, "restart"),
    Column("epoch", FLOAT, "epoch"),
    Column("step", INT, "step"),
    Column("step_s", FLOAT, "seconds, the largest over the ranks"),
    Column("averaged_steps", INT, "steps the value is a mean of: its weight"),
    Column("value_kind", TEXT, "instant, interval_mean, running_mean, epoch_mean, run_mean or run_median"),
    Column("samples", FLOAT, "samples per step, of the global batch, counted once"),
    Column("tokens", FLOAT, "tokens per step, of the global batch, counted once"),
    Column("tflops_per_device", FLOAT, "TFLOP/s per device as printed"),
    Column("skipped_steps", INT, "iterations skipped in the interval"),
    Column("ranks", INT, "ranks that logged the step"),
    Column("is_implausible", _BOOL, "whether the time cannot be true"),
    Column("ts", TIME, "time of the record"),
)

# Facts from vendors and sites, out of the package's own catalog; each row has its source.
DEVICES: tuple[Column, ...] = (
    Column("place", SMALL, "order in which patterns are tried, from 1"),
    Column("device", TEXT, "name of the device"),
    Column("unit", TEXT, "what the figures are of: gpu, gcd, ipu, hpu or tpu"),
    Column("pattern", TEXT, "regular expression for the names that logs give it, in lower case"),
    Column("memory_gb", FLOAT, "memory in GB, as the vendor counts it"),
    Column("fp32_tflops", FLOAT, "dense peak in TFLOP/s with the precision of fp32"),
    Column("tf32_tflops", FLOAT, "dense peak in TFLOP/s"),
    Column("fp16_tflops", FLOAT, "dense peak in TFLOP/s"),
    Column("bf16_tflops", FLOAT, "dense peak in TFLOP/s"),
    Column("fp8_tflops", FLOAT, "dense peak in TFLOP/s"),
    Column("bandwidth_gb_per_s", FLOAT, "bandwidth of the memory in GB/s"),
    Column("tdp_w", FLOAT, "power limit in watts, as the vendor says"),
    Column("source", TEXT, "address of the page where the figures were read"),
    Column("note", TEXT, "what to know of the figures"),
)
SYSTEMS: tuple[Column, ...] = (
    Column("place", SMALL, "order in which patterns are tried, from 1"),
    Column("system", TEXT, "name of the machine"),
    Column("pattern", TEXT, "regular expression for the names that logs give it, in lower case"),
    Column("device", TEXT, "its device, as in devices_catalog"),
    Column("unit", TEXT, "what is counted as a device: gpu, gcd, ipu, hpu or tpu"),
    Column("devices_per_node", SMALL, "devices in a node"),
    Column("cpu_cores", SMALL, "cores in a node"),
    Column("memory_gb", FLOAT, "memory of a node in GB, without that of the devices"),
    Column("interconnect", TEXT, "network of a node"),
    Column("source", TEXT, "address of the site's page"),
)
SETTINGS: tuple[Column, ...] = (
    Column("place", SMALL, "order in which settings are shown, from 1"),
    Column("setting", TEXT, "canonical name"),
    Column("class", TEXT, "performance (it can change speed), identity (it names the run) or neutral"),
    Column("kind", TEXT, "how values are compared: flag, count, split (a parallel size, 1 is none), number or word"),
    Column(
        "varies_with", TEXT, "`size` follows from the number of devices, `model` grows with the model, NULL neither"
    ),
    Column("keys", TEXT, "names that frameworks give it, separated by blanks, the most telling first"),
    Column("meaning", TEXT, "what it is"),
)
NOISE: tuple[Column, ...] = (
    Column("place", SMALL, "order of the rows, from 1"),
    Column("system", TEXT, "machine on which the runs were made"),
    Column("pattern", TEXT, "regular expression for its names in logs, in lower case"),
    Column("workload", TEXT, "what was run"),
    Column("period", TEXT, "in how much time"),
    Column("n_runs", INT, "identical runs"),
    Column("scatter", FLOAT, "standard deviation of the logarithm of their times"),
    Column("largest_ratio", FLOAT, "ratio of the slowest to the fastest"),
    Column("least_1", FLOAT, "smallest difference that one run a side shows at 5 % false alarms, as a share"),
    Column("least_3", FLOAT, "the same of three runs a side"),
    Column("least_5", FLOAT, "of five runs a side"),
    Column("least_10", FLOAT, "of ten runs a side"),
    Column("slow_share", FLOAT, "share of the runs in a slow mode; NULL where there is none"),
    Column("slow_by", FLOAT, "median of the slow runs over that of the others, less 1"),
    Column("source", TEXT, "where the times are published"),
)
FORMULAS: tuple[Column, ...] = (
    Column("place", SMALL, "order of the rows, from 1"),
    Column("tool", TEXT, "framework, as in runs"),
    Column("versions", TEXT, "versions or years of the tool to which it applies"),
    Column("quantity", TEXT, "what is computed: mfu, tflops, busbw or energy"),
    Column("metric", TEXT, "name under which the tool prints it"),
    Column("peak_tflops", FLOAT, "peak in TFLOP/s that the tool assumes for every device; NULL where it looks it up"),
    Column("peak_of", TEXT, "device of that peak"),
    Column("pattern", TEXT, "regular expression for the names of devices with that peak, in lower case"),
    Column("formula", TEXT, "how the tool computes it"),
    Column("source", TEXT, "address of the page where that was read"),
    Column("note", TEXT, "what to know of it"),
)

PUBLISHED: tuple[Column, ...] = (
    Column("place", SMALL, "order of the rows, from 1"),
    Column("name", TEXT, "document and table or topic: caraml/gpt-ipu; published_documents has the documents"),
    Column("part", TEXT, "where it is in the document: table, section, slide or paragraph"),
    Column("entry", SMALL, "row of the table or statement, from 1; 0 applies to all entries of the name"),
    Column("system", TEXT, "machine, as in systems_catalog where it is there"),
    Column("device", TEXT, "device, as in devices_catalog where it is there"),
    Column("nodes", INT, "nodes of the run"),
    Column("devices", INT, "devices of the run, as the document counts them"),
    Column("model", TEXT, "model"),
    Column("precision", TEXT, "fp32, fp16, amp or mixed, where the document says it"),
    Column("micro_batch_size", INT, "samples of one device in a batch"),
    Column("global_batch_size", INT, "samples of a batch over all devices"),
    Column("setting", TEXT, "what else the row is of"),
    Column("quantity", TEXT, "what the number is: samples_per_s, energy, training_time and so on"),
    Column("relation", TEXT, "`=`, `about` (zeros at its end are no digits), `>=` or `<=`"),
    Column("printed", TEXT, "the number as printed, whose trailing zeros are digits"),
    Column("unit", TEXT, "unit as printed; `% more` where a gain is printed in %"),
    Column("number", FLOAT, "the same in number_unit; NULL for a version"),
    Column("number_low", FLOAT, "smallest value that is printed so; NULL where there is no lower bound"),
    Column("number_high", FLOAT, "largest value that is printed so; NULL where there is no upper bound"),
    Column("number_unit", TEXT, "s, W, J, bytes, FLOP/s and their like, `count` and `times`; NULL for ratios"),
    Column("unit_size", FLOAT, "how many of number_unit one unit is: 3600 of Wh; of `% more`, of what is above 1"),
    Column("note", TEXT, "what to know of the value"),
)
DOCUMENTS: tuple[Column, ...] = (
    Column("place", SMALL, "order of the rows, from 1"),
    Column("document", TEXT, "short name"),
    Column("title", TEXT, "title"),
    Column("authors", TEXT, "authors as printed, separated by `;`"),
    Column("year", INT, "year, where it is printed"),
    Column("published_in", TEXT, "where it was published"),
    Column("address", TEXT, "address, where one is printed"),
)
IDENTITIES: tuple[Column, ...] = (
    Column("place", SMALL, "order of the rows, from 1"),
    Column("name", TEXT, "document and table or topic, as in published"),
    Column("derived", TEXT, "quantity that follows from others; `quantity[3]` of entry 3 alone"),
    Column("relation", TEXT, "`=`, `<=` or `>=`: how it compares with numerator over denominator"),
    Column("numerator", TEXT, "quantities, multiplied: of the same entry, or `quantity[3]`, `table.quantity[3]`"),
    Column("denominator", TEXT, "quantities, multiplied"),
    Column("meaning", TEXT, "what numerator over denominator is"),
)

RUN_ID = Column("run_id", TEXT, "run the row belongs to")


# What a row of each table is.
MEANINGS: dict[str, str] = {
    "files": "a file that was read, or was not understood",
    "members": "a part of a file, and the run it belongs to",
    "runs": "a training job with one configuration",
    "params": "a fact about a run, with its origin",
    "steps": "a step record as the log printed it",
    "phases": "an epoch, an evaluation, a checkpoint, start-up",
    "metrics": "any other number of a log, with name and unit",
    "power": "a power reading of a sensor",
    "energy": "an energy as its tool reports it",
    "events": "an event of a profiler trace",
    "collective_benchmarks": "a size of nccl-tests or its like",
    "jobs": "a job, as its scheduler reports it",
    "planned_runs": "a run that the plan of a study asks for",
    "problems": "a line that was not understood, with the reason",
    "step_times": "a step over all ranks, as statistics read it",
    "devices_catalog": "a device: its peaks, memory and power",
    "systems_catalog": "a supercomputer: its nodes and devices",
    "settings_catalog": "a setting: can it change the speed?",
    "noise_catalog": "how much identical runs of a published system differ",
    "formulas_catalog": "how a tool computes a number that it prints",
    "published": "a number that others published",
    "published_documents": "where published numbers come from",
    "published_identities": "a published number that follows from others",
}


def schema(columns: tuple[Column, ...]) -> pa.Schema:
    """Arrow schema of a table."""
    return pa.schema([(column.name, column.type) for column in columns])


def sql_type(column: Column) -> str:
    """Type of a column in DuckDB.  Raises KeyError for one that SQL_TYPES does not know."""
    return _SQL_TYPES[column.type]


SCHEMAS: dict[str, pa.Schema] = {name: schema(columns) for name, columns in STORED.items()}


def documented() -> dict[str, tuple[Column, ...]]:
    """Tables as SQL sees them: the name of each, and its columns in order."""
    stored = {name: (RUN_ID, columns[0], columns[2], *columns[3:], columns[1]) for name, columns in STORED.items()}
    catalogs = {
        "devices_catalog": DEVICES, "systems_catalog": SYSTEMS, "settings_catalog": SETTINGS,
        "noise_catalog": NOISE, "formulas_catalog": FORMULAS, "published": PUBLISHED, "published_documents": DOCUMENTS,
        "published_identities": IDENTITIES,
    }  # fmt: skip
    return {"files": FILES, "members": MEMBERS, "runs": _RUNS, **stored, "step_times": _STEP_TIMES, **catalogs}
