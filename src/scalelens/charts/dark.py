"""A figure on dark ground: the same drawing, in which what was light is dark and what was dark is light.

Lightness is that of Oklab, in which equal differences look alike, and hue and saturation stay, so that a scale from
light to dark becomes one from dark to light and the colors of series stay apart.
Source: Björn Ottosson, "A perceptual color space for image processing" (2020).
"""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Any

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_NAMED = {"white": "#ffffff", "black": "#000000"}
# Lightness on dark ground by lightness on white paper.  It changes least in the middle, where the colors of series lie.
_LIGHTNESS = ((0.0, 0.96), (0.25, 0.93), (0.5, 0.8), (0.76, 0.6), (0.88, 0.42), (0.95, 0.31), (1.0, 0.2))
_COLORED = ("colour", "ink")  # fields of rows that are colors


def darkened(spec: dict[str, Any], kept: Collection[str]) -> dict[str, Any]:
    """The Vega-Lite of a figure on dark ground; the colors in `kept`, which a user chose, stay."""
    stay = {color.lower() for color in kept}

    def walk(value: Any, is_row: bool) -> Any:
        if isinstance(value, dict):
            return {
                key: item if is_row and key not in _COLORED else walk(item, is_row or key == "values")
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [walk(item, is_row) for item in value]
        if isinstance(value, str):
            color = _NAMED.get(value, value)
            return dark(color) if _HEX.fullmatch(color) and color.lower() not in stay else value
        return value

    return {key: item if key == "usermeta" else walk(item, False) for key, item in spec.items()}


def dark(color: str) -> str:
    """The color that takes the place of `color` on dark ground, both as #rrggbb."""
    lightness, a, b = _oklab([_linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5)])
    (low, above), (high, below) = next(
        (left, right) for left, right in pairwise(_LIGHTNESS) if lightness <= right[0] + 1e-6
    )
    there = above + (below - above) * (lightness - low) / (high - low)
    red, green, blue = (round(255 * _encoded(min(max(part, 0), 1))) for part in _rgb(there, a, b))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _encoded(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def _oklab(rgb: list[float]) -> tuple[float, float, float]:
    red, green, blue = rgb
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _rgb(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
