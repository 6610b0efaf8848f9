"""The one exception that a user sees without a traceback."""

from collections.abc import Iterable


class UserError(Exception):
    """What is wrong and where, then what to do about it: one line."""

    def __init__(self, complaint: str, remedy: str = "") -> None:
        super().__init__(f"{complaint}; {remedy}" if remedy else complaint)


def did_you_mean(name: str, names: Iterable[str], most: int = 3) -> str:
    """A question with the names that this one is close to; empty where none is."""
    from difflib import get_close_matches  # only a mistake needs it

    near = get_close_matches(name.lower(), list(names), most)
    return f"did you mean {' or '.join(near)}?" if near else ""
