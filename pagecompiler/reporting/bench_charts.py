"""The figures of a bench as bar charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pagecompiler.bench.figures import Arm, ArmFigures, BenchResult, Load, Spread
from pagecompiler.reporting.amounts import number, seconds, share, times
from pagecompiler.reporting.bench_tables import load_name
from pagecompiler.reporting.charts import Bar, BarRow, bar_chart

TONES = 6


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and what its tones mean."""

    svg: Markup
    legend: tuple[tuple[str, int], ...]


def speed_chart(result: BenchResult) -> Chart | None:
    """Tokens a second by method, each load a bar of its own; the winner of the last load stands out."""
    return _by_arm(result, lambda figures: figures.tokens_per_second, number, "Tokens a second by method")


def time_chart(result: BenchResult) -> Chart | None:
    """Seconds to the finished page by method, under the loads that write whole pages; the page by rule last."""
    return _by_arm(
        result,
        lambda figures: figures.time_to_page,
        seconds,
        "Seconds to the finished page by method",
        loads=[(tone, load) for tone, load in enumerate(result.loads) if not load.group],
        last=result.reference,
    )


def kept_chart(load: Load) -> Chart | None:
    """The share of its speed alone that a lane keeps when all of them run."""
    rows = [
        BarRow(figures.arm.name, (Bar(figures.kept, share(figures.kept)),))
        for figures in load.arms
        if figures.kept is not None
    ]
    return _chart(rows, "Share of its speed alone that a lane keeps", longest=1.0)


def acceptance_chart(load: Load) -> Chart | None:
    """The share of guesses that was approved at the first place, at the second, and so on."""
    rows, places = [], 0
    for figures in load.arms:
        shares = figures.acceptance_by_position
        bars = tuple(Bar(each, share(each), tone=place % TONES) for place, each in enumerate(shares))
        places = max(places, len(bars))
        if bars:
            rows.append(BarRow(figures.arm.name, bars))
    legend = tuple((f"place {place + 1}", place % TONES) for place in range(places))
    return _chart(rows, "Approved guesses by place", legend, longest=1.0)


def prediction_chart(load: Load) -> Chart | None:
    """The predicted speed beside the measured one, in units of plain's."""
    rows = []
    for figures in load.arms:
        if figures.prediction is not None and figures.ratio is not None:
            expected = Bar(figures.prediction.ratio, times(figures.prediction.ratio), tone=4)
            rows.append(BarRow(figures.arm.name, (expected, _bar(figures.ratio, times, 0))))
    return _chart(rows, "Speed in units of plain", (("predicted", 4), ("measured", 0)))


def _by_arm(
    result: BenchResult,
    figure: Callable[[ArmFigures], Spread | None],
    words: Callable[[float], str],
    label: str,
    *,
    loads: Sequence[tuple[int, Load]] | None = None,
    last: ArmFigures | None = None,
) -> Chart | None:
    shown = list(enumerate(result.loads)) if loads is None else loads
    verdict = result.verdict
    winner = verdict.arm if verdict is not None and not verdict.within_noise else None
    rows = []
    for arm in _arms(load for _, load in shown):
        found = [(tone, load.find(arm)) for tone, load in reversed(shown)]
        bars = [
            _bar(value, words, tone % TONES)
            for tone, figures in found
            if figures is not None and (value := figure(figures)) is not None
        ]
        if bars:
            rows.append(BarRow(arm.name, tuple(bars), strong=arm == winner))
    if last is not None and (value := figure(last)) is not None:
        rows.append(BarRow("by rule, without a model", (_bar(value, words, TONES - 1),)))
    legend = tuple((load_name(load), tone % TONES) for tone, load in reversed(shown))
    return _chart(rows, label, legend)


def _arms(loads: Iterable[Load]) -> list[Arm]:
    return list(dict.fromkeys(figures.arm for load in loads for figures in load.arms))


def _bar(value: Spread, words: Callable[[float], str], tone: int) -> Bar:
    return Bar(value.median, words(value.median), value.low, value.high, tone)


def _chart(
    rows: Sequence[BarRow], label: str, legend: tuple[tuple[str, int], ...] = (), longest: float | None = None
) -> Chart | None:
    if not rows:
        return None
    told = "; ".join(f"{row.label}: {', '.join(bar.text for bar in row.bars)}" for row in rows)
    return Chart(bar_chart(rows, label=f"{label}. {told}", longest=longest), legend)
