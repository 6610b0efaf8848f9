"""training_options.json of StyleGAN and EDM: what a training was started with.

Tool: StyleGAN2-ADA, StyleGAN3, EDM, EDM2 (NVlabs)
Versions: PyTorch, 2020 and later
Yields: params
Source: stylegan3/train.py, launch_training(); edm/train.py

The devices, the batch of all of them and that of one between two synchronizations.  EDM does not write how many devices
there are, and writes no batch of a device where it follows from them.

Samples:
    {
      "num_gpus": 2,
      "batch_size": 8,
      "batch_gpu": 4,
      "total_kimg": 3000
    }
"""

import json

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1
IN_HEAD = (b'"batch_gpu"',)

_FACTS = {"num_gpus": "devices", "batch_size": "global_batch_size", "batch_gpu": "micro_batch_size"}
_OTHERS = (b'"total_kimg"', b'"total_nimg"', b'"run_dir"')  # names that no other tool's options have beside it
_BEGIN = re.compile(rb'\s*\{\s*"\w+"\s*:')
_LARGEST = 2**31 - 1


def recognise(head: bytes, name: str) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf")
    return bool(_BEGIN.match(head)) and IN_HEAD[0] in head and any(other in head for other in _OTHERS)


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        options = json.loads(text)
    except (ValueError, RecursionError):
        rows.problem(1, "the JSON is cut or damaged", text)
        return
    for name, fact in _FACTS.items():
        value = options.get(name)
        if type(value) is int and 0 < value <= _LARGEST:
            rows.param(fact, value, 1)
        elif value is not None:
            rows.problem(1, f"{name} is not a count", json.dumps(value))
    rows.param("framework", "pytorch", 1, origin="inferred")
