"""Measurements that are kept for the next run."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from pagecompiler.engine.llama.depth import FIRST_REST, TRIED_STEPS, Depth, Measured
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.llama.methods import Plan, follow
from pagecompiler.engine.llama.pace import READING, Pace, Part
from pagecompiler.engine.llama.tuning import BenchVerdict, Tuning, tuning_key, verdict_key
from pagecompiler.engine.llama.ways import Ways
from pagecompiler.engine.types import Decoding, Method

from .conftest import MINI

MEASURED = Measured({(5, 2): 0.02, (1, 0): 0.004}, (0.9, 0.5))


def test_what_is_stored_is_found_again(tmp_path):
    path = tmp_path / "deep" / "tuning.json"
    assert Tuning(path).load("a") is None
    Tuning(path).store("a", MEASURED)
    Tuning(path).store("b", Measured({}, ()))
    assert Tuning(path).load("a") == MEASURED
    assert Tuning(path).load("c") is None
    assert [entry.name for entry in path.parent.iterdir()] == ["tuning.json"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        '{"version": 9, "entries": {"a": {}}}',
        '{"version": 1, "entries": {"a": {"steps": 3}}}',
        "\0",
    ],
)
def test_a_damaged_file_is_as_good_as_none(tmp_path, content):
    path = tmp_path / "tuning.json"
    path.write_text(content)
    assert Tuning(path).load("a") is None
    assert Tuning(path).pace("a") == Pace()
    Tuning(path).store("a", MEASURED)
    assert Tuning(path).load("a") == MEASURED


@pytest.mark.parametrize("part", [[5, 400, 0], [5, 0, 1], [5, 400, math.inf], [5, math.nan, 1], [5, -1, -1]])
def test_a_pace_that_cannot_be_is_not_compared(tmp_path, part):
    path = tmp_path / "tuning.json"
    entry = {"runs": math.inf, "parts": [part, [1, 400, 1.0]]}
    path.write_text(
        json.dumps({"version": 1, "paces": {"a": entry, "b": {"runs": "x", "parts": 3}}, "turns": {"a": {}}})
    )
    assert Tuning(path).pace("a").parts == {1: Part(400, 1.0)}
    assert Tuning(path).pace("b") == Pace()
    assert not Tuning(path).turn("a", 3) and Tuning(path).turn("a", 3)


def test_it_is_the_turn_of_a_key_so_many_times_and_then_once_not(tmp_path):
    tuning = Tuning(tmp_path / "tuning.json")
    tuning.store("a", MEASURED)
    assert [tuning.turn("a", 3) for _ in range(9)] == [True, True, True, False, True, True, True, False, True]
    assert tuning.turn("b", 3)
    assert tuning.load("a") == MEASURED


def test_paces_are_added_up_and_recent_runs_count_more(tmp_path):
    tuning = Tuning(tmp_path / "tuning.json")
    assert tuning.pace("a") == Pace()
    tuning.keep_pace("a", Pace({5: Part(400, 1.0)}))
    tuning.keep_pace("a", Pace({5: Part(300, 2.0), 1: Part(100, 3.0)}))
    tuning.keep_pace("a", Pace({READING: Part(900, 1.0)}))  # nothing was written
    tuning.keep_pace("b", Pace({1: Part(400, 1.0)}))
    assert tuning.pace("a") == Pace({5: Part(500, 2.5), 1: Part(100, 3.0)}, runs=2)
    tuning.keep_pace("b", Pace({1: Part(50, 1.0)}))
    assert tuning.pace("b") == Pace({1: Part(400 * 0.5**0.25 + 50, 0.5**0.25 + 1.0)}, runs=1.25)


def test_paces_are_compared_by_what_both_have_done():
    slow = Pace({5: Part(100, 2.0), READING: Part(100, 0.2), 2: Part(10, 99.0), 1: Part(4, 9.0)})
    fast = Pace({5: Part(300, 3.0), READING: Part(100, 0.2), 1: Part(90, 99.0)})
    assert fast.against(slow) == pytest.approx((400 * 0.01 + 200 * 0.002) / (400 * 0.02 + 200 * 0.002))
    assert slow.against(fast) == pytest.approx(1 / fast.against(slow))
    assert (
        Pace({1: Part(100, 1.0), READING: Part(9, 1.0)}).against(Pace({5: Part(100, 1.0), READING: Part(9, 1)})) is None
    )
    assert Pace().against(slow) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").touch()
    Tuning(tmp_path / "file" / "tuning.json").store("a", MEASURED)


def test_the_key_names_machine_file_build_and_method(tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"1")
    keys = {tuning_key(model, build=b, threads=t, method=m) for b in "12" for t in (1, 2) for m in ("mtp", "draft")}
    assert len(keys) == 8
    os.utime(model, ns=(1, 1))
    assert tuning_key(model, build="1", threads=1, method="mtp") not in keys


WON = BenchVerdict(5, Method.MTP, 2, 1.35, "2026-11-29")


def test_verdicts_are_kept_by_the_number_of_lanes(tmp_path: Path) -> None:
    tuning = Tuning(tmp_path / "tuning.json")
    tuning.store("steps", MEASURED)
    alone = BenchVerdict(1, Method.PLAIN, 0, 1.0, "2026-11-29")
    assert tuning.keep_verdict("a", WON) and tuning.keep_verdict("a", alone)
    assert tuning.verdicts("a") == {5: WON, 1: alone}
    tuning.store("steps", MEASURED)
    assert tuning.verdicts("a") == {5: WON, 1: alone}
    assert tuning.load("steps") == MEASURED


def test_a_forgotten_verdict_is_gone_and_others_stay(tmp_path: Path) -> None:
    tuning = Tuning(tmp_path / "tuning.json")
    tuning.keep_verdict("a", WON)
    tuning.keep_verdict("b", WON)
    assert tuning.forget("a") == 1 and tuning.forget("a") == 0
    assert (tuning.verdicts("a"), tuning.verdicts("b")) == ({}, {5: WON})


def test_verdicts_hold_for_one_model_with_or_without_a_draft_model(tmp_path: Path) -> None:
    model, other = tmp_path / "m.gguf", tmp_path / "o.gguf"
    for path in (model, other):
        path.write_bytes(b"GGUF")
    keys = {verdict_key(model), verdict_key(model, other), verdict_key(other), verdict_key(other, model)}
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("main", "lookup", "expected"),
    [
        (Method.MTP, True, {1: (1, 3), 5: (0, 2)}),
        (Method.PLAIN, True, {1: (0, 3)}),
        (Method.DRAFT, False, {}),
    ],
)
def test_auto_begins_with_the_verdicts_that_it_can_follow(main: Method, lookup: bool, expected: dict) -> None:
    verdicts = {1: BenchVerdict(1, Method.LOOKUP, 3, 1.1, ""), 5: WON}
    plan = follow(Plan(Decoding(), main, lookup), verdicts, 5)
    assert (plan.main, plan.opening) == (main, expected)
    assert follow(Plan(Decoding(), main, lookup), verdicts, 3).opening == {}, "nothing is known of three"


@pytest.mark.parametrize("method", [Method.PLAIN, Method.LOOKUP])
def test_a_model_that_drafts_is_left_out_where_it_lost(method: Method) -> None:
    verdicts = {5: BenchVerdict(5, method, 0, 1.0, ""), 1: BenchVerdict(1, Method.MTP, 2, 1.2, "")}
    plan = follow(Plan(Decoding(), Method.MTP, lookup=True), verdicts, 5)
    assert (plan.main, plan.ways, plan.opening) == (Method.PLAIN, 1, {5: (0, 0)})
    assert plan.guesses is (method is Method.LOOKUP), "where nothing won nothing guesses"
    alone = follow(Plan(Decoding(), Method.MTP, lookup=True), verdicts, 1)
    assert alone.main is Method.MTP and alone.opening[1] == (0, 2)


def test_auto_of_the_embedded_model_follows_its_bench(tmp_path: Path) -> None:
    tuning = Tuning(tmp_path / "tuning.json")
    tuning.keep_verdict(verdict_key(MINI), BenchVerdict(3, Method.LOOKUP, 2, 1.1, ""))
    tuning.keep_verdict(verdict_key(MINI), BenchVerdict(1, Method.MTP, 2, 1.2, ""))
    keys = {}
    for lanes in (1, 3):
        with LlamaEngine(MINI, lanes=lanes, decoding=Decoding(), tuning=tmp_path / "tuning.json", threads=1) as engine:
            keys[lanes] = engine.tuning_key
    with LlamaEngine(MINI, lanes=1, decoding=Decoding(Method.LOOKUP, 2), threads=1) as engine:
        assert engine.tuning_key == keys[3] != keys[1], "without the block, as lookup alone"


def test_what_a_bench_found_is_kept_to_before_anything_else_is_tried() -> None:
    known = Measured({(5, depth): 0.01 for depth in range(4)}, (0.9, 0.8, 0.7))
    ways = Ways([Depth(deepest=3, known=known)], opening={5: (0, 2)})
    chosen = []
    for _ in range(FIRST_REST + 1):
        chosen.append(ways.choose(5))
        ways.observed(5, *chosen[-1], 0.01)
    assert set(chosen[:-1]) == {(0, 2)}
    for _ in range(TRIED_STEPS):  # one more depth is on trial
        ways.observed(5, *ways.choose(5), 0.01)
    assert ways.choose(5) == (0, 3), "then the best that is known"
