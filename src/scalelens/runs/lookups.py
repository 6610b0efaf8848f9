"""How the rules of joining find other files: by keys, such as a folder or a job id.

A file offers keys and seeks keys, and each of them is recorded as a tie of the file.  So the ties follow from the rules
and are not written down a second time.  Files that no tie connects, directly or through others, cannot change each
other's runs: after a commit, only the files that are tied to new ones are joined again.  This is true as long as the
rules find other files in no other way.  The parts of a run are tied to each other, so a tie of one of them is enough.
"""

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from scalelens.runs.part import Part

_Item = TypeVar("_Item")


class Tie(NamedTuple):
    """A key that a file offers to others, seeks, or both."""

    file_id: str
    key: str
    is_offered: bool
    is_sought: bool


class Lookup(Generic[_Item]):
    """Items by key.  It records a tie for each key that is offered or sought, whether or not anything is found."""

    def __init__(self, name: str, ties: list[Tie]) -> None:
        self._name, self._ties = name, ties
        self._items: dict[Any, list[_Item]] = {}

    def offer(self, key: object, item: _Item, part: Part) -> None:
        """Lets others find an item by a key; `part` is one that the item consists of."""
        self._items.setdefault(key, []).append(item)
        self._tie(part, key, is_offered=True)

    def seek(self, key: object, part: Part) -> list[_Item]:
        """Items with a key, in the order in which they were offered."""
        self._tie(part, key, is_sought=True)
        return self._items.get(key, [])

    def gather(self, key: object, item: _Item, part: Part) -> None:
        """Adds an item to those with the same key, which all depend on each other."""
        self._items.setdefault(key, []).append(item)
        self._tie(part, key, is_offered=True, is_sought=True)

    def groups(self) -> Iterator[tuple[Any, list[_Item]]]:
        """Keys with their items, in the order in which the keys came."""
        yield from self._items.items()

    def _tie(self, part: Part, key: object, is_offered: bool = False, is_sought: bool = False) -> None:
        self._ties.append(Tie(part.file_id, f"{self._name} {key!r}", is_offered, is_sought))
