"""The engine in a process of its own: the same protocol, and a death that is only an error."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pagecompiler.engine.base import EngineDiedError, EngineError, ModelLoadError, PromptTooLongError
from pagecompiler.engine.child import ChildEngine
from pagecompiler.engine.scripted import Failure, ScriptedEngine
from pagecompiler.engine.types import Completion, FinishReason, GenerationEvent, Message, Request
from pagecompiler.monitor import BlockMonitor

PAGE = "<section><h1>{{1}}</h1></section>"
LONG = "<p>" + "{{1}} many words " * 15_000


class SlowEngine(ScriptedEngine):
    """A step takes a millisecond, so that there is time to meet it."""

    def _step(self) -> None:
        time.sleep(0.001)
        super()._step()


def answer(request: Request, *, crashes: Path | None) -> str | Failure:
    if request.label == "long":
        return LONG
    if request.label == "too long":
        return Failure(PromptTooLongError("too long", hint="shorten it"))
    if request.label == "nan":
        return Failure(EngineError("NaN in the logits", hint="use f16"))
    if request.label == "exit":
        os._exit(3)
    if request.label in ("crash", "crash once"):
        count = len(crashes.read_text()) if crashes is not None and crashes.exists() else 0
        if crashes is not None and (request.label == "crash" or count == 0):
            crashes.write_text("x" * (count + 1))
            os.write(2, b"GGML_ASSERT(n_pos == 1) failed\n")
            os.kill(os.getpid(), signal.SIGABRT)
    return PAGE


def make_scripted(crashes: Path | None = None) -> ScriptedEngine:
    return SlowEngine(partial(answer, crashes=crashes))


def make_nothing() -> ScriptedEngine:
    raise ModelLoadError("the file is damaged", hint="load it again", native_log="bad magic")


def ask(label: str) -> Request:
    return Request((Message("user", label),), 100_000, label, monitor=BlockMonitor)


def run(engine: ChildEngine, *labels: str) -> list[Completion]:
    numbers = [engine.submit(ask(label)) for label in labels]
    ended = {event.request: event.completion for event in engine.events() if event.completion}
    return [ended[number] for number in numbers]


@pytest.fixture
def crashes(tmp_path: Path) -> Path:
    return tmp_path / "crashes"


@pytest.fixture
def engine(crashes: Path) -> Iterator[ChildEngine]:
    engine = ChildEngine(partial(make_scripted, crashes))
    yield engine
    engine.close()


def test_the_protocol(engine: ChildEngine, crashes: Path) -> None:
    """One process for all of this: starting one is what takes the time."""
    numbers = [engine.submit(ask("a")), engine.submit(ask("b"))]
    events: dict[int, list[GenerationEvent]] = {number: [] for number in numbers}
    for event in engine.events():
        events[event.request].append(event)
    for heard in events.values():
        assert [event.kind for event in heard][:2] == ["admitted", "text"] and heard[-1].kind == "finished"
        assert "".join(event.text for event in heard) == PAGE
        assert heard[-1].completion is not None and heard[-1].completion.reason is FinishReason.DONE
    assert list(engine.events()) == []
    assert engine.stats().tokens == 10

    with pytest.raises(PromptTooLongError) as refused:
        engine.submit(ask("too long"))
    assert (refused.value.message, refused.value.hint) == ("too long", "shorten it")
    failed, good = run(engine, "nan", "a")
    assert (failed.reason, good.text) == (FinishReason.FAILED, PAGE)
    assert isinstance(failed.error, EngineError) and failed.error.hint == "use f16"

    number = engine.submit(ask("long"))
    for event in engine.events():
        if event.kind == "text":
            engine.cancel(number)
        last = event
    assert last.completion is not None and last.completion.reason is FinishReason.CANCELLED

    # Everything can be said while another thread reads the events.
    long = engine.submit(ask("long"))
    heard_by_thread: list[GenerationEvent] = []
    thread = threading.Thread(target=lambda: heard_by_thread.extend(engine.events()))
    thread.start()
    short = engine.submit(ask("a"))
    engine.cancel(long)
    thread.join(60)
    rest = [*heard_by_thread, *engine.events()]
    reasons = {event.request: event.completion.reason for event in rest if event.completion}
    assert reasons == {long: FinishReason.CANCELLED, short: FinishReason.DONE}

    first = engine.process_id
    once, beside = run(engine, "crash once", "a")
    assert (once.text, beside.text) == (PAGE, PAGE)
    assert engine.process_id != first

    (twice,) = run(engine, "crash")
    assert twice.reason is FinishReason.FAILED and isinstance(twice.error, EngineDiedError)
    assert "SIGABRT" in twice.error.message and "GGML_ASSERT(n_pos == 1)" in twice.error.native_log
    assert len(crashes.read_text()) == 3
    assert run(engine, "a")[0].text == PAGE

    # Neither process lived to reply to SUBMIT: a crash leaves its threads the time, an exit does not.
    (unheard,) = run(engine, "exit")
    assert isinstance(unheard.error, EngineDiedError) and "exit code 3" in unheard.error.message

    second = engine.process_id
    os.kill(second, signal.SIGKILL)
    assert run(engine, "a")[0].text == PAGE
    last_process = engine.process_id
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.submit(ask("a"))
    with pytest.raises(ProcessLookupError):
        os.kill(last_process, 0)


def make_once(mark: Path) -> ScriptedEngine:
    if mark.exists():
        raise ModelLoadError("the file has gone")
    mark.touch()
    return make_scripted()


def test_what_cannot_be_started_again_is_said_each_time(tmp_path: Path) -> None:
    engine = ChildEngine(partial(make_once, tmp_path / "mark"))
    engine.submit(ask("long"))
    os.kill(engine.process_id, signal.SIGKILL)
    with pytest.raises(ModelLoadError, match="has gone"):
        list(engine.events())
    for _ in range(2):
        with pytest.raises(ModelLoadError, match="has gone"):
            engine.submit(ask("a"))
    (ended,) = [event.completion for event in engine.events() if event.completion]
    assert ended.reason is FinishReason.FAILED and isinstance(ended.error, EngineDiedError)
    engine.close()


def test_a_model_that_cannot_be_loaded_raises_what_the_engine_raises() -> None:
    with pytest.raises(ModelLoadError) as problem:
        ChildEngine(make_nothing)
    assert (problem.value.hint, problem.value.native_log) == ("load it again", "bad magic")
