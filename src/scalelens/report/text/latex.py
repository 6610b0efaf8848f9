"""Texts, numbers and units as LaTeX: nothing from a log acts in a document, and siunitx typesets the numbers.

`\\si` and `\\numrange` mean the same in siunitx 2 and 3.
"""

import re

from scalelens.inert import visible

PACKAGES = "% Needs \\usepackage{booktabs} and \\usepackage{siunitx}.\n"
_SPECIAL = {
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "*": "{*}", "`": r"\textasciigrave{}", "µ": r"\textmu{}",
}  # fmt: skip
# Letters beyond ASCII that pdflatex prints without further packages, in any encoding of its fonts.
_KNOWN = re.compile("[ -~¡-ª¬®-ÏÑ-ÝßÀ-ïñ-ýÿÖØ…·–—‘’“”•‰×†‡]")
_UNITS = {
    "s": r"\second", "ms": r"\milli\second", "µs": r"\micro\second", "ns": r"\nano\second", "min": r"\minute",
    "h": r"\hour", "J": r"\joule", "kJ": r"\kilo\joule", "MJ": r"\mega\joule", "W": r"\watt", "kW": r"\kilo\watt",
    "MW": r"\mega\watt", "Wh": r"\watt\hour", "kWh": r"\kilo\watt\hour", "B": r"\byte", "bytes": r"\byte",
    "kB": r"\kilo\byte", "MB": r"\mega\byte", "GB": r"\giga\byte", "TB": r"\tera\byte", "%": r"\percent",
    "bytes/s": r"\byte\per\second", "MB/s": r"\mega\byte\per\second", "GB/s": r"\giga\byte\per\second",
}  # fmt: skip


def escaped(text: str) -> str:
    """A text that LaTeX prints as it is.  A letter that pdflatex may not have becomes `U+4E2D`."""
    letters = (letter if _KNOWN.match(letter) else f"U+{ord(letter):04X}" for letter in visible(text))
    plain = "".join(_SPECIAL.get(letter, letter) for letter in letters)
    return re.sub("-(?=-)", "-{}", plain)  # two hyphens would become a dash


def unit(name: str) -> str:
    """A unit for `\\si{}`.  siunitx prints what it does not know as it is, such as samples/s."""
    return _UNITS.get(name, escaped(name))


def comment(text: str) -> str:
    """A text as a line of comment."""
    return f"% {visible(text)}\n"
