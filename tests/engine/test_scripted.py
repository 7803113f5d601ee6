"""The scripted engine keeps the engine protocol."""

from __future__ import annotations

import pytest

from pagecompiler.engine.base import DecodeError, EngineError, PromptTooLongError
from pagecompiler.engine.scripted import Failure, ScriptedEngine
from pagecompiler.engine.types import FinishReason, Message, Request, Verdict

TEXT = "<section><h2>{{1}}</h2><p>{{2}}</p></section>"


def ask(label, *, max_tokens=100, monitor=None) -> Request:
    return Request((Message("user", label),), max_tokens, label, monitor=monitor)


def completions(engine) -> dict[int, object]:
    return {event.request: event.completion for event in engine.events() if event.completion}


def test_requests_are_interleaved():
    engine = ScriptedEngine(lambda request: request.label * 20, lanes=2)
    numbers = [engine.submit(ask(label)) for label in "abc"]
    events = list(engine.events())
    assert [(e.request, e.kind) for e in events[:4]] == [
        (numbers[0], "admitted"),
        (numbers[1], "admitted"),
        (numbers[0], "text"),
        (numbers[1], "text"),
    ]
    assert {e.completion.text for e in events if e.completion} == {"a" * 20, "b" * 20, "c" * 20}
    assert events[-1].request == numbers[2]
    assert engine.stats().tokens == 9
    assert [request.label for request in engine.requests] == ["a", "b", "c"]


def test_attempts_are_answered_in_turn():
    engine = ScriptedEngine({"hero": ["bad", TEXT]})
    for wanted in ("bad", TEXT, TEXT):
        engine.submit(ask("hero"))
        (completion,) = completions(engine).values()
        assert (completion.text, completion.reason) == (wanted, FinishReason.END)


def test_budget_and_monitor_are_respected():
    class Closed:
        def feed(self, text):
            return Verdict.DONE if "</h2>" in text else Verdict.GO

    engine = ScriptedEngine(lambda request: TEXT)
    short = engine.submit(ask("short", max_tokens=2))
    watched = engine.submit(ask("watched", monitor=Closed))
    ended = completions(engine)
    assert (ended[short].text, ended[short].reason) == (TEXT[:16], FinishReason.LENGTH)
    assert (ended[watched].text, ended[watched].reason) == (TEXT[:24], FinishReason.DONE)
    assert len(ended[watched].tokens) == 3


def test_scripted_failures():
    lost = DecodeError("lost")
    engine = ScriptedEngine(
        {"a": Failure(lost, text="<section>"), "b": Failure(PromptTooLongError("too long")), "c": Failure(lost)}
    )
    engine.submit(ask("a"))
    engine.submit(ask("c"))
    with pytest.raises(PromptTooLongError):
        engine.submit(ask("b"))
    ended = completions(engine)
    assert [(c.reason, c.error, c.text) for c in ended.values()] == [
        (FinishReason.FAILED, lost, ""),
        (FinishReason.FAILED, lost, "<section>"),
    ]
    with pytest.raises(KeyError):
        engine.submit(ask("unknown"))


def test_cancelling_running_waiting_and_unknown_requests():
    engine = ScriptedEngine(lambda request: TEXT, lanes=1)
    first, second, third = (engine.submit(ask(label)) for label in "abc")
    ended = {}
    for event in engine.events():
        if event.kind == "text" and event.request == first:
            for number in (first, second, 99):
                engine.cancel(number)
        if event.completion:
            ended[event.request] = event.completion
    assert ended[first].reason is ended[second].reason is FinishReason.CANCELLED
    assert ended[first].text and not ended[second].text
    assert ended[third].text == TEXT


def test_submitting_while_events_are_read():
    engine = ScriptedEngine(lambda request: request.label)
    engine.submit(ask("a"))
    texts = []
    for event in engine.events():
        if event.completion:
            texts.append(event.completion.text)
            if len(texts) < 3:
                engine.submit(ask("a" * len(texts)))
    assert texts == ["a", "a", "aa"]


def test_closing_ends_the_events():
    engine = ScriptedEngine(lambda request: TEXT)
    engine.submit(ask("a"))
    events = engine.events()
    next(events)
    engine.close()
    engine.close()
    assert list(events) == []
    with pytest.raises(EngineError, match="closed"):
        engine.submit(ask("b"))
