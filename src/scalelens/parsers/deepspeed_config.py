"""DeepSpeed's configuration as it prints it.

Tool: DeepSpeed
Versions: 0.1 and later
Yields: params
Source: deepspeed/runtime/config.py, DeepSpeedConfig.print()

The batch sizes, the number of devices, the precision, ZeRO's stage and steps_per_print.  With model parallelism the
engine's world is one data-parallel group: a world_size that divides the devices that the log has named is `dp`, and
else it is `devices` only by inference, so that what another file of the run says goes first.

Samples:
    [2026-01-02 06:38:26,359] [INFO] [config.py:752:print]   train_batch_size ............. 64
    [2026-01-02 06:38:26,359] [INFO] [config.py:752:print]   bfloat16_enabled ............. True
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 3
_FACTS = {
    "world_size": "devices", "train_batch_size": "global_batch_size", "steps_per_print": "steps_per_print",
    "train_micro_batch_size_per_gpu": "micro_batch_size", "zero_optimization_stage": "zero_stage",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
}  # fmt: skip
_PRECISIONS = {"fp16_enabled": "fp16", "bfloat16_enabled": "bf16", "float16_enabled": "fp16"}
ANCHORS = tuple(f":print]   {key} " for key in (*_FACTS, *_PRECISIONS))
_SETTING = re.compile(r"\[config\.py:\d+:print\]   (\w+) \.* ?(\w+)\s*$")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = _SETTING.search(line.text)
        if not match:
            return False
        key, value = match[1], match[2]
        if key in _FACTS and value.isdecimal():
            fact, count, devices = _FACTS[key], int(value), self.rows.params.get("devices")
            if fact != "devices":
                self.rows.param(fact, count, line.number)
            elif devices and 0 < count < devices and devices % count == 0:
                self.rows.param("dp", count, line.number)
            else:
                self.rows.param("devices", count, line.number, origin="inferred")
        elif key in _PRECISIONS and value == "True":
            self.rows.param("precision", _PRECISIONS[key], line.number)
        return True
