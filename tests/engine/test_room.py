"""How much room a lane gets."""

from __future__ import annotations

import pytest

from pagecompiler.engine.room import Demand, Room, estimated_room, shared_room
from pagecompiler.engine.types import Message


def demand(text: str, budget: int) -> Demand:
    return Demand((Message("system", "rules"), Message("user", text)), budget)


def test_the_largest_demand_counts_by_its_bytes_and_its_budget() -> None:
    assert estimated_room([demand("abcd", 10), demand("é", 100)]).lane == 4 + 100
    assert estimated_room([]) == Room(0, 0)


def test_what_prompts_share_is_kept_for_as_many_beginnings_as_there_are_sequences() -> None:
    others = [Demand((Message("system", "x" * size), Message("user", "u")), 1) for size in (2, 8, 8, 20)]
    assert estimated_room(others).kept == 4 + 10


@pytest.mark.parametrize(
    ("needed", "lanes", "tokens"),
    [
        (1800, 5, 1800),  # what is to be written
        (300, 5, 1229),  # the lanes together still hold the largest block
        (300, 1, 6144),
        (9000, 5, 6144),
        (0, 5, 6144),  # nothing is known of what is to be written
    ],
)
def test_lanes_share_the_room_for_the_largest_block(needed: int, lanes: int, tokens: int) -> None:
    assert shared_room(Room(needed, 50), lanes, 6144).lane == tokens
    assert lanes * tokens >= 6144
