"""The referee against the engine: what plain decoding wrote is the arg-max, another token is far from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.llama.referee import END, Referee
from pagecompiler.engine.types import Completion, Request
from pagecompiler.monitor import BlockMonitor
from pagecompiler.prompts import block_messages
from pagecompiler.schema import Faq, Stats
from pagecompiler.slots import section_structure

from .conftest import MINI

SECTIONS = (
    Stats.model_validate({"kind": "stats", "heading": "Facts", "items": [{"value": "1", "label": "litre"}]}),
    Faq.model_validate({"kind": "faq", "heading": "Questions", "items": [{"question": "Why?", "answer": "So."}]}),
)


def request(section: Stats | Faq) -> Request:
    structure = section_structure(section, 0)
    slots = frozenset(slot.number for slot in structure.slots)
    return Request(block_messages(structure), 300, section.kind, slots=slots, monitor=BlockMonitor)


REQUESTS = [request(section) for section in SECTIONS]


@pytest.fixture(scope="module")
def answers() -> list[Completion]:
    with LlamaEngine(MINI, threads=1) as engine:
        numbers = [engine.submit(each) for each in REQUESTS]
        ended = {event.request: event.completion for event in engine.events() if event.completion}
    return [completion for number in numbers if (completion := ended[number]) is not None]


@pytest.fixture(scope="module")
def referee() -> Iterator[Referee]:
    with Referee(MINI, threads=1) as found:
        yield found


def test_what_plain_decoding_wrote_is_within_what_rounding_does(referee: Referee, answers: list[Completion]) -> None:
    allowed = referee.gap(REQUESTS, [answer.tokens for answer in answers])
    assert 0 <= allowed < 0.5
    for each, answer in zip(REQUESTS, answers, strict=True):
        missing = referee.missing(each, answer.tokens)
        assert len(missing) == len(answer.tokens) and missing.max() <= allowed


def test_another_token_is_found_where_it_stands(referee: Referee, answers: list[Completion]) -> None:
    tokens = answers[0].tokens
    wrong = next(token for token in range(3, 99) if token not in tokens)
    missing = referee.missing(REQUESTS[0], [*tokens[:5], wrong, *tokens[6:]])
    allowed = referee.gap(REQUESTS, [answer.tokens for answer in answers])
    assert missing[:5].max() <= allowed < missing[5]
    assert referee.distance(REQUESTS[0], tokens[:5], tokens[5], wrong) == pytest.approx(missing[5], abs=allowed)


def test_the_end_of_an_answer_is_a_choice_too(referee: Referee, answers: list[Completion]) -> None:
    tokens = answers[0].tokens
    assert referee.distance(REQUESTS[0], tokens[:5], tokens[5], END) > 1
    assert referee.missing(REQUESTS[0], tokens[:5], ended=True)[5] > 1, "too early"


def test_a_long_answer_is_evaluated_in_pieces(
    referee: Referee, answers: list[Completion], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = referee.missing(REQUESTS[1], answers[1].tokens)
    monkeypatch.setattr(referee, "_outputs", 16)
    pieces = referee.missing(REQUESTS[1], answers[1].tokens)
    assert pieces == pytest.approx(whole, abs=0.05)
