"""Several engines behind one: every request is answered once, by one of them, and a failure is that of its engine."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.engine.base import EngineError, ModelLoadError, PromptTooLongError
from pagecompiler.engine.child import ChildEngine
from pagecompiler.engine.llama.loading import load_engine
from pagecompiler.engine.replicas import ReplicatedEngine
from pagecompiler.engine.scripted import Failure, ScriptedEngine
from pagecompiler.engine.types import Completion, EngineStats, FinishReason, Message, Request

from .conftest import MINI


class Broken(ScriptedEngine):
    """Cannot go on, once."""

    problem: Exception | None = EngineError("the GPU has gone")

    def _step(self) -> None:
        if self.problem is not None:
            problem, self.problem = self.problem, None
            raise problem
        super()._step()


class Full(Broken):
    """Fails with something that is no error of an engine."""

    problem = OSError(28, "no space left on the device")


def ask(label: str, *, max_tokens: int = 100) -> Request:
    return Request((Message("user", label),), max_tokens, label)


def echo() -> ScriptedEngine:
    return ScriptedEngine(lambda request: f"<p>{request.label}</p>")


def answers(engine: ReplicatedEngine) -> dict[int, Completion]:
    ended = [event for event in engine.events() if event.completion]
    assert len({event.request for event in ended}) == len(ended)
    return {event.request: event.completion for event in ended if event.completion}


@given(st.lists(st.lists(st.text("abc", min_size=1, max_size=30), max_size=8), max_size=5), st.integers(1, 4))
def test_every_request_is_answered_once(batches, count):
    engine = ReplicatedEngine([echo] * count)
    for labels in batches:
        numbers = {engine.submit(ask(label)): label for label in labels}
        ended = answers(engine)
        assert {number: completion.text for number, completion in ended.items()} == {
            number: f"<p>{label}</p>" for number, label in numbers.items()
        }
    assert list(engine.events()) == []
    engine.close()


def test_work_may_come_while_events_are_read():
    engine = ReplicatedEngine([echo] * 3)
    texts = []
    engine.submit(ask("0"))
    for event in engine.events():
        if event.completion:
            texts.append(event.completion.text)
            if len(texts) < 200:
                engine.submit(ask(str(len(texts))))
    assert texts == [f"<p>{number}</p>" for number in range(200)]
    engine.close()


def test_work_goes_where_the_least_is_left():
    engine = ReplicatedEngine([echo] * 2)
    for label, budget in (("long", 90), ("short", 20), ("short too", 20), ("last", 60)):
        engine.submit(ask(label, max_tokens=budget))
    asked = [[request.label for request in each.requests] for each in engine.engines]
    assert asked == [["long"], ["short", "short too", "last"]]
    assert len(answers(engine)) == 4
    engine.submit(ask("anywhere"))
    assert len(answers(engine)) == 1
    engine.close()


def test_a_request_that_is_refused_leaves_nothing_behind():
    def script(request: Request) -> str | Failure:
        return Failure(PromptTooLongError("too long")) if request.label == "long" else "<p>1</p>"

    engine = ReplicatedEngine([lambda: ScriptedEngine(script)] * 2)
    with pytest.raises(PromptTooLongError):
        engine.submit(ask("long"))
    engine.submit(ask("a"))
    engine.submit(ask("b"))
    assert [len(each.requests) for each in engine.engines] == [1, 1]
    assert len(answers(engine)) == 2
    engine.close()


def test_a_cancelled_request_ends_and_the_others_go_on():
    def script(request: Request) -> str:
        return "word " * (50 if request.label == "a" else 100_000)

    engine = ReplicatedEngine([lambda: ScriptedEngine(script)] * 2)
    first, second = engine.submit(ask("a")), engine.submit(ask("b", max_tokens=1_000_000))
    engine.cancel(99)
    engine.cancel(second)
    ended = answers(engine)
    engine.cancel(second)
    assert (ended[first].reason, ended[second].reason) == (FinishReason.END, FinishReason.CANCELLED)
    engine.close()


@pytest.mark.parametrize(("kind", "message"), [(Broken, "the GPU has gone"), (Full, "no space left")])
def test_what_an_engine_raises_is_raised_and_the_next_call_goes_on(kind, message):
    engine = ReplicatedEngine([echo, lambda: kind(lambda request: "<p>late</p>")])
    numbers = [engine.submit(ask("good")), engine.submit(ask("bad"))]
    ended: dict[int, Completion] = {}
    with pytest.raises((EngineError, OSError), match=message):
        for event in engine.events():
            if event.completion:
                ended[event.request] = event.completion
    ended |= answers(engine)
    assert [ended[number].text for number in numbers] == ["<p>good</p>", "<p>late</p>"]
    engine.close()


def test_if_one_cannot_be_made_none_is_left():
    made: list[ScriptedEngine] = []

    def good() -> ScriptedEngine:
        made.append(echo())
        return made[-1]

    def bad() -> ScriptedEngine:
        raise ModelLoadError("damaged")

    with pytest.raises(ModelLoadError, match="damaged"):
        ReplicatedEngine([good, bad, good])
    assert len(made) == 2
    for engine in made:
        with pytest.raises(EngineError, match="closed"):
            engine.submit(ask("a"))


def test_closing_ends_who_reads():
    engine = ReplicatedEngine([lambda: ScriptedEngine(lambda request: "word " * 100_000)] * 2)
    engine.submit(ask("long", max_tokens=10**6))
    reader = threading.Thread(target=lambda: [None for event in engine.events()])
    reader.start()
    engine.close()
    engine.close()
    reader.join(60)
    assert not reader.is_alive()
    with pytest.raises(EngineError, match="closed"):
        engine.submit(ask("a"))


def test_totals_are_those_of_all():
    one = EngineStats(tokens=3, target_seconds=0.5, accepted_by_position=(2, 1), native_log=["a"])
    two = EngineStats(tokens=4, accepted_by_position=(1,), draft_device="CUDA0", native_log=["b"])
    both = one + two
    assert (both.tokens, both.target_seconds, both.accepted_by_position) == (7, 0.5, (3, 1))
    assert (both.draft_device, both.native_log) == ("CUDA0", ["a", "b"])
    assert (both.since(one).tokens, both.since(one).accepted_by_position) == (4, (1, 0))


def test_the_model_in_two_processes_one_of_which_dies():
    prompts = [
        f"kind: features\n{{{{1}}}} heading line\nitems:\n- {{{{2}}}} title short {number}" for number in range(8)
    ]
    requests = [Request((Message("user", prompt),), 40, str(number)) for number, prompt in enumerate(prompts)]
    with load_engine(MINI, lanes=2) as alone:
        numbers = [alone.submit(request) for request in requests]
        ended = {event.request: event.completion for event in alone.events() if event.completion}
        wanted = [ended[number].tokens for number in numbers]
    engine = ReplicatedEngine([partial(ChildEngine, partial(load_engine, MINI, lanes=2))] * 2)
    numbers = [engine.submit(request) for request in requests]
    first, second = engine.engines
    assert isinstance(first, ChildEngine) and isinstance(second, ChildEngine)
    os.kill(second.process_id, signal.SIGKILL)
    found = answers(engine)
    engine.close()
    assert [found[number].tokens for number in numbers] == wanted
