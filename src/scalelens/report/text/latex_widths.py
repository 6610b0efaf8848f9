"""How wide a text is in LaTeX, without LaTeX: so that a table fits the column that it is for.

The widths are those of Computer Modern, which is wider than Times and Libertine but for a few letters, whose widths are
those of Times.  So a table may turn out narrower than computed here, and never wider.
Source: Knuth, Computer Modern Typefaces, cmr10; Adobe's metrics of Times-Roman
"""

from typing import NamedTuple

from scalelens.inert import visible

_POINTS_PER_MM = 72.27 / 25.4  # points of TeX
# Letters by their width in points, in type of 10 points.
_LETTERS = {
    2.78: "il'.,:;!·", 3.34: "fIj[]- |", 3.92: "rst()\"“”‘’", 4.45: "cez", 5.0: "a0123456789ogq/–?", 5.3: "kvxy",
    5.56: "bdhnpuS", 6.3: "LZ", 6.81: "EPF", 7.5: "AHNUVXYTRBCDK", 7.85: "GOQ<>=+±×~*", 8.34: "m%&#$…", 9.17: "MJ",
    10.28: "Ww@—•‰",
}  # fmt: skip
_WIDTHS = {letter: width for width, letters in _LETTERS.items() for letter in letters}
_OTHER = 7.85
_CODE_POINT = 45.0  # of `U+4E2D`
_GROUP = 1.67  # siunitx sets five digits and more in groups of three


class Type(NamedTuple):
    """A size of type.  Small type of Computer Modern is relatively wider.

    It is named by its points: what a class calls `footnotesize` may be as large as its `small`, as in llncs.
    """

    command: str
    factor: float  # of the widths at 10 points
    column_separation: float  # in points, on each side of a column


SIZES = (
    Type(r"\normalsize", 1.0, 6),  # of 10 points or less
    Type(r"\fontsize{9}{11}\selectfont", 0.925, 5),
    Type(r"\fontsize{8}{9.5}\selectfont", 0.85, 4),
    Type(r"\fontsize{7}{8.5}\selectfont", 0.8, 3),
)


def text_width(text: str) -> float:
    """Points that a text takes at most, in type of 10 points."""
    return sum(_WIDTHS.get(letter, _OTHER if ord(letter) < 0x250 else _CODE_POINT) for letter in visible(text))


def number_width(text: str) -> float:
    """The same of a number, or two with words between them, as siunitx sets it."""
    return sum(text_width(word) + _GROUP * (len(word) // 3) for word in text.replace("-", "±").split(" ")) + (
        3.34 * text.count(" ")
    )


def table_width(widths: list[float], size: Type) -> float:
    """Points of a table without space at its ends."""
    return size.factor * sum(widths) + 2 * size.column_separation * (len(widths) - 1)


def room_in(mm: float) -> float:
    """Points of TeX in a column: two less than its width, as IEEEtran's columns are less wide than IEEE states."""
    return mm * _POINTS_PER_MM - 2
