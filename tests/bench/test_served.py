"""A server and what it counts."""

from __future__ import annotations

from collections.abc import Callable

from pagecompiler.bench.served import ServedEngine
from pagecompiler.engine.openai.counters import GuessCounters
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Message, Request


def counting(*found: GuessCounters | None) -> Callable[[object], GuessCounters | None]:
    answers = iter(found)
    return lambda servers: next(answers)


def test_a_server_s_counters_are_taken_from_before_to_after() -> None:
    engine = ServedEngine(
        ScriptedEngine({"hero": "<p>x</p>"}),
        ["http://one"],
        counting(GuessCounters(10, 20, 15, (9, 6)), GuessCounters(14, 28, 21, (12, 9))),
    )
    engine.submit(Request((Message("user", "x"),), 9, "hero"))
    assert [event.completion.text for event in engine.events() if event.completion] == ["<p>x</p>"]
    stats = engine.stats()
    assert (stats.verify_passes, stats.drafted, stats.accepted, stats.accepted_by_position) == (4, 8, 6, (3, 3))


def test_a_server_without_counters_is_measured_all_the_same() -> None:
    engine = ServedEngine(ScriptedEngine({}), ["http://one"], counting(None))
    assert engine.stats().drafted == 0
