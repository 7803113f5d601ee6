"""The number of lanes, by scripted tables of costs: no clock."""

from __future__ import annotations

import pytest

from pagecompiler.engine.llama.depth import FIRST_REST, LONGEST_REST, Depth
from pagecompiler.engine.llama.lane_count import FEWER_LANES_GAIN, LaneCount

from .test_depth import Machine

STEPS = 4000


class Batch:
    """A run in which requests always wait: lanes end now and then, and free ones are filled up to the choice."""

    def __init__(self, machine: Machine, most: int, depth: Depth) -> None:
        self.machine = machine
        self.most = most
        self.depth = depth
        self.count = LaneCount(depth, most)
        self.live = most

    def run(self, steps: int) -> list[int]:
        """How many lanes each step had; every tenth step a lane ends."""
        lanes = []
        for step in range(steps):
            self.live -= step % 10 == 9 and self.live > 1
            self.live = max(self.live, self.count.choose())
            (_,) = self.machine.run(self.depth, self.live, 1)
            self.count.observed(self.live)
            lanes.append(self.live)
        return lanes

    def rate(self, lanes: int) -> float:
        return max(self.depth.rate(lanes, depth) for depth in range(self.depth.deepest + 1))

    def best(self) -> int:
        return max(range(1, self.most + 1), key=self.rate)


class Steep(Machine):
    """Rows up to eight are nearly free, the ninth costs as much as all of them."""

    def seconds(self, lanes: int, depth: int) -> float:
        rows = lanes * (1 + depth)
        return (10 + 0.1 * rows) * (1 if rows <= 8 else 2 if rows <= 16 else 4) + depth * self.draft


class Flat(Machine):
    """A GPU far from its limits: rows cost nothing."""

    def seconds(self, lanes: int, depth: int) -> float:
        return 10 + depth * self.draft


def test_lanes_that_cost_more_than_they_bring_stay_empty():
    batch = Batch(Steep(acceptance=(0.3, 0.1)), 10, Depth(deepest=1))
    lanes = batch.run(STEPS)
    assert batch.rate(8) > FEWER_LANES_GAIN * batch.rate(10)
    assert lanes[-500:].count(8) > 400


@pytest.mark.parametrize("acceptance", [(0.9, 0.8), (0.3, 0.1)])
def test_where_rows_cost_nothing_all_lanes_are_filled(acceptance):
    lanes = Batch(Flat(acceptance=acceptance), 10, Depth(deepest=2)).run(STEPS)
    assert lanes.count(10) > 0.85 * STEPS, "the trials are few"
    assert min(lanes) == 5, "and none has fewer than half of the lanes"


@pytest.mark.parametrize("acceptance", [(0.98, 0.97, 0.95, 0.94), (0.9, 0.6, 0.4, 0.2), (0.2, 0.1, 0.1, 0.1)])
@pytest.mark.parametrize("most", [3, 5, 6])
def test_it_ends_near_the_most_tokens_a_second(most, acceptance):
    depth = Depth(deepest=3)
    batch = Batch(Machine(acceptance=acceptance), most, depth)
    chosen = max(set(end := batch.run(STEPS)[-500:]), key=end.count)
    reachable = [lanes for lanes in range((most + 1) // 2, most + 1) if depth.judged(lanes)]
    assert batch.rate(chosen) > 0.95 * max(map(batch.rate, reachable))


def test_nothing_is_tried_before_all_lanes_were_measured():
    depth = Depth(deepest=2)
    batch = Batch(Flat(), 6, depth)
    assert set(batch.run(FIRST_REST)) == {6}
    assert 5 in batch.run(20)


def test_what_was_stored_is_where_it_starts():
    machine = Steep(acceptance=(0.3, 0.1))
    first = Batch(machine, 10, Depth(deepest=1))
    first.run(STEPS)
    known = Depth(deepest=1, known=first.depth.measured())
    assert LaneCount(known, 10).choose() == 8


def test_trials_that_lose_become_seldom():
    lanes = Batch(Flat(), 2, Depth(deepest=0)).run(8 * LONGEST_REST)
    assert lanes[-LONGEST_REST:].count(1) <= 15
    assert lanes.count(1) > 0


def test_one_lane_is_never_given_up():
    assert set(Batch(Flat(), 1, Depth(deepest=1)).run(500)) == {1}
