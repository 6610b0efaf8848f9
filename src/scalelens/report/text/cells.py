"""A value as people read it."""

from typing import Any

from scalelens.inert import visible


def cell(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, list):
        return " ".join(cell(item) for item in value)
    return visible(str(value))


def _number_text(value: float) -> str:
    """A number with four significant digits; large numbers and integers in full."""
    if value != value:
        return "nan"
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1e4):
        return f"{value:.0f}"
    return f"{value:.4g}"
