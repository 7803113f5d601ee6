"""The choice of depth, by scripted tables of costs and acceptance: no clock."""

from __future__ import annotations

import itertools
import random

import pytest

from pagecompiler.engine.llama.depth import (
    KEPT_SAMPLES,
    LONGEST_REST,
    PATIENCE,
    SECOND_LOOK,
    TRIED_STEPS,
    Acceptance,
    Depth,
    Measured,
)

STEPS_BY_ROWS = {1: 10.0, 4: 16.0, 5: 18.0, 8: 19.0, 10: 24.0, 15: 33.0, 20: 41.0, 25: 50.0}


class Machine:
    """A scripted machine: what a pass over so many rows costs, what a draft pass costs, what is approved."""

    def __init__(self, *, draft=2.0, acceptance=(0.95, 0.9, 0.8, 0.7), seed=1) -> None:
        self.draft = draft
        self.slower = 1.0  # other work on the machine
        self.acceptance = acceptance
        self._random = random.Random(seed)

    def seconds(self, lanes: int, depth: int) -> float:
        rows = lanes * (1 + depth)
        cost = next(cost for bound, cost in STEPS_BY_ROWS.items() if rows <= bound)
        return self.slower * (cost + depth * self.draft)

    def best(self, lanes: int, depths=range(5)) -> int:
        def rate(depth):
            runs = itertools.accumulate(self.acceptance[:depth], lambda run, share: run * share, initial=1.0)
            return sum(runs) / self.seconds(lanes, depth)

        return max(depths, key=rate)

    def accept(self, depth: Depth, lanes: int, guessed: int) -> None:
        """Tell of the guesses of one step."""
        for _ in range(lanes if guessed else 0):
            accepted = 0
            while accepted < guessed and self._random.random() < self.acceptance[accepted]:
                accepted += 1
            depth.acceptance.add(guessed, accepted)

    def run(self, depth: Depth, lanes: int, steps: int) -> list[int]:
        """The depths that were chosen."""
        chosen = []
        for _ in range(steps):
            guessed = depth.choose(lanes)
            self.accept(depth, lanes, guessed)
            depth.observed(lanes, guessed, self.seconds(lanes, guessed))
            chosen.append(guessed)
        return chosen


@pytest.mark.parametrize("lanes", [1, 2, 3, 5])
@pytest.mark.parametrize("draft", [0.1, 2.0, 6.0, 30.0])
@pytest.mark.parametrize("acceptance", [(0.98, 0.97, 0.95, 0.94), (0.9, 0.6, 0.4, 0.2), (0.2, 0.1, 0.1, 0.1)])
def test_it_finds_the_depth_of_most_tokens_a_second(lanes, draft, acceptance):
    machine = Machine(draft=draft, acceptance=acceptance)
    chosen = machine.run(Depth(deepest=4), lanes, 600)
    best = machine.best(lanes)
    assert chosen[-120:].count(best) > 100 or _nearly_as_good(machine, lanes, chosen[-1], best)


def _nearly_as_good(machine, lanes, depth, best) -> bool:
    known = Depth(deepest=4, known=Measured({}, machine.acceptance))
    rates = [known.acceptance.expected(d) / machine.seconds(lanes, d) for d in (depth, best)]
    return rates[0] > 0.9 * rates[1]


def test_guesses_get_deeper_as_lanes_finish():
    machine = Machine(draft=1.0, acceptance=(0.8, 0.7, 0.6, 0.5))
    depth = Depth(deepest=4)
    chosen = {lanes: max(set(run := machine.run(depth, lanes, 200)[-50:]), key=run.count) for lanes in (5, 3, 2, 1)}
    assert chosen[5] < chosen[1]


def test_a_method_that_was_named_always_drafts():
    machine = Machine(draft=99.0, acceptance=(0.1,) * 4)
    assert set(machine.run(Depth(deepest=4, least=1), 5, 300)) <= {1, 2, 3, 4}
    assert machine.run(Depth(deepest=4), 5, 300)[-100:].count(0) > 90
    assert set(machine.run(Depth(deepest=4, least=1, fixed=3), 5, 20)) == {3}


def test_what_is_slower_than_plain_is_tried_again_and_ever_more_seldom():
    machine = Machine(draft=99.0)
    chosen = machine.run(Depth(deepest=2), 5, 40_000)
    tries = [step for step, depth in enumerate(chosen) if depth and step > 20]
    rests = [b - a for a, b in itertools.pairwise(tries) if b - a > 1]
    assert rests == sorted(rests)
    assert rests[-1] >= LONGEST_REST
    assert len(tries) < 100


def test_it_comes_back_when_drafting_has_become_faster():
    machine = Machine(draft=99.0)
    depth = Depth(deepest=2)
    machine.run(depth, 1, 300)
    assert depth.choose(1) == 0
    machine.draft = 0.5
    assert machine.run(depth, 1, 3000)[-1] > 0


def test_what_slows_everything_down_changes_nothing():
    machine = Machine()
    depth = Depth(deepest=4)
    best = machine.run(depth, 5, 100)[-1]
    machine.slower = 4.0
    assert machine.run(depth, 5, 100).count(best) > 75
    machine.slower = 1.0
    assert machine.run(depth, 5, 100).count(best) > 75


def test_a_winner_of_a_lucky_moment_is_soon_found_out():
    machine = Machine()
    depth = Depth(deepest=4)
    best = machine.run(depth, 5, 100)[-1]
    machine.slower = 4.0
    machine.run(depth, 5, KEPT_SAMPLES)
    machine.slower = 0.2  # while another one is on trial
    machine.run(depth, 5, TRIED_STEPS)
    machine.slower = 1.0
    assert machine.run(depth, 5, 2 * SECOND_LOOK)[-1] == best


def test_plain_wins_where_what_was_stored_is_of_slower_days():
    """A pass once cost much whatever its rows; now it costs its rows, and depth 1 is no way to plain."""
    once = Measured({(5, depth): 60.0 + depth for depth in range(5)}, (0.95, 0.9, 0.8, 0.7))
    depth = Depth(deepest=4, known=once)
    assert depth.choose(5) > 1
    for _ in range(3000):
        guessed = depth.choose(5)
        depth.acceptance.add(guessed, guessed)
        depth.observed(5, guessed, 5.0 * (1 + guessed) + (8.0 if guessed else 0.0))
    assert depth.best(5) == 0


def test_what_was_stored_is_where_it_starts():
    machine = Machine()
    first = Depth(deepest=4)
    machine.run(first, 5, 300)
    again = Depth(deepest=4, known=first.measured())
    assert machine.run(again, 5, 10) == [first.best(5)] * 10


def test_acceptance_is_counted_among_those_whose_predecessors_were_approved():
    acceptance = Acceptance()
    assert acceptance.expected(0) == 1.0
    for accepted in (0, 1, 2, 2):
        acceptance.add(2, accepted)
    assert acceptance.share(0) == pytest.approx(3 / 4, abs=0.02)
    assert acceptance.share(1) == pytest.approx(2 / 3, abs=0.02)
    assert acceptance.expected(2) == pytest.approx(1 + 3 / 4 + 2 / 4, abs=0.05)


def test_a_number_of_lanes_that_a_run_passes_through_takes_the_depth_of_its_neighbour():
    machine = Machine(draft=1.0, acceptance=(0.95, 0.9, 0.8, 0.7))
    depth = Depth(deepest=4)
    machine.run(depth, 5, 100)
    assert machine.run(depth, 4, PATIENCE) == [depth.best(5)] * PATIENCE
    assert {0, 1, 2, 3, 4} - {depth.best(5)} <= set(machine.run(depth, 4, 12)), "then it is worth trials of its own"
    assert machine.run(depth, 1, PATIENCE) == [depth.best(4)] * PATIENCE, "the nearest one that is known"
