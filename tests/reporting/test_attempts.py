"""What an engine says becomes attempts: lanes, times, tokens, and what became of each."""

from __future__ import annotations

from pagecompiler.diagnostics import diagnostic
from pagecompiler.engine.base import EngineError
from pagecompiler.engine.scripted import Failure, ScriptedEngine
from pagecompiler.engine.types import GenerationEvent, Message, Sampling, TracedToken
from pagecompiler.generate import Task, generate
from pagecompiler.plan import Block
from pagecompiler.reporting.attempts import Attempt, Attempts
from pagecompiler.slots import Structure

from .stories import attempts, events, story

GOOD = "<p>good</p>"


def task(name: str) -> Task:
    def check(text: str):
        return () if text == GOOD else (diagnostic("E0401", "not good"),)

    return Task(
        Block(name, "prose", (), Structure("prose", (), ())), "top", (Message("user", name),), check, trace=True
    )


def record(script, *names: str, **engine) -> list[Attempt]:
    found = Attempts()
    tasks = [task(name) for name in names]
    generate(tasks, ScriptedEngine(script, **engine), lanes=5, attempts=2, sampling=Sampling(), listener=found.hear)
    return list(found)


def test_an_attempt_has_its_times_its_tokens_and_its_end():
    (attempt,) = record({"a": GOOD}, "a", tell=lambda piece, number: TracedToken(piece, "mtp", accepted=number == 1))
    assert (attempt.block, attempt.group, attempt.number, attempt.lane, attempt.state) == ("a", "top", 1, 0, "done")
    assert attempt.admitted <= attempt.first <= attempt.ended
    assert "".join(token.text for token in attempt.tokens) == GOOD
    assert attempt.completion.accepted == 1


def test_refused_answers_are_attempts_of_their_own():
    found = record({"a": ["<p>bad</p>", GOOD], "b": "<p>bad</p>"}, "a", "b")
    states = {(attempt.block, attempt.number): attempt.state for attempt in found}
    assert states == {("a", 1): "refused", ("a", 2): "done", ("b", 1): "refused", ("b", 2): "refused"}


def test_an_engine_that_fails_is_not_an_answer_that_is_refused():
    (attempt,) = record({"a": Failure(EngineError("lost"), text="<p>")}, "a")
    assert (attempt.state, len(attempt.tokens)) == ("failed", 1)


def test_a_request_takes_the_lowest_lane_that_is_free():
    found = attempts(
        ("a", "top", events(1, story("a"), start=0.0, seconds=1.0)),
        ("b", "upper", events(2, story("b"), start=0.1, seconds=9.0)),
        ("c", "top", events(3, story("c"), start=2.0)),
    )
    assert {attempt.block: attempt.lane for attempt in found} == {"a": 0, "b": 1, "c": 0}


def test_what_an_engine_began_anew_is_lost_and_keeps_its_number():
    again = [GenerationEvent(1, "admitted", at=0.5), *events(1, story("a", "b"), start=0.9)[1:]]
    lost, kept = attempts(("a", "top", [*events(1, story("x"))[:2], *again]))
    assert (lost.state, lost.number, lost.ended) == ("lost", 1, 0.5)
    assert (kept.state, kept.number, [token.text for token in kept.tokens]) == ("done", 1, ["a", "b"])


def test_a_request_that_never_had_a_lane_leaves_no_trace():
    assert list(attempts(("a", "top", events(1, [])[3:]))) == []
