"""A request ends when its block closes, or when nothing happens any more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.engine.types import Verdict
from pagecompiler.monitor import STUCK_TOKENS, BlockMonitor, BriefMonitor, StyleMonitor


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


FRAGMENT = (
    '<section class="hero">\n<h1>{{1}}</h1>\n<img src="{{2}}">\n<a href="{{4}}" class="a>b">{{3}}</a>\n</section>'
)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_done_at_the_end_of_the_outer_element(size: int) -> None:
    monitor = BlockMonitor()
    *before, last = [monitor.feed(piece) for piece in _pieces(FRAGMENT, size)]
    assert last is Verdict.DONE
    assert set(before) <= {Verdict.GO}


@pytest.mark.parametrize(
    "before",
    [
        "<think>A <p> or a <ul>? No.</p></think>\n",
        "<thinking>\nHm.\n</thinking>",
        "A list, I think.\n</think>\n",
        "<!DOCTYPE html>\n<html><head><title>x</title></head><body>\n",
        "<head><title>x</title></head>",
    ],
)
@pytest.mark.parametrize("size", [1, 7])
def test_thoughts_and_documents_are_passed_over(before: str, size: int) -> None:
    """The block behind them would never be written if the request ended at their last tag."""
    monitor = BlockMonitor()
    *verdicts, last = [monitor.feed(piece) for piece in _pieces(before + FRAGMENT, size)]
    assert last is Verdict.DONE
    assert set(verdicts) <= {Verdict.GO}


def test_a_document_without_a_block_ends_with_it() -> None:
    monitor = BlockMonitor()
    assert monitor.feed("<html><body>Sorry.") is Verdict.GO
    assert monitor.feed("</body>") is Verdict.DONE


def test_a_long_paragraph_is_no_standstill_in_an_answer_to_a_brief() -> None:
    words = [f" word{number}" for number in range(2 * STUCK_TOKENS)]
    monitor, block = BriefMonitor(), BlockMonitor()
    assert {monitor.feed(word) for word in ["<p>", *words]} == {Verdict.GO}
    assert Verdict.STUCK in {block.feed(word) for word in ["<p>", *words]}


def test_an_answer_to_a_brief_is_stuck_when_it_repeats_itself() -> None:
    monitor = BriefMonitor()
    verdicts = [monitor.feed(word) for word in ["<p>", *"The wall keeps it hot.".split() * STUCK_TOKENS]]
    assert Verdict.STUCK in verdicts[: 2 * STUCK_TOKENS]


def test_stuck_without_progress() -> None:
    monitor = BlockMonitor()
    verdicts = [monitor.feed("<p>") for _ in range(STUCK_TOKENS)]
    assert verdicts[-1] is Verdict.STUCK and Verdict.STUCK not in verdicts[:-1]


def test_slots_and_closed_elements_are_progress() -> None:
    monitor = BlockMonitor()
    assert monitor.feed("<div>") is Verdict.GO
    for number in range(STUCK_TOKENS * 2):
        assert monitor.feed("x") is Verdict.GO
        if number % 50 == 0:
            assert monitor.feed("<p>{{1}}</p>") is Verdict.GO


def test_a_style_is_stuck_when_it_repeats_itself() -> None:
    monitor = StyleMonitor()
    assert monitor.feed(":root { --space: 1.1;") is Verdict.GO
    verdicts = [monitor.feed("--space: 1.1;") for _ in range(STUCK_TOKENS)]
    assert verdicts[-1] is Verdict.STUCK
    assert monitor.feed("--scale: 1.2;") is Verdict.GO


@given(st.lists(st.text("<>/pdiv{}1 \"'=a", max_size=9), max_size=60))
def test_any_text_gets_a_verdict(pieces: list[str]) -> None:
    monitor, style = BriefMonitor(), StyleMonitor()
    for piece in pieces:
        assert monitor.feed(piece) in Verdict
        assert style.feed(piece) in Verdict
