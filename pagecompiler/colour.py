"""Colours: sRGB hex ↔ OKLCH, WCAG contrast, mixing, and moving a colour in lightness until it can be read.

>>> round(contrast("#0b6e4f", "#ffffff"), 2)
6.25
>>> move_until("#ffd400", {"#ffffff": 4.5})
'#8d7400'
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

_HEX = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})")
_STEP = 0.005

Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Oklch:
    """Lightness 0–1, chroma from 0 (about 0.37 at most in sRGB), hue in degrees."""

    lightness: float
    chroma: float
    hue: float


def parse_colour(text: str) -> str | None:
    """`#rgb` or `#rrggbb` as `#rrggbb`; None for anything else.

    >>> parse_colour("#0A8"), parse_colour("teal")
    ('#00aa88', None)
    """
    text = text.strip().lower()
    if not _HEX.fullmatch(text):
        return None
    return text if len(text) == 7 else "#" + "".join(digit * 2 for digit in text[1:])


def to_oklch(colour: str) -> Oklch:
    """The OKLCH coordinates of `#rrggbb`."""
    lightness, a, b = _to_oklab(colour)
    return Oklch(lightness, math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360)


def from_oklch(colour: Oklch) -> str:
    """`#rrggbb` of a colour; chroma is reduced until it fits into sRGB."""
    lightness = min(max(colour.lightness, 0.0), 1.0)
    low, high = 0.0, max(colour.chroma, 0.0)
    if not _fits(lightness, high, colour.hue):
        for _ in range(16):
            middle = (low + high) / 2
            low, high = (middle, high) if _fits(lightness, middle, colour.hue) else (low, middle)
        high = low
    return _hex(_encoded(_linear(lightness, high, colour.hue)))


def mix(first: str, second: str, share: float) -> str:
    """`share` (0–1) of the second colour in the first, in OKLab, as CSS `color-mix(in oklab, …)` does."""
    one, two = _to_oklab(first), _to_oklab(second)
    lightness, a, b = (x + (y - x) * share for x, y in zip(one, two, strict=True))
    return _hex(_encoded(_oklab_to_linear((lightness, a, b))))


def contrast(first: str, second: str) -> float:
    """The WCAG 2 contrast ratio, 1 to 21."""
    one, two = sorted((_luminance(first), _luminance(second)))
    return (two + 0.05) / (one + 0.05)


def reaches(colour: str, needs: Mapping[str, float]) -> bool:
    """Does the colour have the wanted contrast to every other one?"""
    return all(contrast(colour, other) >= ratio for other, ratio in needs.items())


def move_until(colour: str, needs: Mapping[str, float]) -> str:
    """The nearest lightness of the same hue whose contrast to each key of `needs` is at least its value.

    The colour itself where it is good already. Where no lightness is, the one of black and white that is better.
    """
    if reaches(colour, needs):
        return colour
    start = to_oklch(colour)
    for step in range(1, round(1 / _STEP) + 1):
        for lightness in (start.lightness - step * _STEP, start.lightness + step * _STEP):
            if not 0 <= lightness <= 1:
                continue
            moved = from_oklch(replace(start, lightness=lightness))
            if reaches(moved, needs):
                return moved
    return max(("#000000", "#ffffff"), key=lambda end: min(contrast(end, other) for other in needs))


def is_light(colour: str) -> bool:
    """Does black read better on it than white?"""
    return contrast(colour, "#000000") >= contrast(colour, "#ffffff")


def _channels(colour: str) -> Triple:
    """Linear red, green, blue of `#rrggbb`."""
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return red, green, blue


def _luminance(colour: str) -> float:
    red, green, blue = _channels(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _to_oklab(colour: str) -> Triple:
    red, green, blue = _channels(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _oklab_to_linear(lab: Triple) -> Triple:
    lightness, a, b = lab
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _linear(lightness: float, chroma: float, hue: float) -> Triple:
    angle = math.radians(hue)
    return _oklab_to_linear((lightness, chroma * math.cos(angle), chroma * math.sin(angle)))


def _fits(lightness: float, chroma: float, hue: float) -> bool:
    return all(-0.0005 <= value <= 1.0005 for value in _linear(lightness, chroma, hue))


def _encoded(linear: Triple) -> Triple:
    def encode(value: float) -> float:
        value = min(max(value, 0.0), 1.0)
        return value * 12.92 if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055

    red, green, blue = (encode(value) for value in linear)
    return red, green, blue


def _hex(channels: Triple) -> str:
    return "#" + "".join(f"{round(min(max(value, 0.0), 1.0) * 255):02x}" for value in channels)
