"""What the runs say: against plain, round by round; nothing is said within the noise.

A round runs every arm once, plain at its beginning and at its end. An arm is faster when its median ratio to plain is
beyond 1 by more than the noise, and in four of five rounds on that side; slower likewise. The noise is how far plain
is from itself within a round, in four of five rounds by no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

from pagecompiler.bench.arms import AUTO, PLAIN
from pagecompiler.bench.figures import (
    ArmFigures,
    Judgement,
    Lead,
    Load,
    LoadVerdict,
    Outcome,
)

SHARE = 0.8
FEWEST_ROUNDS = 2
LEAST_DIFFERENCE = 0.01  # less is nothing, however quiet the machine was
LEADING = ("mtp", "draft", "lookup")


def noise_of(pairs: Iterable[tuple[float, float]]) -> float | None:
    """The noise of a machine, from the speeds of plain at the beginning and at the end of each round.

    >>> noise_of([(100.0, 101.0), (100.0, 98.0)])
    0.02
    """
    shares = sorted(abs(last / first - 1) for first, last in pairs)
    if len(shares) < FEWEST_ROUNDS:
        return None
    return round(shares[math.ceil(SHARE * len(shares)) - 1], 4)


def judge(ratios: Sequence[float], noise: float | None) -> Judgement:
    """How an arm with these ratios to plain compares.

    >>> judge([1.31, 1.28, 1.33], 0.03), judge([0.98, 1.05, 1.02], 0.03)
    (<Judgement.FASTER: 'faster'>, <Judgement.NOISE: 'within noise'>)
    """
    if noise is None or len(ratios) < FEWEST_ROUNDS:
        return Judgement.NONE
    middle = median(ratios)
    above = sum(ratio > 1 for ratio in ratios) / len(ratios)
    below = sum(ratio < 1 for ratio in ratios) / len(ratios)
    least = max(noise, LEAST_DIFFERENCE)
    if middle > 1 + least and above >= SHARE:
        return Judgement.FASTER
    if middle < 1 - least and below >= SHARE:
        return Judgement.SLOWER
    return Judgement.NOISE


def verdict_of(lanes: int, arms: Sequence[ArmFigures], noise: float | None) -> LoadVerdict | None:
    """The winner of a load; None when nothing could be judged. `auto` does not win: it takes what does."""
    rivals = [
        figures
        for figures in arms
        if figures.arm not in (PLAIN, AUTO)
        and figures.ratio is not None
        and figures.judgement is not Judgement.NONE
        and not figures.defective
    ]
    if noise is None or not rivals:
        return None
    place = at_lanes(lanes)
    faster = [figures for figures in rivals if figures.judgement is Judgement.FASTER]
    best = max(faster or rivals, key=_ratio)
    ratio = _ratio(best)
    if faster:
        equal = [f.arm.name for f in faster if f is not best and _ratio(f) > ratio * (1 - noise)]
        also = f"; {' and '.join(equal)} cannot be told from it" if equal else ""
        words = f"{place} {best.arm.name} wins: {ratio:.2f} times the speed of plain decoding{also}."
        return LoadVerdict(Outcome.FASTER, lanes, best.arm, ratio, words)
    if all(figures.judgement is Judgement.SLOWER for figures in rivals):
        words = (
            f"{place} plain decoding wins: the best of the others, {best.arm.name}, has {ratio:.2f} times its speed."
        )
        return LoadVerdict(Outcome.PLAIN, lanes, PLAIN, 1.0, words)
    words = (
        f"{place} there is no verdict: {best.arm.name} has {ratio:.2f} times the speed of plain decoding, and plain"
        f" differs from itself by {noise:.1%}. More runs (--runs) or a quieter machine may tell."
    )
    return LoadVerdict(Outcome.NOISE, lanes, PLAIN, 1.0, words)


def lead_of(loads: Sequence[Load]) -> Lead | None:
    """How the lead of MTP (of another method where there is none) over plain changes from few lanes to many."""
    if len(loads) < 2:
        return None
    few, many = loads[0], loads[-1]
    for method in LEADING:
        first, last = _best(few, method), _best(many, method)
        if first is None or last is None:
            continue
        change = _ratio(last) / _ratio(first) - 1
        noise = max(few.noise or 0.0, many.noise or 0.0, LEAST_DIFFERENCE)
        verb = "widens" if change > noise else "narrows" if change < -noise else "stays"
        told = {
            "widens": "widens under load",
            "narrows": "narrows under load",
            "stays": "stays under load, within the noise",
        }
        words = (
            f"The lead of {method} over plain {told[verb]}: {_ratio(first):.2f} times plain"
            f" {at_lanes(few.lanes).lower()} ({first.arm.name}), {_ratio(last):.2f} times"
            f" {at_lanes(many.lanes).lower()} ({last.arm.name})."
        )
        return Lead(method, few.lanes, _ratio(first), many.lanes, _ratio(last), verb, words)  # type: ignore[arg-type]
    return None


def at_lanes(lanes: int) -> str:
    """How a sentence about a load begins."""
    return "With one lane" if lanes == 1 else f"With {lanes} lanes"


def _best(load: Load, method: str) -> ArmFigures | None:
    found = [figures for figures in load.arms if figures.arm.method == method and figures.ratio is not None]
    return max(found, key=_ratio, default=None)


def _ratio(figures: ArmFigures) -> float:
    return figures.ratio.median if figures.ratio is not None else 0.0
