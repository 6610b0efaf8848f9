"""The console for what is said beside a result, by rich."""

from typing import Any

from rich.console import Console

from scalelens.inert import visible


class _InertConsole(Console):
    """A console on which texts of files change nothing but what is read."""

    def print(self, *objects: Any, **options: Any) -> None:
        shown = (visible(text, lines=True) if isinstance(text, str) else text for text in objects)
        super().print(*shown, **options)


errors = _InertConsole(stderr=True, highlight=False, soft_wrap=True, markup=False)
