"""Which values a sidecar may have: facts, labels, time zones.  The same rules apply to the command line."""

import difflib
from datetime import date, datetime, time
from typing import Any

from scalelens.runs.templates import FACT_KINDS, LABEL_NAME, WORDS

_LARGEST_COUNT = 10**9 - 1


def fact_text(key: str, value: Any) -> str:
    """Value of a fact as text.  Raises ValueError if the fact cannot have this value."""
    if key not in FACT_KINDS:
        raise ValueError(f"'{key}' is not a fact; {suggestion(key, tuple(FACT_KINDS))}, or put it under [labels]")
    kind = FACT_KINDS[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "text":
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f'{key} is not a text: {in_message(value)}; write {key} = "..."')
        if key in WORDS and value not in WORDS[key]:
            raise ValueError(f"{key} is {in_message(value)}; use one of {' '.join(WORDS[key])}")
        return normalized(key, value)
    if kind == "count" and not (is_number and isinstance(value, int) and 0 < value <= _LARGEST_COUNT):
        raise ValueError(f"{key} is not a whole number above 0: {in_message(value)}")
    if not is_number or not 0 < value < 1e300:
        raise ValueError(f"{key} is not a number above 0: {in_message(value)}")
    return str(value)


def label_text(key: str, value: Any) -> str:
    """Value of a label as text.  Raises ValueError if a label cannot have this name or value."""
    if key in FACT_KINDS:
        raise ValueError(f"'{key}' is a fact, not a label; put it under [facts]")
    if not LABEL_NAME.fullmatch(key):
        raise ValueError(f"'{key}' is not a name for a label; use lower-case letters, digits and _")
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float | date | datetime | time) or not str(value).strip():
        raise ValueError(f"the label {key} is not a text or a number: {in_message(value)}")
    return str(value)


def normalized(key: str, value: str) -> str:
    """A text as the formats write it: precisions are in lower case."""
    return value.lower() if key == "precision" else value


def suggestion(key: str, known: tuple[str, ...]) -> str:
    """What to write instead of an unknown key."""
    near = difflib.get_close_matches(key, known, 1)
    return f"write '{near[0]}'" if near else f"use one of {', '.join(known)}"


def in_message(value: Any) -> str:
    """A value as an error message shows it."""
    if isinstance(value, int) and abs(value) > 10**18:
        return "a number of that size"  # Python refuses to print very long ones
    return f"'{value}'" if isinstance(value, str) else str(value)[:60]


def is_zone(name: Any) -> bool:
    """Whether there is a time zone of that name."""
    from zoneinfo import ZoneInfo

    try:
        return isinstance(name, str) and bool(name) and ZoneInfo(name) is not None
    except (KeyError, ValueError, OSError):
        return False
