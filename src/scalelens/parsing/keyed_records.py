"""Records of `name : number` after an epoch and an iteration, as DLLogger prints them on the console, by columns."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scalelens.parsing import lazy_re as re
from scalelens.parsing.number_fields import Integers
from scalelens.parsing.record_forms import FieldForm, RecordForm, Records, form_of_keys

_DIGIT = re.compile(r"\d")
_INTEGER = re.compile(r"\d+")
_MOST_STEPS = 2**31
_COUNTED = 2  # an epoch and an iteration


class KeyedForm(NamedTuple):
    """The form of such a record."""

    form: RecordForm
    counts: int  # 1 where only the iteration stands before the numbers, 2 where the epoch does, too
    names: list[str]  # of the numbers
    stamp: tuple[int, int]  # where the time stands in the head

    def numbers(self, records: Records) -> dict[str, pa.Array]:
        """The numbers of records by their names."""
        return dict(zip(self.names, records.fields[self.counts :], strict=True))

    def following(self, records: Records, epoch: int, before: int) -> Integers:
        """The iterations of the first records that go on from an iteration of an epoch, each later than the last."""
        counts = [numbers.to_numpy() for numbers in records.fields[: self.counts]]
        iterations = counts[-1]
        stops = (np.diff(iterations, prepend=before) < 1) | (iterations >= _MOST_STEPS) | (iterations % 1 != 0)
        if self.counts == _COUNTED:
            stops |= counts[0] != epoch
        end = int(np.argmax(stops)) if stops.any() else len(iterations)
        steps: Integers = iterations[:end].astype(np.int64)
        return steps


def keyed_form_of(
    text: str, begin: int, stamp: tuple[int, int], step: list[int], data: dict[str, Any]
) -> KeyedForm | None:
    """The form of a record whose epoch or iteration begins at a position; None where it can only be read by itself.

    `step` is its epoch and iteration, `data` its values by name, with None for those that are not numbers.
    """
    colon = text.find(":", begin)
    form = form_of_keys(text, text[: begin - 1] if _DIGIT.search(text, begin, colon) else text[:colon])
    names = [name for name, value in data.items() if value is not None]
    if not form or not names:
        return None
    fields = [field for field in form.fields if field.numbers]
    counting, measured = fields[: -len(names)], fields[-len(names) :]
    counts = sum(field.numbers for field in counting)
    counted = [int(number) for number in _INTEGER.findall(text, begin)[:counts]]
    if not 0 < counts <= _COUNTED or [0, *counted][-_COUNTED:] != step or not all(map(_is_plain, measured)):
        return None
    return KeyedForm(form, counts, names, stamp)


def _is_plain(field: FieldForm) -> bool:
    return field.numbers == 1 and not field.before.strip() and b"\\(" not in field.after
