"""Parameters that mean the same in every query that takes them.

A header names them beside its heading, `Parameters: runs, epochs, warmup, exclude`, and describes its own below.
"""

from typing import NamedTuple


class Parameter(NamedTuple):
    name: str
    default: str  # as SQL: `2`, `''`
    meaning: str


_PARAMETERS = (
    # The selection: which runs, and which of their records.
    ("runs", "''", "SQL condition over the columns of `runs`, as text; empty takes all"),
    ("epochs", "''", "epochs and ranges of them, '4' or '1-3,5'; empty takes all"),
    ("warmup", "2", "records left out at the start of each attempt"),
    ("exclude", "'rules'", "'none' leaves nothing out, 'steady' also leaves out what comes before the steady state"),
    # Scaling
    (
        "metric", "'t_b'",
        "what is compared: 't_b' the median batch, 'mean_s' the mean, which includes the stalls, 't_ep' the epoch, "
        "'t_tr' its training part, 'throughput' samples per second, 'tflops' as printed",
    ),
    ("series_by", "''", "more columns of `runs` that must be equal within a series: 'tp, pp'"),
    # Two sides
    (
        "a", "''",
        "one side: a run's id, the beginning of it, or its name; `key=value`; or a condition as in `runs`",
    ),
    ("b", "''", "the other side, written in the same way"),
    (
        "measure", "'step_s'",
        "step_s, samples_per_s, tokens_per_s, data_s (wait for data), step_j (energy of a step and sensor), sample_j "
        "(energy of a sample), power_w (of a device) or peak_memory_bytes",
    ),
    ("quantile", "0.5", "of a run's records: 0.5 the median, 0.95 the slow tail; of rates 0.05 is the slow tail"),
    # Traces
    ("steps", "'all'", "which part of a trace: 'all', 'complete' steps, or the selection of 'hta'"),
    ("tolerance_us", "10", "microseconds by which the ends of a collective may differ between equal clocks"),
    ("threshold", "0.1", "share by which a rank or node must be slower than its peers to be called slow"),
    # Accuracy
    ("score_name", "'accuracy'", "'accuracy', 'loss', or a name in `metrics`"),
)  # fmt: skip
SHARED_PARAMETERS = {fields[0]: Parameter(*fields) for fields in _PARAMETERS}
