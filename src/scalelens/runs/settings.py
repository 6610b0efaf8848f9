"""Which parts agree in their settings: a setting that only one of them states separates no two."""

from collections import defaultdict
from collections.abc import Iterable

from scalelens.runs.part import Part


class Settings:
    """The values that parts of a run state, by setting."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._values: dict[str, set[str]] = defaultdict(set)
        for part in parts:
            self.add(part)

    def add(self, part: Part) -> None:
        for key, value in part.facts.settings.items():
            self._values[key].add(value)

    def agree_with(self, part: Part, ignored: str = "") -> bool:
        """Whether all parts have the same value as this one in each setting that both state."""
        return all(
            self._values.get(key, {value}) == {value} for key, value in part.facts.settings.items() if key != ignored
        )
