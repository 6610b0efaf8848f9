"""Scores of GPUs by NVIDIA's Resiliency Extension, where its straggler detection is on.

Tool: NVIDIA Resiliency Extension (NVRx), in NeMo, Megatron-Bridge and PyTorch Lightning
Versions: 0.1 (2024) and later, in Megatron-Bridge with the logger's name before a heading
Yields: metrics
Source: nvidia_resiliency_ext/ptl_resiliency/straggler_det_callback.py, _print_gpu_scores() and _format_gpu_scores()

A relative score compares the kernels of a rank with those of the fastest rank, an individual score with the best of the
rank itself: 1 is as fast, 0.5 takes twice the time.  In a large job only the worst and the best ranks are printed,
below the number of ranks that have a score.  A score of nan is a problem: such a rank was not judged.

Samples:
    GPU relative performance:
     Worst performing 5/512 ranks:
      Rank=76 Node=n1-012 Score=0.94
     Best performing 5/512 ranks:
    GPU individual performance:
    megatron.bridge.NVRxStragglerDetection: GPU relative performance:
"""

import math

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("GPU relative performance:", "GPU individual performance:", "t performing ", " Score=")

_TITLE = re.compile(r"(?:\S{0,200}: *|\s*)(GPU (?:relative|individual) performance):\s*$")
_PART = re.compile(r"\s*(Worst|Best) performing \d+/(\d{1,9}) ranks:\s*$")
_SCORE = re.compile(r"\s*Rank=(\d{1,9}) Node=(\S+) Score=(\d+\.\d+|nan)\s*$")
_SCORE_CUT = re.compile(r"\s*Rank=\d+ Node=\S+ Score=\S*\s*$")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.title: str | None = None  # of the report that the next scores belong to

    def take(self, line: Line) -> bool:
        if title := _TITLE.match(line.text):
            self.title = title[1]
        elif part := _PART.match(line.text):
            if part[1] == "Worst":
                self.rows.metric(line.number, None, None, self.rows.step, "ranks with a score", float(part[2]))
        elif score := _SCORE.match(line.text):
            self.score(line, int(score[1]), score[2], float(score[3]))
        elif _SCORE_CUT.match(line.text):
            self.rows.problem(line.number, "the score is cut, or something else was printed into it", line.text)
        else:
            return False
        return True

    def score(self, line: Line, rank: int, node: str, score: float) -> None:
        if self.title is None:
            self.rows.problem(line.number, "the heading is missing that says what the score compares", line.text)
        elif math.isnan(score):
            self.rows.problem(line.number, f"rank {rank} has no score: there was nothing to compare", line.text)
        else:
            self.rows.metric(line.number, rank, node, self.rows.step, self.title, score)
