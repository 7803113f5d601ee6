"""Amounts in words: with a unit, and no more digits than they deserve. A figure that is not there is a dash."""

from __future__ import annotations

from collections.abc import Callable

from pagecompiler.bench.figures import Spread

NONE = "–"
_UNITS = ("B", "kB", "MB", "GB", "TB")


def number(value: float | None) -> str:
    """Three digits, or all before the point.

    >>> number(1586.4), number(12.34), number(0.0567), number(None)
    ('1,586', '12.3', '0.057', '–')
    """
    if value is None:
        return NONE
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


def seconds(value: float | None) -> str:
    """
    >>> seconds(0.0421), seconds(1.234)
    ('42 ms', '1.23 s')
    """
    if value is None:
        return NONE
    return f"{1000 * value:.0f} ms" if value < 0.1 else f"{value:.2f} s"


def share(value: float | None) -> str:
    """
    >>> share(0.873)
    '87 %'
    """
    return NONE if value is None else f"{100 * value:.0f} %"


def times(value: float | None) -> str:
    """
    >>> times(1.349)
    '1.35×'
    """
    return NONE if value is None else f"{value:.2f}×"


def size(value: float | None) -> str:
    """Bytes, in powers of a thousand.

    >>> size(4_100_000), size(9)
    ('4.10 MB', '9 B')
    """
    if value is None:
        return NONE
    unit = 0
    while value >= 1000 and unit + 1 < len(_UNITS):
        value, unit = value / 1000, unit + 1
    return f"{number(value) if unit else round(value)} {_UNITS[unit]}"


def spread(value: Spread | None, words: Callable[[float], str]) -> str:
    """The median, and from where to where the runs went.

    >>> spread(Spread(1.5, 1.25, 2.0), times)
    '1.50× (1.25×–2.00×)'
    """
    if value is None:
        return NONE
    return f"{words(value.median)} ({words(value.low)}–{words(value.high)})"
