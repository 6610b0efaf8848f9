"""The tables that Stable-Baselines3 prints: one for each iteration, or for some episodes.

Tool: Stable-Baselines3 (HumanOutputFormat), sb3-contrib
Versions: 1 and 2
Yields: steps, metrics, params
Source: stable_baselines3/common/logger.py, HumanOutputFormat.write()

The same values as in its progress.csv, with three significant digits and names that are cut to a length, by section; what
its times mean is said in parsing/environment_steps.py.  Tables of an evaluation name no iteration.  A row
leads to the line that ends its table; one that is cut, or has something else printed into it, is a problem.

Samples:
    | time/              |          |
    | train/                  |             |
    | rollout/           |          |
    | eval/              |          |
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.environment_steps import FPS, ITERATION, EnvironmentSteps
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number

VERSION = 1
ANCHORS = ("| time/ ", "| train/ ", "| rollout/ ", "| eval/ ")

_SECTION = re.compile(r"\| ([\w-]{1,60}/) +\| +\|\s*\Z")
ENTRY = re.compile(r"\| {4}(?! )([^|]*[^|\s]) +\| (?! )([^|]*[^|\s]) *\|\s*\Z")
_END = re.compile(r"-{10,}\s*\Z")


class Reader:
    claims = re.compile(r"\| |-{10,}\s*\Z")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.steps: dict[tuple[int, int | None, str | None], EnvironmentSteps] = {}
        self.last: Line | None = None  # of the table that is being printed
        self.section, self.has_iterations = "", True
        self.values = dict[str, float]()

    def take(self, line: Line) -> bool:
        if not (section := _SECTION.match(line.text)):
            return False
        last = self.last
        if last and (section[1] <= self.section or (last.rank, last.location) != (line.rank, line.location)):
            self.cut()  # sections are sorted by their names
        if self.last is None:
            self.values = {}
        self.last, self.section = line, section[1]
        return True

    def more(self, line: Line) -> None:
        if self.take(line) or self.last is None:  # the end of a table is followed by the next one
            return
        self.last = line
        if entry := ENTRY.match(line.text):
            if (value := number(entry[2])) is not None:
                self.values[self.section + entry[1]] = value
        elif _END.match(line.text):
            self.table(line)
            self.last = None
        else:
            self.cut()

    def finish(self) -> None:
        self.cut()

    def cut(self) -> None:
        if self.last:
            reason = "the table is cut, or something else was printed into it"
            self.rows.problem(self.last.number + 1, reason, self.last.text)  # where its next line is missing
        self.last = None

    def table(self, end: Line) -> None:
        rows, whose = self.rows, (self.rows.part, end.rank, end.location)
        if FPS in self.values:  # not a table of an evaluation
            self.has_iterations = ITERATION in self.values
        steps = self.steps.get(whose) or self.steps.setdefault(whose, EnvironmentSteps(rows))
        steps.add(end.number, self.values, self.has_iterations, end.rank, end.location)
        rows.param("framework", "stable-baselines3", end.number)
