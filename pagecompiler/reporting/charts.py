"""Bar charts as inline SVG: lengths are in percent of the width, texts keep their size on any screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

LABEL_PIXELS = 22
BAR_PIXELS = 22
BAR_GAP_PIXELS = 4
ROW_GAP_PIXELS = 12
LONGEST_PERCENT = 72  # the rest of the width is for the value behind the bar


@dataclass(frozen=True, slots=True)
class Bar:
    """`text` is the value in words; from `low` to `high` there is a whisker. `tone` numbers the colour."""

    value: float
    text: str
    low: float | None = None
    high: float | None = None
    tone: int = 0


@dataclass(frozen=True, slots=True)
class BarRow:
    """Bars under one label."""

    label: str
    bars: tuple[Bar, ...]
    strong: bool = False


def bar_chart(rows: Sequence[BarRow], *, label: str, longest: float | None = None) -> Markup:
    """Rows of bars from one scale; `longest` is the value of a whole bar (default: the largest that is shown).

    `label` says what the picture shows to those who do not see it.
    """
    values = [value for row in rows for bar in row.bars for value in (bar.value, bar.high or 0.0)]
    scale = longest or max(values, default=0.0) or 1.0
    parts: list[Markup] = []
    top = 0
    for row in rows:
        parts.append(_label(row, top))
        top += LABEL_PIXELS
        for bar in row.bars:
            parts.append(_bar(bar, top, scale))
            top += BAR_PIXELS + BAR_GAP_PIXELS
        top += ROW_GAP_PIXELS
    return Markup('<svg class="chart" role="img" aria-label="{}" width="100%" height="{}">{}</svg>').format(
        label, max(1, top - ROW_GAP_PIXELS), Markup().join(parts)
    )


def _label(row: BarRow, top: int) -> Markup:
    return Markup('<text class="{}" x="0" y="{}">{}</text>').format(
        "label strong" if row.strong else "label", top + LABEL_PIXELS - 7, row.label
    )


def _bar(bar: Bar, top: int, scale: float) -> Markup:
    middle = top + BAR_PIXELS // 2
    drawn = [
        Markup('<rect class="bar tone-{}" x="0" y="{}" width="{}" height="{}"/>').format(
            bar.tone, top, _percent(bar.value, scale), BAR_PIXELS
        )
    ]
    behind = bar.value
    if bar.low is not None and bar.high is not None:
        behind = max(bar.value, bar.high)
        drawn.append(
            Markup(
                '<line class="whisker" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
                '<line class="whisker" x1="{low}" x2="{low}" y1="{up}" y2="{down}"/>'
                '<line class="whisker" x1="{high}" x2="{high}" y1="{up}" y2="{down}"/>'
            ).format(
                low=_percent(bar.low, scale), high=_percent(bar.high, scale), y=middle, up=middle - 4, down=middle + 4
            )
        )
    drawn.append(
        Markup('<text class="value" x="{}" dx="8" y="{}">{}</text>').format(
            _percent(behind, scale), middle + 5, bar.text
        )
    )
    return Markup().join(drawn)


def _percent(value: float, scale: float) -> str:
    return f"{LONGEST_PERCENT * max(0.0, min(value, scale)) / scale:.3f}%"
