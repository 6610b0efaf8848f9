"""CSV of per-step metrics that no other format knows.

Tool: any script that writes a row for each step, or for each epoch
Versions: a header in the first line, which may be a comment (`# gpus,images/s`); other lines that begin with `#` may
    come before it; comma, semicolon or tab
Yields: steps, phases, metrics, params
Source: the user's own; tabular/role_table.py says which names are recognized, docs/generic.md prints them

Asked last, and only for files of which no other format takes a line.  Columns become roles by their names and units;
what was read as what is in the note of `files` and is printed by ingest and identify.  A time without a unit, and a
role that two columns claim, are a problem that names the `--map` to say, and their numbers metrics; so are all columns
of numbers that have no role.  A table without a step, an epoch or a time per step is not taken.

A step's time is that of one step (`instant`); differences of a time since the start are means of the steps between
(`interval_mean`), and the first record has none.  A column called no more than `time_s` is since the start if it only
grows and does not come to rest, and of the step if it goes up and down, from 20 rows on and where each step has a row;
of the epoch, where the table has no step, and the epoch is the `step` of metrics then; so is one that goes back more often than the epochs, and
what an epoch `took`.  A time without a unit is in seconds where all its numbers, unrounded, are differences of Python's
`time.time()`: their digits show it, and neither milliseconds nor times measured by a device have such digits.  Where each epoch has one row with a time stamp and no
time, an epoch's time is that since the row before, with what lies between, validation too (`derived`).  Where only each tenth step has a row it stays open: it may be the time of ten.  One that grows, and goes
back as often as the count of steps, is since the epoch began.  A step that restarts in each epoch is counted on, by the
number of batches seen.

A table of one value in each row, with its name beside it (name, value), is read as one with a column for each name.

Steps without any time have that between the time stamps of their rows (`interval_mean`; params: `step_s_origin` =
derived), where these are at least ten times finer and do not come in bursts; not next to a row of a validation.  Where
no column is called loss, the total loss is it, or the only one; neither that of a validation, nor the best so far.

Where sizes (devices or nodes) differ from row to row, with a time or a rate, and nothing counts steps or epochs, each
row is a run, a part of the file: `devices,images_per_s` is a scaling study (tabular/runs.py), and so is
`gpus,tokens/s`.  Nodes and the devices of a node give the devices (`inferred`).  A run is also each row that a text
names, beside the rate or the time of an epoch of a training: `config,avg_epoch_s,images_per_s,test_acc`.  There a
mean is that of the run (`iter_time_mean_s` too), `total_time_s` the time of the whole, and a `status` how the run
ended.  A size that only the first row of a group states is that of the group where all groups have as many rows and
go through the same values of another setting.  A rate without a scope in its name is of the job if it grows at least
with the root of the size; else it is left open, and one of tokens has no unit.  In a table of steps it is of the job.
A run's rate of tokens over the length of a sample (`seq_len`) is that of samples; `Throughput (T/s)` and
`Throughput (S/s)` are tokens and samples where `SeqLen (T)` is what lies between them.  A column `gpu` of names such
as `h100_80gb` is the model of the devices.

The time of a whole training is of the mean epoch beside `epochs` (`derived`); beside sizes alone it is not read, as
nothing says that all runs did the same.  Where rows differ in a setting such as `batch_size` and nothing counts steps,
a time is not that of a step.

Rows without a phase are of the training.  Another run label, model, precision or number
of devices is another run; a step that goes back is a restart.  Text that never changes is a param.

Samples:
    epoch,step,step_time_ms,samples_per_s,loss
    0,1,251.2,1019.1,6.9301
    0,2,249.8,1024.8,6.9214
"""

from scalelens import tabular
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular import cells
from scalelens.tabular.long_rows import long_records, long_table_in

VERSION = 10
LAST = True  # any other format comes first


def recognise(head: bytes, name: str) -> bool:
    return bool(cells.csv_header(head))


def read(source: Source, rows: Rows) -> str | None:
    if (table := long_table_in(source)) and (records := long_records(source, table)):
        return tabular.read(source, rows, lambda _: iter(records))
    return tabular.read(source, rows, cells.csv_records)
