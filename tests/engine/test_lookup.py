"""Guesses from text in view: the prompt, what the page has so far, the other lanes."""

from __future__ import annotations

from pagecompiler.engine.llama.drafting.lookup import KEPT_STREAMS, LONGEST_MATCH, SHORTEST_MATCH, Lookup
from pagecompiler.engine.llama.lane import Lane

from .test_scheduler import make_job


def make_lane(sequence: int, prompt, emitted=()) -> Lane:
    lane = Lane(make_job(sequence, rest=tuple(prompt), max_tokens=999), sequence, None)
    lane.emitted = list(emitted)
    return lane


def guesses(*lanes: Lane, depth: int = 4) -> list[list[int]]:
    lookup = Lookup()
    for lane in lanes:
        lookup.admitted(lane)
    return [list(guess) for guess in lookup.propose(lanes, depth)]


def test_what_followed_the_last_tokens_before_is_the_guess():
    assert guesses(make_lane(0, [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3])) == [[4, 5, 6, 7]]
    assert guesses(make_lane(0, [9], [1, 2, 3, 4, 5, 1, 2, 3]), depth=2) == [[4, 5]]


def test_no_guess_without_a_match():
    assert SHORTEST_MATCH == 3
    assert guesses(make_lane(0, [1, 2, 3, 4], [9, 2, 3])) == [[]]
    assert guesses(make_lane(0, [1], [2])) == [[]]


def test_the_longest_match_wins():
    long, short = [0, 1, 2, 3, 40, 41], [9, 1, 2, 3, 50, 51]
    assert guesses(make_lane(0, [*long, *short], [0, 1, 2, 3]), depth=2) == [[40, 41]]
    assert guesses(make_lane(0, [*short, *long], [0, 1, 2, 3]), depth=2) == [[40, 41]]


def test_of_equally_long_matches_the_last_one_wins():
    assert guesses(make_lane(0, [8, 1, 2, 3, 40, 7, 1, 2, 3, 50], [9, 1, 2, 3]), depth=1) == [[50]]


def test_the_other_lanes_are_in_view():
    writer, reader = make_lane(0, [70], [1, 2, 3, 4, 5, 6]), make_lane(1, [71], [2, 3, 4])
    assert guesses(writer, reader)[1] == [5, 6]


def test_what_a_finished_lane_wrote_stays_in_view():
    lookup = Lookup()
    writer, reader = make_lane(0, [70], [1, 2, 3, 4, 5, 6]), make_lane(1, [71])
    lookup.admitted(writer)
    lookup.propose([writer], 4)
    lookup.finished(0)
    lookup.admitted(reader)
    reader.emitted = [2, 3, 4]
    assert [list(guess) for guess in lookup.propose([reader], 4)] == [[5, 6]]


def test_old_text_is_forgotten():
    lookup = Lookup()
    for number in range(KEPT_STREAMS + 1):
        lane = make_lane(number, [1, 2, 3, 4] if number == 0 else [100 + number] * 3)
        lookup.admitted(lane)
        lookup.propose([lane], 1)
        lookup.finished(number)
    reader = make_lane(0, [5], [1, 2, 3])
    lookup.admitted(reader)
    assert list(lookup.propose([reader], 4)[0]) == []


def test_a_match_is_not_followed_without_end():
    text = list(range(100, 100 + 2 * LONGEST_MATCH))
    assert guesses(make_lane(0, [*text, 7], text), depth=1) == [[7]]
