"""Where a log goes on after its program was launched again: much of what stands before its first record comes again.

    10:00:00  task: upscale              12:41:07  task: upscale
    10:00:00  batch size: 16             12:41:07  batch size: 16
    10:00:01  workers: 4                 12:41:08  workers: 4
    10:02:11  <iter: 200, loss: 0.41>    12:43:20  <iter: 1,800, loss: 0.29>

Nothing was trained between the two launches, however long that took, so that no time by stamps goes over it.  Nor does
one go over an error that ended the program, or over the end of its job.
"""

from typing import Any

from scalelens.parsing import lazy_re as re

_MOST_LINES, _LONGEST = 100, 200  # of the opening, and bytes of each that are compared
_LEAST_LINES, _SHARE = 3, 3  # lines that come again: at least so many, and one of so many
_SELDOM = 10  # records, of which at most one follows a launch; a single launch may stand among fewer
_STAMP = re.compile(
    rb"(?:[\W\d_]|T(?=\d)|Z(?=\W)"
    rb"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?=,? ))*"
)  # and what else stands before the first word
_WORD = re.compile(rb"[^\W\d_]{3}")
_ENDED = re.compile(rb"Traceback \(most recent call last\)|slurmstepd: error: \*\*\* (?:JOB|STEP)")


class Launches:
    """The lines before the first record, and the records before which they come again."""

    def __init__(self) -> None:
        self.lines: set[int] = set()  # of the first record of each writer after a launch
        self.launches = self.records = 0
        self._opening: set[bytes] = set()
        self._again: set[bytes] = set()
        self._launch_of: dict[Any, int] = {}
        self._ends = 0  # of the program, by an error or with its job
        self._after: dict[Any, int] = {}  # how many of these come before the last record of each writer
        self._after_ends: set[int] = set()  # lines of the first record of each writer after one

    def look(self, raw: bytes) -> None:
        """Takes a line that is not a record."""
        self._ends += self.records > 0 and _ENDED.search(raw) is not None
        if self.records and not self._opening:
            return
        text = raw[_STAMP.match(raw).end() :][:_LONGEST].rstrip()  # type: ignore[union-attr]
        if self.records:
            if text in self._opening:
                self._again.add(text)
        elif len(self._opening) < _MOST_LINES and _WORD.search(text):
            self._opening.add(text)

    def take(self, line: int, whose: Any) -> None:
        """Takes a record of one writer."""
        self.records += 1
        if len(self._again) >= max(_LEAST_LINES, len(self._opening) / _SHARE):
            self.launches += 1
        self._again.clear()
        if self._launch_of.setdefault(whose, self.launches) < self.launches:
            self._launch_of[whose] = self.launches
            self.lines.add(line)
        if self._after.setdefault(whose, self._ends) < self._ends:
            self._after[whose] = self._ends
            self._after_ends.add(line)

    def go_on(self, before: int, line: int) -> None:
        """Notes that a record goes on in a later line, which is the one that is known."""
        for lines in (self.lines, self._after_ends):
            if before in lines:
                lines.add(line)

    @property
    def told(self) -> set[int]:
        """The lines of these records, and of those after an end.

        None where the lines come again so often that they are of the training, or an error was so often none.
        """
        told = self.lines if self.launches <= self._seldom else set()
        return told | self._after_ends if len(self._after_ends) <= self._seldom else told

    @property
    def _seldom(self) -> float:
        """How many launches a log with as many records may have."""
        return max(1, self.records / _SELDOM)
