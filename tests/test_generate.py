"""Dispatching blocks to an engine: groups, retries, failures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pagecompiler.diagnostics import CompileError, Diagnostic, diagnostic
from pagecompiler.engine.base import EngineError, PromptTooLongError
from pagecompiler.engine.scripted import Failure, ScriptedEngine
from pagecompiler.engine.types import Message, Sampling
from pagecompiler.generate import RETRY_TEMPERATURE, Progress, Task, generate
from pagecompiler.plan import Block
from pagecompiler.slots import Structure

GOOD = "<p>good</p>"


def _check(text: str) -> tuple[Diagnostic, ...]:
    return () if text == GOOD else (diagnostic("E0401", f"not good: {text}"),)


def _task(name: str, group: str = "top", check: Callable[[str], tuple[Diagnostic, ...]] = _check) -> Task:
    block = Block(name, "prose", (), Structure("prose", (), ()))
    return Task(block, group, (Message("user", name),), check)


def _run(tasks: list[Task], engine: ScriptedEngine, *, lanes: int = 5, attempts: int = 3) -> list[Progress]:
    heard: list[Progress] = []
    generate(tasks, engine, lanes=lanes, attempts=attempts, sampling=Sampling(seed=7), listener=heard.append)
    return heard


def test_a_good_answer_is_kept_with_its_tokens() -> None:
    task = _task("a")
    heard = _run([task], ScriptedEngine({"a": GOOD}))
    assert task.fragment is not None
    assert (task.fragment.text, len(task.fragment.tokens)) == (GOOD, 2)
    assert task.attempts == 1
    assert [progress.state for progress in heard][-1] == "done"


def test_only_the_refused_block_is_written_again_warmer_and_with_another_seed() -> None:
    engine = ScriptedEngine({"a": ["<p>bad</p>", "<p>bad</p>", GOOD], "b": GOOD})
    tasks = [_task("a"), _task("b", "upper")]
    heard = _run(tasks, engine)
    assert [task.attempts for task in tasks] == [3, 1]
    asked = [(r.label, r.sampling.temperature, r.sampling.seed) for r in engine.requests if r.label == "a"]
    assert asked == [("a", 0.0, 7), ("a", RETRY_TEMPERATURE, 8), ("a", RETRY_TEMPERATURE, 9)]
    assert tasks[0].rejected == ["<p>bad</p>", "<p>bad</p>"]
    assert tasks[0].diagnostics == ()
    assert sum(progress.state == "refused" for progress in heard) == 2


def test_attempts_end() -> None:
    task = _task("a")
    heard = _run([task], ScriptedEngine({"a": "<p>bad</p>"}), attempts=2)
    assert task.fragment is None and task.attempts == 2
    assert [d.code for d in task.diagnostics] == ["E0401"]
    assert heard[-1].state == "failed"


@pytest.mark.parametrize(
    ("answer", "said"),
    [("<p>{{1}} " + "x" * 4000, "no progress"), ("<ul>" + "<li>x</li>" * 1000, "cut after its budget of")],
)
def test_a_cut_answer_says_so_and_is_asked_for_again(answer: str, said: str) -> None:
    task, other = _task("a"), _task("b")
    engine = ScriptedEngine({"a": [answer, GOOD], "b": GOOD})
    _run([task, other], engine)
    assert task.fragment is not None and task.fragment.text == GOOD
    assert [request.label for request in engine.requests].count("b") == 1
    task = _task("a")
    _run([task], ScriptedEngine({"a": answer}), attempts=1)
    assert task.fragment is None and [d.code for d in task.diagnostics] == ["E0417", "E0401"]
    assert said in task.diagnostics[0].message


def test_one_lane_for_each_group_and_free_lanes_help_the_longest() -> None:
    tasks = [_task("a1", "top"), _task("a2", "top"), _task("b1", "upper"), _task("b2", "upper"), _task("b3", "upper")]
    engine = ScriptedEngine({task.block.name: GOOD for task in tasks}, lanes=3)
    _run(tasks, engine, lanes=3)
    assert [request.label for request in engine.requests][:3] == ["a1", "b1", "b2"]
    assert all(task.fragment for task in tasks)


@pytest.mark.parametrize("lanes", [1, 2, 9])
def test_any_number_of_lanes(lanes: int) -> None:
    tasks = [_task(f"{group}{n}", group) for group in ("style", "top", "upper") for n in range(4)]
    _run(tasks, ScriptedEngine({task.block.name: GOOD for task in tasks}, lanes=lanes), lanes=lanes)
    assert all(task.fragment for task in tasks)


def test_an_engine_failure_is_a_finding_and_not_tried_again() -> None:
    task, other = _task("a"), _task("b")
    engine = ScriptedEngine({"a": Failure(EngineError("NaN in the logits", hint="use f16")), "b": GOOD})
    _run([task, other], engine)
    assert [(d.code, d.message, d.hint) for d in task.diagnostics] == [
        ("E0703", "block `a`: NaN in the logits", "use f16")
    ]
    assert task.attempts == 1 and other.fragment is not None


def test_a_prompt_that_does_not_fit_leaves_the_others_alone() -> None:
    task, other = _task("a"), _task("b")
    engine = ScriptedEngine({"a": Failure(PromptTooLongError("too long")), "b": GOOD})
    _run([task, other], engine)
    assert task.fragment is None and task.diagnostics[0].code == "E0703"
    assert other.fragment is not None


def test_an_interruption_cancels_what_runs() -> None:
    engine = ScriptedEngine({"a": GOOD * 50, "b": GOOD})

    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate([_task("a")], engine, lanes=1, attempts=1, sampling=Sampling(), listener=stop)
    task = _task("b")
    _run([task], engine)
    assert task.fragment is not None


def test_one_slip_makes_a_few_findings_and_a_number() -> None:
    many = tuple(diagnostic("E0412", f"slot {number} is never placed") for number in range(9))
    task = _task("a", check=lambda text: many)
    _run([task], ScriptedEngine({"a": "<p>bad</p>"}), attempts=1)
    assert len(task.diagnostics) == 4
    assert task.diagnostics[-1].message == "slot 3 is never placed (and 5 more)"


def test_a_repair_that_cannot_be_asked_for_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(problems: object) -> str:
        raise CompileError((diagnostic("E0806", "the template `repair.j2` cannot be used"),))

    monkeypatch.setattr("pagecompiler.generate.repair_message", refuse)
    task, other = _task("a"), _task("b")
    task.repair = True
    _run([task, other], ScriptedEngine({"a": "<p>bad</p>", "b": GOOD}), lanes=1)
    assert task.finished and [d.code for d in task.diagnostics] == ["E0806"]
    assert other.fragment is not None
