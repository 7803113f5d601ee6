"""Which kind of engine `auto` is: a table of paces instead of a clock."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pagecompiler.engine.llama.depth import Measured
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.llama.kinds import (
    KEPT_RUNS,
    choose_kind,
    is_small,
    kinds_of,
    lead,
)
from pagecompiler.engine.llama.methods import Plan
from pagecompiler.engine.llama.pace import READING, Pace, Part
from pagecompiler.engine.llama.tuning import Tuning
from pagecompiler.engine.types import Decoding, Method

from .conftest import MINI
from .test_llama_engine import KINDS, ask, run

STEPS = {(5, 0): 0.010, (5, 1): 0.016, (1, 0): 0.004, (1, 1): 0.004}  # a lead of 1.25 where all guesses are right
KEYS = ("mtp", "lookup", "none")


def test_kinds_go_from_most_guesses_to_none():
    def names(plan: Plan) -> list[tuple[Method, bool]]:
        return [(kind.main, kind.lookup) for kind in kinds_of(plan)]

    assert names(Plan(Decoding(), Method.MTP, lookup=True)) == [
        (Method.MTP, True), (Method.PLAIN, True), (Method.PLAIN, False)
    ]  # fmt: skip
    assert names(Plan(Decoding(), Method.PLAIN, lookup=True)) == [(Method.PLAIN, True), (Method.PLAIN, False)]
    assert names(Plan(Decoding(), Method.PLAIN, lookup=False)) == [(Method.PLAIN, False)]


def test_the_lead_is_that_of_the_best_depth_with_most_lanes():
    known = Measured(STEPS, (1.0,))
    assert [round(lead(known, lanes), 2) for lanes in (1, 4, 5, 9)] == [2.0, 2.0, 1.25, 1.25]
    assert round(lead(Measured(STEPS, (0.6,)), 5), 2) == 1.0
    assert lead(Measured({(5, 1): 0.01}, (1.0,)), 5) == lead(Measured(STEPS, (1.0,)), 0) == math.inf


class Builds:
    """Builds with engines of `auto`, whose page takes so many seconds; guesses lead by what `acceptance` makes of it."""

    def __init__(self, folder: Path, *seconds: float, acceptance: dict[str, float], small: bool = False) -> None:
        self._tuning = Tuning(folder / "tuning.json")
        self._seconds = dict(zip(KEYS, seconds, strict=True))
        self._acceptance = acceptance
        self._small = small

    def __call__(self, count: int) -> list[str]:
        """The kinds of the next engines."""
        return [self._next() for _ in range(count)]

    def _next(self) -> str:
        key = KEYS[choose_kind(self._tuning, KEYS, 5, small=self._small)]
        self._tuning.keep_pace(key, Pace({5: Part(400, self._seconds[key])}))
        if key in self._acceptance:
            self._tuning.store(f"{key}0", Measured(STEPS, (self._acceptance[key],)))
        return key


LEADS = {"mtp": 1.0, "lookup": 0.6}


def test_kinds_take_turns_until_the_fastest_is_known(tmp_path):
    builds = Builds(tmp_path, 1.1, 1.0, 1.1, acceptance=LEADS)
    assert builds(6) == ["mtp", "lookup", "none", "mtp", "lookup", "none"]
    assert builds(2 * (KEPT_RUNS + 1)) == [*["lookup"] * KEPT_RUNS, "mtp", *["lookup"] * KEPT_RUNS, "none"]


def test_a_kind_that_is_clearly_slower_is_not_made_twice(tmp_path):
    builds = Builds(tmp_path, 1.0, 1.3, 1.5, acceptance=LEADS)
    assert builds(5) == ["mtp", "lookup", "none", "mtp", "mtp"]


@pytest.mark.parametrize(
    ("acceptance", "tried"),
    [({"mtp": 1.5, "lookup": 0.6}, {"mtp"}), ({"mtp": 1.0, "lookup": 1.0}, {"mtp", "lookup"}), (LEADS, set(KEYS))],
)
def test_where_guesses_win_by_far_no_engine_is_made_with_fewer(tmp_path, acceptance, tried):
    assert set(Builds(tmp_path, 3.0, 2.0, 1.0, acceptance=acceptance)(9)) == tried


def test_a_small_model_is_small(tmp_path):
    builds = Builds(tmp_path, 1.6, 1.1, 1.0, acceptance={"mtp": 1.5, "lookup": 1.5}, small=True)
    assert builds(7) == ["none", "mtp", "lookup", "lookup", "none", "none", "none"]
    assert is_small(MINI, Plan(Decoding(), Method.MTP, lookup=True))
    assert not is_small(MINI, Plan(Decoding(draft_model=MINI), Method.DRAFT, lookup=True))
    (tmp_path / "newer.gguf").write_bytes(b"GGUF\x63\0\0\0")
    assert not is_small(tmp_path / "newer.gguf", Plan(Decoding(), Method.PLAIN, lookup=True))


def test_engines_of_auto_keep_their_paces(tmp_path):
    tuning = Tuning(tmp_path / "tuning.json")
    keys = []
    for method in (Method.AUTO, Method.AUTO, Method.MTP):
        with LlamaEngine(MINI, decoding=Decoding(method), tuning=tmp_path / "tuning.json", threads=1) as engine:
            run(engine, [ask(KINDS[2], max_tokens=150) for _ in range(4)])
            keys.append(engine.tuning_key)
    assert keys[0] != keys[1] == keys[2], "none, mtp, mtp"
    assert tuning.load(f"{keys[0]}0") is None and tuning.load(f"{keys[1]}0") is not None
    for key in keys[:2]:
        pace = tuning.pace(key)
        assert pace.runs == 1, "none of a method that was asked for"
        assert pace.parts.keys() >= {READING, 4}
        assert all(part.tokens > 0 and part.seconds > 0 for part in pace.parts.values())
