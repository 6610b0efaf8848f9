"""CSV of batches of the EPICURE vision benchmark: a preset to copy and edit.

Tool: EPICURE BPG-AI-workloads, vision benchmark, made from pytorch/examples imagenet/main.py
Versions: none seen: the columns are the meters of main.py, in its units, and wait for a real file
Yields: steps, metrics
Source: EPICURE's best practice guide on AI workloads, 5.2: the primary worker logs each batch, by epoch

The benchmark's own output is not published with the guide.  A file is taken if its header is exactly HEADER, in any
order; where yours has other names, copy this file into a folder, edit the two constants, test it with `scalelens formats
--check FOLDER` and read with `scalelens ingest logs/ --formats FOLDER`.  `scalelens identify FILE --preset NEW.py`
writes such a file for any CSV.

main.py times a batch from the end of the one before, so that the wait for data is within it; accuracies are in percent.
The batch begins anew with each epoch and is counted on.  The guide's first and last batch of each epoch are left out by
queries, not here.

Samples:
    epoch,batch,batch_time,data_time,loss,acc1,acc5
    0,0,4.213,3.102,7.0012,0.000,0.391
    0,1,0.312,0.001,6.9911,0.391,0.781
"""

from scalelens import tabular
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1  # raise it with every edit: what was read is then read again
IN_HEAD = (b"batch_time",)

HEADER = ("epoch", "batch", "batch_time", "data_time", "loss", "acc1", "acc5")
COLUMNS = {
    "epoch": "epoch",
    "batch": "batch",
    "batch_time": "batch_time:s",
    "data_time": "data_time:s",
    "loss": "loss",
    "accuracy": "acc1:%",
}


def recognise(head: bytes, name: str) -> bool:
    return tabular.has_header(head, HEADER)


def read(source: Source, rows: Rows) -> None:
    tabular.read_as(source, rows, COLUMNS)
