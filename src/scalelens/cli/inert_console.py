"""The consoles of rich, on which texts of files change nothing but what is read."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderHook
from rich.measure import Measurement
from rich.segment import Segment

from scalelens.inert import visible


class _Inert:
    """What rich shows, with its control characters visible; the colors are rich's own."""

    def __init__(self, shown: Any) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.shown, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text, lines=True))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.shown)


class _InertHook(RenderHook):
    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        return [_Inert(shown) for shown in renderables]


class _InertConsole(Console):
    """Texts are made visible before rich breaks lines, and all else after it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)  # `:bug:` of a path is no picture
        self.push_render_hook(_InertHook())

    def print(self, *objects: Any, **options: Any) -> None:
        shown = (visible(text, lines=True) if isinstance(text, str) else text for text in objects)
        super().print(*shown, **options)


def results() -> Console:
    """The console of results, as wide as the terminal is now."""
    return _InertConsole()


errors = _InertConsole(stderr=True, soft_wrap=True, markup=False)
