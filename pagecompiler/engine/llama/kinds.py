"""Which kind of engine `auto` is: with a model that drafts, with matches in the text alone, or with no guesses at all.

To follow a text costs time even where nothing is guessed: hidden rows, snapshots of the state, prompts that are read
twice. So kinds are compared by how fast whole engines were. They take turns until the fastest is known, and each of
the others gets another turn now and then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.hardware import SMALL_MODEL_PARAMETERS
from pagecompiler.engine.llama.depth import Acceptance, Measured
from pagecompiler.engine.llama.methods import Plan
from pagecompiler.engine.llama.pace import Pace
from pagecompiler.engine.llama.tuning import Tuning
from pagecompiler.engine.shape import read_shape
from pagecompiler.engine.types import Method

DRAFTERS_LEAD = 1.5  # more than what is saved where no model drafts
MATCHES_LEAD = 1.2  # more than what is saved where nothing guesses
JUDGED_RUNS = 2  # of a kind, before another one is preferred
CLEARLY = 1.4  # one is enough of a kind that takes so much longer, though its first one tries depths
KEPT_RUNS = 16  # engines in turn of the fastest kind; even, so that two callers in turn both get the other kinds


def kinds_of(plan: Plan) -> list[Plan]:
    """The plan of `auto` itself, and those with fewer sources of guesses, down to none."""
    alone = [replace(plan, main=Method.PLAIN)] if plan.main is not Method.PLAIN else []
    return [plan, *alone, replace(plan, main=Method.PLAIN, lookup=False)]


def is_small(path: Path, plan: Plan) -> bool:
    """Whether a model may write a token as fast as it guesses one; not where a draft model was given."""
    try:
        return plan.decoding.draft_model is None and read_shape(path).parameters < SMALL_MODEL_PARAMETERS
    except ModelLoadError:  # a format newer than this reader: llama.cpp may know it
        return False


def choose_kind(tuning: Tuning, keys: Sequence[str], lanes: int, *, small: bool = False) -> int:
    """The kind of the next engine, of those in `kinds_of`; `keys` are what their measurements are stored under.

    Counts the turn. Where guesses win by far no kind with fewer of them is tried. The first engine of a small model
    does not guess, and all its kinds are tried: what a step without guesses costs in the other kinds is mostly what
    they do beside it.
    """
    paces = [tuning.pace(pace_key(key, lanes)) for key in keys]
    if small and not any(pace.runs for pace in paces):
        return len(keys) - 1
    reach = len(keys) if small else 1
    while reach < len(keys) and _may_lose(tuning, keys[reach - 1], lanes, last=reach == len(keys) - 1):
        reach += 1
    fastest = _fastest(paces[:reach])
    untold = [kind for kind in range(reach) if not _judged(paces[kind], paces[fastest])]
    if untold:
        return min(untold, key=lambda kind: paces[kind].runs)
    others = [kind for kind in range(reach) if kind != fastest]
    if not others or tuning.turn(pace_key(keys[fastest], lanes), KEPT_RUNS):
        return fastest
    return min(others, key=lambda kind: paces[kind].runs)


def pace_key(key: str, lanes: int) -> str:
    """What the pace of engines with so many lanes is stored under."""
    return f"{key} {lanes}"


def lead(known: Measured, lanes: int) -> float:
    """The speed of the best depth in units of that without guesses, of the most lanes up to this number of which both
    are known; infinite when there is none."""
    acceptance = Acceptance(known.acceptance)
    rates: dict[int, dict[int, float]] = {}
    for (count, depth), seconds in known.steps.items():
        rates.setdefault(count, {})[depth] = acceptance.expected(depth) / seconds
    counts = [count for count, found in rates.items() if count <= lanes and found.keys() >= {0, 1}]
    if not counts:
        return math.inf
    found = rates[max(counts)]
    return max(rate for depth, rate in found.items() if depth) / found[0]


def _may_lose(tuning: Tuning, key: str, lanes: int, *, last: bool) -> bool:
    """Whether the kind below this one, the `last` or not, may be faster."""
    known = tuning.load(f"{key}0")
    return known is not None and lead(known, lanes) < (MATCHES_LEAD if last else DRAFTERS_LEAD)


def _fastest(paces: Sequence[Pace]) -> int:
    best = 0
    for kind in range(1, len(paces)):
        ratio = paces[kind].against(paces[best])
        if ratio is not None and ratio < 1:
            best = kind
    return best


def _judged(pace: Pace, fastest: Pace) -> bool:
    """Whether enough is known of a kind."""
    ratio = pace.against(fastest)
    return pace.runs >= JUDGED_RUNS or (pace.runs >= 1 and ratio is not None and ratio >= CLEARLY)
