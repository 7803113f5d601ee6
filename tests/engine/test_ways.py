"""The choice between ways to guess, by scripted tables of costs: no clock."""

from __future__ import annotations

import pytest

from pagecompiler.engine.llama.depth import LONGEST_REST, PATIENCE, Depth
from pagecompiler.engine.llama.ways import Ways

from .test_depth import Machine

MODEL, MATCHES = 0, 1


class Two:
    """A machine on which a model drafts, or matches in the text do, at no cost but that of their rows."""

    def __init__(self, *, draft: float, model=(0.95, 0.9, 0.8), matches=(0.7, 0.6, 0.5)) -> None:
        self.machines = [Machine(draft=draft, acceptance=model), Machine(draft=0.0, acceptance=matches)]
        self.ways = Ways([Depth(deepest=3), Depth(deepest=3, least=1)])

    def run(self, lanes: int, steps: int) -> list[tuple[int, int]]:
        chosen = []
        for _ in range(steps):
            way, depth = self.ways.choose(lanes)
            self.machines[way].accept(self.ways.depths[way], lanes, depth)
            self.ways.observed(lanes, way, depth, self.machines[way].seconds(lanes, depth))
            chosen.append((way, depth))
        return chosen


@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_a_model_that_drafts_at_little_cost_is_used(lanes):
    chosen = Two(draft=0.5).run(lanes, 600)
    assert [way for way, _ in chosen[-100:]].count(MODEL) > 90


@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_matches_alone_are_used_where_drafts_cost_more_than_they_bring(lanes):
    chosen = Two(draft=9.0).run(lanes, 600)
    assert [way for way, _ in chosen[-100:]].count(MATCHES) > 90


def test_without_any_gain_it_is_plain_decoding():
    two = Two(draft=9.0, model=(0.1, 0.1, 0.1), matches=(0.02, 0.0, 0.0))
    assert two.run(5, 600)[-100:].count((MODEL, 0)) > 90


def test_the_way_that_loses_is_tried_again_and_ever_more_seldom():
    tries = [step for step, (way, _) in enumerate(Two(draft=9.0).run(1, 5 * LONGEST_REST)) if way == MODEL]
    late = [step for step in tries if step > LONGEST_REST]
    assert 0 < len(late) < 30


def test_it_changes_when_the_text_does():
    two = Two(draft=3.0)
    assert two.run(1, 400)[-1][0] == MODEL
    two.machines[MATCHES].acceptance = (0.99, 0.99, 0.99)
    assert [way for way, _ in two.run(1, 3000)[-100:]].count(MATCHES) > 90


@pytest.mark.parametrize("draft", [0.5, 9.0])
def test_what_slows_everything_down_changes_nothing(draft):
    two = Two(draft=draft)
    best = two.run(5, 200)[-1][0]
    for slower in (4.0, 1.0):
        for machine in two.machines:
            machine.slower = slower
        assert [way for way, _ in two.run(5, 100)].count(best) > 75


def test_one_way_is_no_choice():
    ways = Ways([Depth(deepest=2, fixed=2)])
    for _ in range(1000):
        assert ways.choose(3) == (0, 2)
        ways.observed(3, 0, 2, 1.0)


def test_what_was_stored_is_where_it_starts():
    two = Two(draft=9.0)
    two.run(5, 600)
    depths = [Depth(deepest=3, least=way, known=known) for way, known in enumerate(two.ways.measured())]
    assert Ways(depths).choose(5)[0] == MATCHES


def test_a_number_of_lanes_that_a_run_passes_through_takes_what_its_neighbour_does():
    two = Two(draft=9.0)
    two.run(5, 300)
    choice = (MATCHES, two.ways.depths[MATCHES].best(5))
    assert two.run(4, PATIENCE) == [choice] * PATIENCE
    assert {way for way, _ in two.run(4, 30)} == {MODEL, MATCHES}
