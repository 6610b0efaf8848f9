"""Numbers that a locale wrote with marks for thousands: 1,234.5 or 1.234,5."""

from collections.abc import Iterable

from scalelens.parsing import lazy_re as re

LOCALE_NUMBER = re.compile(r"-?(?:\d+(?:[.,]\d+)?|\d{1,3}([.,])\d{3}(?:\1\d{3})*(?:(?!\1)[.,]\d+)?)")
_OTHER = {".": ",", ",": "."}
UNCLEAR = "nothing tells whether '.' or ',' is the decimal mark: numbers with one are not read"


def decimal_mark(texts: Iterable[str]) -> str | None:
    """The decimal mark that all numbers of a file agree on; None where none tells, or two disagree."""
    marks = {_mark_of(text) for text in texts} - {None}
    return marks.pop() if len(marks) == 1 else None


def plain_number(text: str, mark: str | None) -> str | None:
    """A number as Python writes it; None where the mark is not known and counts."""
    if mark is None:
        return text if text.lstrip("-").isdecimal() else None
    return text.replace(_OTHER[mark], "").replace(mark, ".")


def _mark_of(text: str) -> str | None:
    """The decimal mark that a number shows; None where its one mark may as well separate thousands."""
    marks = re.findall(r"[.,]", text)
    if not marks or not LOCALE_NUMBER.fullmatch(text):
        return None
    if len(set(marks)) == 2:
        return str(marks[-1])
    if len(marks) > 1:
        return _OTHER[marks[0]]
    whole, _, fraction = text.lstrip("-").replace(",", ".").partition(".")
    grouped = len(fraction) == 3 and len(whole) <= 3 and not whole.startswith("0")
    return None if grouped else str(marks[0])
