"""The lanes over time as inline SVG: places are in percent of the width, so that texts keep their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

ROW_PIXELS = 30
BAR_PIXELS = 24
AXIS_PIXELS = 22
MOST_TICKS = 5

_STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a lane does from `start` to `end`: until `written` it reads the prompt, then it writes. Seconds from 0.

    `tone` numbers the colour; `broken` marks what came to nothing.
    """

    lane: int
    start: float
    written: float
    end: float
    label: str
    title: str
    tone: int
    broken: bool = False


def timeline(stretches: Sequence[Stretch], *, label: str) -> Markup:
    """The picture; `label` says what it shows to those who do not see it."""
    lanes = 1 + max((stretch.lane for stretch in stretches), default=0)
    total = max((stretch.end for stretch in stretches), default=0.0) or 1.0
    rows = lanes * ROW_PIXELS
    inner = [_tick(second, total, rows) for second in ticks(total)]
    inner += [_row(lane) for lane in range(lanes)]
    inner += [_stretch(stretch, total) for stretch in stretches]
    return Markup('<svg class="timeline" role="img" aria-label="{}" width="100%" height="{}">{}</svg>').format(
        label, rows + AXIS_PIXELS, Markup().join(inner)
    )


def ticks(total: float) -> list[float]:
    """Even seconds from 0 to below `total`, a few of them.

    >>> ticks(1.3)
    [0.0, 0.5, 1.0]
    """
    size = 1e-6
    while total / (size * _STEPS[-1]) > MOST_TICKS:
        size *= 10
    step = next((size * factor for factor in _STEPS if total / (size * factor) <= MOST_TICKS), size * _STEPS[-1])
    return [round(step * number, 6) for number in range(int(total / step) + 1) if step * number < total]


def _tick(second: float, total: float, rows: int) -> Markup:
    place = _percent(second, total)
    # The last label may not stick out of the picture.
    anchor = "start" if second == 0 else "end" if second / total > 0.93 else "middle"
    return Markup(
        '<line class="grid" x1="{0}" x2="{0}" y1="0" y2="{1}"/>'
        '<text class="tick" x="{0}" y="{2}" text-anchor="{3}">{4:g} s</text>'
    ).format(place, rows, rows + AXIS_PIXELS - 5, anchor, second)


def _row(lane: int) -> Markup:
    return Markup('<rect class="track" x="0" y="{}" width="100%" height="{}"/>').format(_top(lane), BAR_PIXELS)


def _stretch(stretch: Stretch, total: float) -> Markup:
    top = _top(stretch.lane)
    return Markup(
        '<g class="stretch tone-{tone}{broken}"><title>{title}</title>'
        '<rect class="reading" x="{start}" y="{top}" width="{reading}" height="{height}"/>'
        '<svg x="{written}" y="{top}" width="{writing}" height="{height}">'
        '<rect class="writing" width="100%" height="100%"/><text x="5" y="{line}">{label}</text></svg></g>'
    ).format(
        tone=stretch.tone,
        broken=" broken" if stretch.broken else "",
        title=stretch.title,
        start=_percent(stretch.start, total),
        written=_percent(stretch.written, total),
        reading=_percent(stretch.written - stretch.start, total),
        writing=_percent(stretch.end - stretch.written, total),
        top=top,
        height=BAR_PIXELS,
        line=BAR_PIXELS - 7,
        label=stretch.label,
    )


def _top(lane: int) -> int:
    return lane * ROW_PIXELS + (ROW_PIXELS - BAR_PIXELS) // 2


def _percent(value: float, total: float) -> str:
    return f"{100 * value / total:.3f}%"
