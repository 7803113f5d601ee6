"""Tokens as a report shows them: every text visible and harmless, every story in words."""

from __future__ import annotations

import doctest
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.engine.types import Candidate, TracedToken
from pagecompiler.reporting import timeline, tokens
from pagecompiler.reporting import visible as visible_module
from pagecompiler.reporting.tokens import TokenRoom
from pagecompiler.reporting.visible import visible

from .stories import story

SECTION = (Candidate("<p", 0.7), Candidate("<ul", 0.2), Candidate(" ", 0.0994), Candidate("\n", 0.0006))


def shown(token: TracedToken):
    (found,) = TokenRoom().show([token]).tokens
    return found


def test_the_three_ways_in_which_a_token_comes_to_be():
    assert shown(TracedToken("<p", candidates=SECTION)).kind == "own"
    approved = shown(TracedToken("<p", "lookup", accepted=True, candidates=SECTION))
    assert (approved.kind, approved.story) == ("approved", "guessed by lookup, approved")
    instead = shown(TracedToken("<p", "mtp", refused="<ul", refused_rank=2, candidates=SECTION))
    assert (instead.kind, instead.refused) == ("instead", "<ul")
    assert instead.story == "written by the model; mtp had guessed <ul, the model’s no. 2"
    assert [candidate.role for candidate in instead.candidates] == ["written", "refused", "", ""]


def test_a_refused_guess_outside_the_five_likeliest_has_its_number():
    token = shown(TracedToken("<p", "mtp", refused="zebra", refused_rank=212, candidates=SECTION))
    assert token.story.endswith("the model’s no. 212")
    assert [candidate.role for candidate in token.candidates] == ["written", "", "", ""]


def test_probabilities_are_never_more_certain_than_they_are():
    told = (Candidate("a", 0.99999), Candidate("b", 0.00001))
    assert [each.percent for each in shown(TracedToken("a", candidates=told)).candidates] == ["> 99.9 %", "< 0.1 %"]


def test_white_space_is_seen():
    assert visible("<p class", longest=20) == "<p class"
    assert visible("  ", longest=20) == "␣␣"
    assert visible(" <p", longest=20, spaces=True) == "␣<p"
    assert shown(TracedToken(">\n")).ends_line and shown(TracedToken(">\n")).text == ">↵"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\0", "⟨U+0000⟩"),
        ("\u202ea", "⟨U+202E⟩a"),
        ("\ud800", "⟨U+D800⟩"),
        ("\ufdd0", "⟨U+FDD0⟩"),
        ("\u00a0", "⟨U+00A0⟩"),
        ("\u0301", "◌\u0301"),
        ("", "⟨nothing⟩"),
        ("x" * 99, "x" * 20 + "…"),
    ],
)
def test_characters_that_act_or_hide_are_named(text: str, wanted: str):
    assert visible(text, longest=20) == wanted


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=40))
def test_any_text_can_be_shown(text: str):
    found = visible(text, longest=30)
    assert found and unicodedata.is_normalized("NFC", found)
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn") for character in found)


def test_an_answer_and_a_report_have_their_bounds():
    room = TokenRoom(of_an_answer=4, of_a_report=6)
    runs = [room.show(story(*"abcdefgh")) for _ in range(3)]
    assert [(len(run.tokens), run.left_out) for run in runs] == [(4, 4), (2, 6), (0, 8)]


@pytest.mark.parametrize("module", [timeline, tokens, visible_module])
def test_the_examples_hold(module):
    assert doctest.testmod(module).failed == 0
