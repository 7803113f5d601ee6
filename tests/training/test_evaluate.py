"""`training.evaluate` with small counts: every figure is in the report, and the gate decides on the exit code."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Completion, FinishReason, Message, Request
from training import evaluate, held_out, linker, pages
from training.evaluate import Measured
from training.held_out import Guesses, Score
from training.pages import PageScore

FEW = ["--pages", "2", "--samples", "6", "--linked", "40"]


def test_everything_is_reported_with_the_mask_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the embedded models, on one small spec in place of each folder."""
    (tmp_path / "page.yaml").write_text("title: T\nhero: {heading: One line}\n", encoding="utf-8")
    monkeypatch.setattr(evaluate, "SAMPLES", tmp_path)
    monkeypatch.setattr(evaluate, "UNSEEN", tmp_path)
    code = evaluate.main(FEW)
    report = capsys.readouterr().out
    first_table = report.partition("\n\n")[0].splitlines()[2:]
    assert [row.split("|")[1].strip() for row in first_table] == [
        *(f"{what} of {specs} specs" for specs in ("random", "sample", "unseen") for what in ("blocks", "pages")),
        "held-out blocks exact",
        "held-out blocks accepted",
        *(f"MTP guess accepted, place {place}" for place in (1, 2, 3)),
        "draft model's guess accepted",
    ]
    assert all(row.count("%") == 2 for row in first_table)
    assert "blocks through the linker" in report and "0 faults" in report
    assert report.count("| met |") + report.count("| MISSED |") == 9
    assert code == (1 if "MISSED" in report else 0)


def measured(*, good_blocks: int = 1000, mtp: tuple[int, ...] = (100, 100, 100), draft: int = 100) -> Measured:
    scores = {f"{name} specs": PageScore(1000, good_blocks, 100, 100) for name in ("random", "sample", "unseen")}
    return Measured(scores, {"hero": Score(1, 1, 1, 50)}, Guesses(100, mtp), Guesses(100, (draft,)))


@pytest.mark.parametrize(
    ("figures", "fault", "missed"),
    [
        (measured(), "", []),
        (measured(good_blocks=990, mtp=(95, 85, 85), draft=85), "", []),
        (measured(good_blocks=989), "", ["blocks of random specs"]),
        (measured(mtp=(94, 90, 84)), "", ["MTP guess accepted, place 1", "MTP guess accepted, place 3"]),
        (measured(draft=84), "", ["draft model's guess accepted"]),
        (measured(), "E0607: a p in a ul", ["linked pages without a fault"]),
    ],
)
def test_the_gate(figures: Measured, fault: str, missed: list[str]) -> None:
    linked = linker.LinkerScore(10, 5, [fault] if fault else [])
    assert [demand.name for demand in evaluate.demands(figures, linked) if not demand.met] == missed


def test_acceptance_is_counted_by_place() -> None:
    ended = Completion("", (), FinishReason.DONE, 0.0, drafted=6, accepted=4, accepted_by_position=(2, 1, 1))
    short = Completion("", (), FinishReason.DONE, 0.0, drafted=3, accepted=1, accepted_by_position=(1, 0, 0))
    guesses = held_out.count_guesses([ended, short], 3)
    assert guesses == Guesses(3, (3, 1, 1))
    assert guesses.shares == pytest.approx((1.0, 1 / 3, 1 / 3))


def test_without_the_mask_an_engine_is_told_no_slots() -> None:
    engine = ScriptedEngine({"hero": "<p>{{1}}</p>"})
    pages.Unmasked(engine).submit(Request((Message("user", "x"),), 9, "hero", slots=frozenset({1})))
    assert engine.requests[0].slots == frozenset()


def test_random_specs_are_the_same_every_time(tmp_path: Path) -> None:
    first, second = ([spec.page for spec in pages.random_specs(3, tmp_path)] for _ in range(2))
    assert first == second and first[0] != first[1]


def test_the_linker_refuses_some_of_the_damaged_blocks_and_fails_at_none() -> None:
    score = linker.fire(200)
    assert score.faults == []
    assert 100 <= score.taken < score.sent


def test_damage_changes_a_fragment() -> None:
    chance = random.Random(1)
    texts = [linker.damaged("<section><h2>{{1}}</h2></section>", chance) for _ in range(20)]
    assert sum(text != "<section><h2>{{1}}</h2></section>" for text in texts) > 15
