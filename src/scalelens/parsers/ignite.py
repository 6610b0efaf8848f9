"""Epochs and runs as engines of PyTorch-Ignite log them.

Tool: PyTorch-Ignite, with a logger of Engine at INFO (ignite.utils.setup_logger)
Versions: 0.2 to 0.5
Yields: phases
Source: ignite/engine/engine.py, _internal_run_as_gen(); ignite/utils.py, setup_logger()

The time of an epoch holds what its handlers do, such as a validation.  An engine that runs while another one does is
an evaluation, by whichever name; so is one that runs for one epoch after another one ended, unless its logger's name
holds `train`.  Engines of one name are told by their order.

Samples:
    2026-01-02 15:35:40,297 trainer INFO: Epoch[1] Complete. Time taken: 00:00:08.434
    2026-01-02 15:35:31,863 trainer INFO: Engine run starting with max_epochs=3.
    2026-01-02 15:35:54,349 trainer INFO: Engine run finished. Time taken: 00:00:22.486
    2026-01-02 15:35:54,349 ignite.engine.engine.Engine INFO: Engine run complete. Time taken: 00:00:22
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Engine run ", "] Complete. Time taken: ")

_STARTS = re.compile(
    r"(.{0,200})Engine run (?:starting with max_(?:epochs|iters)=(\d{1,9})|resuming from iteration \d+, epoch \d+ until (\d{1,9}))"
)
_EPOCH = re.compile(r".{0,200}Epoch\[(\d{1,9})\] Complete\. Time taken: (\d{1,4}):(\d\d):(\d\d(?:\.\d+)?)\s*\Z")
_ENDS = re.compile(r".{0,200}Engine run (?:finished|complete)\. Time taken:? (\d{1,4}):(\d\d):(\d\d(?:\.\d+)?)\s*\Z")
_TRAINS = re.compile(r"train", re.IGNORECASE)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        # Whether each open engine trains, the outer one first.
        self.running: dict[tuple[int | None, str | None], list[bool]] = {}
        self.trained: set[tuple[int | None, str | None]] = set()
        self.epoch: int | None = None  # the last of the training

    def take(self, line: Line) -> bool:
        whose = line.rank, line.location
        engines = self.running.setdefault(whose, [])
        if starts := _STARTS.match(line.text):
            first = not engines and whose not in self.trained
            trains = not engines and (first or int(starts[2] or starts[3]) > 1 or bool(_TRAINS.search(starts[1])))
            engines.append(trains)
            if trains:
                self.trained.add(whose)
            return True
        if epoch := _EPOCH.match(line.text):
            trains = not engines or engines[-1]
            within = (self.epoch or 0) + 1 if engines and engines[0] else self.epoch  # of an evaluation
            self.epoch = int(epoch[1]) if trains else self.epoch
            self.phase(line, "epoch" if trains else "evaluation", self.epoch if trains else within, epoch.groups()[1:])
            return True
        if ends := _ENDS.match(line.text):
            if engines and engines.pop():
                self.phase(line, "run", None, ends.groups())
            return True
        return False

    def phase(self, line: Line, phase: str, epoch: int | None, spent: tuple[str, ...]) -> None:
        hours, minutes, seconds = spent
        span_s = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        if not span_s:
            return  # older versions print whole seconds
        self.rows.param("framework", "pytorch", line.number, origin="inferred")
        self.rows.add(
            "phases", line.number, rank=line.rank, place=line.location, phase=phase, epoch=epoch,
            span_s=span_s, origin="logged",
        )  # fmt: skip
