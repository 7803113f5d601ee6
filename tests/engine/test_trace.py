"""A traced request tells of each of its tokens, and is answered as any other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pagecompiler.engine.child import ChildEngine
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.llama.trace import Trace
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Decoding, GenerationEvent, Method, Request, TracedToken

from .conftest import MINI
from .fake_target import END, FakeVocabulary
from .oracle import Oracle
from .test_llama_engine import KINDS, ask, run

MINI_DRAFT = MINI.with_name("pagec-mini-draft.gguf")
LENGTH = 60
OLD_ANSWER = '<section class="features"><h2>{{9}}</h2></section>'


def make_engine(method: Method, path: Path = MINI) -> LlamaEngine:
    draft = MINI_DRAFT if method is Method.DRAFT else None
    return LlamaEngine(path, context_tokens=768, threads=1, decoding=Decoding(method, depth=2, draft_model=draft))


def traced(engine, requests: list[Request]) -> list[list[GenerationEvent]]:
    """The events of each request."""
    events: dict[int, list[GenerationEvent]] = {engine.submit(replace(each, trace=True)): [] for each in requests}
    for event in engine.events():
        events[event.request].append(event)
    return list(events.values())


def told(events: list[GenerationEvent]) -> list[TracedToken]:
    return [token for event in events for token in event.trace]


@pytest.mark.parametrize("method", [Method.PLAIN, Method.DRAFT, Method.MTP, Method.LOOKUP, Method.AUTO])
def test_every_token_is_told_once_and_none_changes(method):
    requests = [ask(content, max_tokens=LENGTH) for content in KINDS]
    with make_engine(method) as engine:
        untraced = run(engine, requests)
    with make_engine(method) as engine:
        stories = traced(engine, requests)
    for answer, events in zip(untraced, stories, strict=True):
        completion, tokens = events[-1].completion, told(events)
        assert (completion.text, completion.tokens) == (answer.text, answer.tokens)
        assert "".join(token.text for token in tokens) == completion.text
        assert len(tokens) == len(completion.tokens)
        assert sum(token.accepted for token in tokens) == completion.accepted
        assert all(bool(token.source) == (token.accepted or token.refused != "") for token in tokens)
        for token in tokens:
            shares = [candidate.probability for candidate in token.candidates]
            assert len(shares) == 5 and shares == sorted(shares, reverse=True)
            assert 0 < sum(shares) <= 1.0000001
            assert token.text in [candidate.text for candidate in token.candidates]
    sources = {token.source for events in stories for token in told(events)} - {""}
    assert sources <= ({method.value} if method is not Method.AUTO else {"mtp", "lookup"})
    assert bool(sources) == (method is not Method.PLAIN)


def test_a_request_without_trace_is_told_nothing_of():
    with make_engine(Method.MTP) as engine:
        engine.submit(ask(KINDS[0], max_tokens=8))
        assert not any(event.trace for event in engine.events())


def test_events_come_in_the_order_of_their_times():
    with make_engine(Method.MTP) as engine:
        engine.submit(ask(KINDS[0], max_tokens=8))
        times = [event.at for event in engine.events()]
    assert times == sorted(times) and times[0] > 0


def test_a_refused_guess_names_what_was_guessed(monkeypatch):
    request = ask(KINDS[0], max_tokens=LENGTH)
    with make_engine(Method.MTP) as engine:
        drafter = engine._guesses._main
        propose, spoilt = drafter.propose, engine._model.tokenize("Ω", parse_special=False)[0]

        def spoil(lanes, depth):
            """The block's guesses, but for every fifth token."""
            return [
                [spoilt if (len(lane.emitted) + i) % 5 == 0 else token for i, token in enumerate(guess)]
                for lane, guess in zip(lanes, propose(lanes, depth), strict=True)
            ]

        monkeypatch.setattr(drafter, "propose", spoil)
        (events,) = traced(engine, [request])
        name = engine._model.piece(spoilt).decode("utf-8", "replace")
    tokens = told(events)
    refused = [(place, token) for place, token in enumerate(tokens) if token.refused]
    assert refused and {place % 5 for place, token in refused if token.refused == name} == {0}
    for _, token in refused:
        best = [candidate.text for candidate in token.candidates]
        assert (token.source, token.accepted) == ("mtp", False)
        assert token.refused_rank == best.index(token.refused) + 1 if token.refused in best else token.refused_rank > 5
    assert sum(token.accepted for token in tokens) == events[-1].completion.accepted


def test_a_previous_answer_is_named_as_the_source():
    request = ask(KINDS[0], max_tokens=LENGTH, previous=OLD_ANSWER)
    with make_engine(Method.PLAIN) as engine:
        (events,) = traced(engine, [request])
    assert {token.source for token in told(events)} == {"previous", ""}


def test_traces_come_out_of_a_child_process():
    request = ask(KINDS[0], max_tokens=LENGTH)
    with make_engine(Method.MTP) as engine:
        (events,) = traced(engine, [request])
    child = ChildEngine(partial(make_engine, Method.MTP))
    try:
        (heard,) = traced(child, [request])
    finally:
        child.close()
    assert told(heard) == told(events)
    assert [event.at for event in heard] == sorted(event.at for event in heard)


def test_half_a_character_and_an_end_are_told_too():
    """The two bytes of `é` are two tokens; the end token writes nothing and has a name."""
    trace = Trace(FakeVocabulary())
    row = np.zeros(FakeVocabulary.size, np.float32)
    row[10], row[END] = 4, 3
    trace.note(row, 9, (), None)
    trace.note(row, 10, (END,), Oracle({}, errs=lambda number, place: False, wrong=0))
    first, second = trace.take()
    assert (first.text, first.source, first.candidates[0].text) == ("\ufffd", "", "\ufffd")
    assert (second.refused, second.refused_rank) == ("<end>", 2)
    assert second.candidates[0].probability == pytest.approx(np.exp(4) / (np.exp(4) + np.exp(3) + 10))
    assert not trace and trace.take() == ()


def test_the_scripted_engine_tells_what_it_is_told_to():
    def tell(piece: str, number: int) -> TracedToken:
        if number == 2:
            return TracedToken(piece, source="mtp", refused="x", refused_rank=3)
        return TracedToken(piece, source="mtp", accepted=number == 1)

    engine = ScriptedEngine(lambda request: "abcdefgh" * 3, tell=tell)
    (events,) = traced(engine, [ask("a")])
    assert [(token.accepted, token.refused) for token in told(events)] == [(False, ""), (True, ""), (False, "x")]
    assert (events[-1].completion.drafted, events[-1].completion.accepted) == (2, 1)
