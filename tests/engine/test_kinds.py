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
    pace_key,
)
from pagecompiler.engine.llama.methods import Plan
from pagecompiler.engine.llama.pace import READING, Pace, Part
from pagecompiler.engine.llama.tuning import Tuning
from pagecompiler.engine.types import Decoding, Method

from .conftest import MINI
from .test_llama_engine import KINDS, ask, run

STEPS = {(5, 0): 0.010, (5, 1): 0.016, (1, 0): 0.004, (1, 1): 0.004}  # a lead of 1.25 where all guesses are right
KEYS = ("mtp", "lookup", "plain")


def test_kinds_go_from_most_guesses_to_none():
    def names(plan: Plan) -> list[tuple[Method, bool]]:
        return [(kind.main, kind.lookup) for kind in kinds_of(plan)]

    assert names(Plan(Decoding(), Method.MTP, lookup=True)) == [
        (Method.MTP, True), (Method.PLAIN, True), (Method.PLAIN, False)
    ]  # fmt: skip
    assert names(Plan(Decoding(), Method.PLAIN, lookup=True)) == [(Method.PLAIN, True), (Method.PLAIN, False)]


def test_the_lead_is_that_of_the_best_depth_with_most_lanes():
    known = Measured(STEPS, (1.0,))
    assert [round(lead(known, lanes), 2) for lanes in (1, 4, 5, 9)] == [2.0, 2.0, 1.25, 1.25]
    assert round(lead(Measured(STEPS, (0.6,)), 5), 2) == 1.0
    assert lead(Measured({(5, 1): 0.01}, (1.0,)), 5) == lead(Measured(STEPS, (1.0,)), 0) == math.inf


def measured(factor: float) -> Measured:
    """Steps whose guesses, all right, are so many times as fast as no guesses."""
    return Measured({(5, 0): 0.010, (5, 1): 0.020 / factor}, (1.0,))


class Builds:
    """Builds with engines of `auto`, whose page takes so many seconds; `leads` are those of guesses, as they measure."""

    def __init__(self, folder: Path, *seconds: float, leads: dict[str, float], small: bool = False) -> None:
        self._tuning = Tuning(folder / "tuning.json")
        self._seconds = dict(zip(KEYS, seconds, strict=True))
        self._leads = leads
        self._small = small

    def __call__(self, count: int, tokens: int = 400, lanes: int = 5) -> list[str]:
        """The kinds of the next engines, which write so many tokens of a page of 400."""
        return [self._next(tokens, lanes) for _ in range(count)]

    def _next(self, tokens: int, lanes: int) -> str:
        key = KEYS[choose_kind(self._tuning, KEYS, lanes, small=self._small)]
        self._tuning.keep_pace(pace_key(key, lanes), Pace({lanes: Part(tokens, self._seconds[key] * tokens / 400)}))
        if key in self._leads:
            self._tuning.store(f"{key}0", measured(self._leads[key]))
        return key


LEADS = {"mtp": 1.3, "lookup": 1.1}


def test_kinds_take_turns_until_the_fastest_is_known(tmp_path):
    builds = Builds(tmp_path, 1.1, 1.0, 1.1, leads=LEADS)
    assert builds(6) == ["mtp", "lookup", "plain", "mtp", "lookup", "plain"]
    assert builds(2 * (KEPT_RUNS + 1)) == [*["lookup"] * KEPT_RUNS, "mtp", *["lookup"] * KEPT_RUNS, "plain"]


def test_a_kind_that_is_clearly_slower_is_not_made_twice(tmp_path):
    builds = Builds(tmp_path, 1.0, 1.5, 1.7, leads=LEADS)
    assert builds(5) == ["mtp", "lookup", "plain", "mtp", "mtp"]


def test_short_runs_are_parts_of_a_run(tmp_path):
    """As those of a watch in which one block is edited again and again."""
    builds = Builds(tmp_path, 1.1, 1.0, 1.3, leads=LEADS, small=True)
    assert builds(1) == ["plain"]
    assert builds(23, tokens=50) == [*["mtp", "lookup"] * 4, *["mtp", "lookup", "plain"] * 4, *["lookup"] * 3]


def test_a_number_of_lanes_is_judged_by_itself(tmp_path):
    builds = Builds(tmp_path, 1.1, 1.0, 1.3, leads=LEADS, small=True)
    assert builds(7)[-1] == "lookup"
    assert builds(1, lanes=2) == ["plain"]


@pytest.mark.parametrize(
    ("leads", "tried"),
    [({"mtp": 1.6}, {"mtp"}), ({"mtp": 1.3, "lookup": 1.3}, {"mtp", "lookup"}), (LEADS, set(KEYS))],
)
def test_where_guesses_win_by_far_no_engine_is_made_with_fewer(tmp_path, leads, tried):
    assert set(Builds(tmp_path, 3.0, 2.0, 1.0, leads=leads)(9)) == tried


def test_a_small_model_begins_without_guesses_and_tries_all_kinds(tmp_path):
    builds = Builds(tmp_path, 1.6, 1.1, 1.0, leads={"mtp": 1.6, "lookup": 1.6}, small=True)
    assert builds(7) == ["plain", "mtp", "lookup", "lookup", "plain", "plain", "plain"]
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
    assert keys[0] != keys[1] == keys[2], "plain, mtp, mtp"
    assert tuning.load(f"{keys[0]}0") is None and tuning.load(f"{keys[1]}0") is not None
    for key in keys[:2]:
        pace = tuning.pace(pace_key(key, 5))
        assert pace.runs == 1, "none of a method that was asked for"
        assert pace.parts.keys() >= {READING, 4}
        assert all(part.tokens > 0 and part.seconds > 0 for part in pace.parts.values())
