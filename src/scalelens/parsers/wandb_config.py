"""config.yaml of a W&B run: its settings.

Tool: Weights & Biases client
Versions: 0.8 to 0.2x
Yields: params
Source: wandb/sdk/lib/config_util.py, save_config_file_from_dict(); core's runconfig

Each setting is a key with its `value` below it.  Plain values become facts under the names that the script gave them;
those that are lists or further keys are passed over, as is `_wandb`, the client's own.

Samples:
    wandb_version: 1
    learning_rate:
        desc: null
        value: 0.1
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1
IN_HEAD = (b"wandb_version:", b"_wandb:")

_OWN = re.compile(rb"^(?:wandb_version:|_wandb:\s*$)", re.MULTILINE)
_NESTED = re.compile(rb"^ {2,8}value:", re.MULTILINE)
_KEY = re.compile(r"""(?:'([^']+)'|"([^"]+)"|([A-Za-z_][^:'"#]*)):\s*\Z""")
_VALUE = re.compile(r" {2,8}value: *(\S.*)\Z")


def recognise(head: bytes, name: str) -> bool:
    return b" value:" in head and bool(_OWN.search(head)) and bool(_NESTED.search(head))


def read(source: Source, rows: Rows) -> None:
    key = None
    text = source.text().decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        line = line.rstrip()
        if not line.startswith((" ", "#", "-")):
            match = _KEY.match(line)
            key = next(filter(None, match.groups()), None) if match else None
        elif key and key != "_wandb" and (match := _VALUE.match(line)):
            value = match[1]
            if value[0] in "'\"" and len(value) > 1 and value[-1] == value[0]:
                value = value[1:-1]
            if value not in ("null", "~", "") and value[0] not in "[{|>&*":
                rows.param(key, value[:500], number)
            key = None
