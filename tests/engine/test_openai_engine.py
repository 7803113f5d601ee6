"""The remote engine against a server that misbehaves: every request ends once, and no cut answer is ever used."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pagecompiler.engine.base import EngineError, PromptTooLongError
from pagecompiler.engine.openai.answer import UNKNOWN_TOKEN
from pagecompiler.engine.openai.counters import GuessCounters, parse_counters, read_counters
from pagecompiler.engine.openai.endpoints import Policy, steady_policy
from pagecompiler.engine.openai.engine import OpenAIEngine
from pagecompiler.engine.types import Completion, FinishReason, Message, Request, Sampling, Verdict
from pagecompiler.monitor import BlockMonitor

from .fake_server import PATIENCE, FakeServer, Stream, answer, status
from .server_faults import PASSING, SILENT, aborted, cut_off, cut_politely

QUICK = Policy(pause=0.01, longest_pause=0.05, patience=0.2, end=0.2, queued=60.0)
IMPATIENT = replace(QUICK, first_text=1.0, next_text=1.0, sends=30, patience=PATIENCE)  # for servers that fall silent


def ask(content: str = "block", *, page: int = 0, max_tokens: int = 200, **more: Any) -> Request:
    return Request((Message("system", "be brief"), Message("user", content)), max_tokens, content, page=page, **more)


class Engines:
    """Makes engines of the servers that are given, and closes them."""

    def __init__(self) -> None:
        self._made: list[OpenAIEngine] = []

    def __call__(self, *servers: FakeServer | str, policy: Policy = QUICK, key: str | None = None) -> OpenAIEngine:
        urls = [server if isinstance(server, str) else server.url for server in servers]
        engine = OpenAIEngine(urls, "fake", key=key, policy=policy)
        self._made.append(engine)
        return engine

    def close(self) -> None:
        for engine in self._made:
            engine.close()


@pytest.fixture
def connect() -> Iterator[Engines]:
    engines = Engines()
    yield engines
    engines.close()


def run(engine: OpenAIEngine, requests: list[Request]) -> list[Completion]:
    """All completions in order; each request must have ended exactly once."""
    numbers = [engine.submit(request) for request in requests]
    ended: dict[int, Completion] = {}
    for event in engine.events():
        assert event.request not in ended
        if event.completion is not None:
            ended[event.request] = event.completion
    assert set(ended) == set(numbers)
    return [ended[number] for number in numbers]


def test_an_answer_streams_into_events(connect: Engines) -> None:
    with FakeServer() as server:
        engine = connect(server)
        number = engine.submit(ask())
        events = list(engine.events())
        assert [event.kind for event in events] == ["admitted", *["text"] * (len(events) - 2), "finished"]
        assert "".join(event.text for event in events) == "<p>block</p>"
        completion = events[-1].completion
        assert completion is not None and events[-1].request == number
        assert (completion.text, completion.reason) == ("<p>block</p>", FinishReason.END)
        assert completion.tokens == (UNKNOWN_TOKEN,) * (len(events) - 2)
        assert list(engine.events()) == []


def test_everything_that_decides_on_a_token_is_sent(connect: Engines) -> None:
    sampling = Sampling(temperature=0.4, top_k=0, top_p=0.9, min_p=0.05, seed=7)
    with FakeServer() as server:
        run(connect(server), [ask(sampling=sampling), ask()])
        warm, cold = sorted(server.requests, key=lambda body: -body["temperature"])
    assert (warm["temperature"], warm["top_p"], warm["min_p"], warm["seed"]) == (0.4, 0.9, 0.05, 7)
    assert warm["top_k"] > 1_000_000 and "top_k" not in cold and cold["temperature"] == 0
    assert (cold["repeat_penalty"], cold["repetition_penalty"], cold["presence_penalty"]) == (1, 1, 0)
    assert cold["chat_template_kwargs"] == {"enable_thinking": False}
    assert (cold["model"], cold["stream"], cold["max_tokens"]) == ("fake", True, 200)
    assert cold["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "block"}]


def test_the_key_is_sent_and_never_shown(connect: Engines) -> None:
    refusal = status(401, {"error": {"message": "bad key sk-secret"}})
    with FakeServer(faults=(refusal,)) as server:
        engine = connect(server, key="sk-secret")
        (completion,) = run(engine, [ask()])
        assert server.keys == ["bearer sk-secret"] * 2
    assert "HTTP 401: bad key ***" in str(completion.error)
    assert "sk-secret" not in repr([engine.notes, completion.error])


def test_the_monitor_ends_the_request_on_the_server_too(connect: Engines) -> None:
    gone = threading.Event()

    async def endless(stream: Stream) -> None:
        await stream.open()
        await stream.text("<p>a</p> and")
        try:
            for _ in range(5000):
                await stream.text(" so on")
                await asyncio.sleep(0.001)
        except ConnectionError:
            gone.set()
            raise

    with FakeServer(act=endless) as server:
        (completion,) = run(connect(server), [ask(max_tokens=9000, monitor=BlockMonitor)])
        assert completion.reason is FinishReason.DONE
        assert completion.text.startswith("<p>a</p>")
        assert gone.wait(PATIENCE)


def test_no_progress_and_a_server_that_ignores_the_budget_end(connect: Engines) -> None:
    async def babble(stream: Stream) -> None:
        await stream.open()
        for _ in range(5000):
            await stream.text("x")

    with FakeServer(act=babble) as server:
        stuck, long = run(connect(server), [ask(monitor=BlockMonitor), ask(max_tokens=20)])
    assert stuck.reason is FinishReason.STUCK and len(stuck.tokens) == 64
    assert long.reason is FinishReason.LENGTH


def test_a_model_that_thinks_all_the_same_is_said_once(connect: Engines) -> None:
    async def think(stream: Stream) -> None:
        await stream.open()
        await stream.event({"choices": [{"delta": {"reasoning_content": "hm"}}]})
        await stream.text("<p>a</p>")
        await stream.finish()

    with FakeServer(act=think) as server:
        engine = connect(server)
        completions = run(engine, [ask(), ask()])
    assert [completion.text for completion in completions] == ["<p>a</p>"] * 2
    assert [note for note in engine.notes if "thinks" in note] == engine.notes and len(engine.notes) == 1


def test_length_is_told(connect: Engines) -> None:
    async def short(stream: Stream) -> None:
        await stream.open()
        await stream.text("<p>unfin")
        await stream.finish("length")

    with FakeServer(act=short) as server:
        (completion,) = run(connect(server), [ask()])
    assert (completion.text, completion.reason) == ("<p>unfin", FinishReason.LENGTH)


USAGE = {
    "prompt_tokens": 90,
    "completion_tokens": 40,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"accepted_prediction_tokens": 20, "rejected_prediction_tokens": 5},
}
TIMINGS = {"prompt_n": 26, "cache_n": 64, "predicted_n": 40, "draft_n": 25, "draft_n_accepted": 20}

GUESSES = {
    "num_spec_steps": 11,
    "num_draft_tokens": 25,
    "num_accepted_draft_tokens": 20,
    "acceptance_histogram": [2, 4, 8],
}
TOLD = {
    "usage": {"usage": USAGE},
    "timings": {"timings": TIMINGS},
    "metrics": {
        "usage": {**USAGE, "completion_tokens_details": None},
        "metrics": {"speculative_decoding": GUESSES},
    },
}


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_usage_and_speculative_figures(connect: Engines, told: dict[str, Any]) -> None:
    async def counted(stream: Stream) -> None:
        await stream.open()
        await stream.text("<p>many tokens at once</p>")
        await stream.finish(**told)

    with FakeServer(act=counted) as server:
        engine = connect(server)
        (completion,) = run(engine, [ask()])
    assert len(completion.tokens) == 40
    assert (completion.prompt_tokens, completion.prompt_reused) == (90, 64)
    assert (completion.drafted, completion.accepted) == (25, 20)
    assert (completion.target_passes, completion.accepted_by_position) == (
        (11, (12, 8)) if "metrics" in told else (0, ())
    )
    stats = engine.stats()
    assert (stats.tokens, stats.drafted, stats.accepted, stats.prompt_reused) == (40, 25, 20, 64)


def test_a_count_that_cannot_be_is_not_believed(connect: Engines) -> None:
    async def boasts(stream: Stream) -> None:
        await stream.open()
        await stream.text("<p>a</p>")
        await stream.finish(usage={"completion_tokens": 10**15})

    with FakeServer(act=boasts) as server:
        (completion,) = run(connect(server), [ask()])
    assert (completion.text, len(completion.tokens)) == ("<p>a</p>", 1)


METRICS = """# HELP vllm:spec_decode_num_drafts_total passes
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 10.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 30.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 2e1
vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="m"} 4.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 9.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",position="0"} 5.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 3.0
"""


def test_counters_of_servers() -> None:
    with FakeServer() as one, FakeServer() as other:
        one.metrics = other.metrics = METRICS
        before = read_counters([one.url])
        both = read_counters([one.url, other.url])
        assert before == GuessCounters(10, 30, 24, (14, 3))
        assert both is not None and both - before == before
        other.metrics = ""
        assert read_counters([one.url, other.url]) is None
    assert read_counters([one.url]) is None
    assert parse_counters("llamacpp:tokens_predicted_total 3") is None
    assert parse_counters("llamacpp:spec_decode_num_draft_tokens_total 3") == GuessCounters(drafted=3)
    assert parse_counters("vllm:spec_decode_num_drafts_total NaN") is None


# Faults that pass: the second send brings the answer, and nothing of the first is in it.


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes(connect: Engines, name: str) -> None:
    with FakeServer(faults=(PASSING[name],)) as server:
        engine = connect(server, policy=IMPATIENT if name in SILENT else QUICK)
        (completion,) = run(engine, [ask()])
        assert (completion.text, completion.reason) == ("<p>block</p>", FinishReason.END)
        assert len(server.requests) >= 2


@pytest.mark.parametrize("name", [name for name in PASSING if name not in SILENT])
def test_a_fault_that_stays_ends_the_request_with_a_clear_line(connect: Engines, name: str) -> None:
    policy = Policy(pause=0.001, longest_pause=0.002, patience=0.05, sends=3, waits=3)
    with FakeServer(act=PASSING[name]) as server:
        completions = run(connect(server, policy=policy), [ask("a"), ask("b")])
    for completion in completions:
        assert completion.reason is FinishReason.FAILED and completion.text == ""
        assert isinstance(completion.error, EngineError)
        assert "http://127.0.0.1" in str(completion.error) and "\n" not in str(completion.error)


def test_a_text_that_was_sent_again_begins_with_a_second_admission(connect: Engines) -> None:
    with FakeServer(faults=(cut_politely,)) as server:
        engine = connect(server)
        engine.submit(ask())
        events = list(engine.events())
    kinds = [event.kind for event in events]
    assert kinds.count("admitted") == 2
    again = len(kinds) - 1 - kinds[::-1].index("admitted")
    assert "".join(event.text for event in events[again:]) == "<p>block</p>"


def test_an_end_without_done_is_an_end(connect: Engines) -> None:
    async def no_done(stream: Stream) -> None:
        await stream.open()
        await stream.text("<p>a</p>")
        await stream.event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        await asyncio.sleep(60)

    with FakeServer(act=no_done) as server:
        (completion,) = run(connect(server), [ask()])
        assert (completion.text, len(server.requests)) == ("<p>a</p>", 1)


def test_what_comes_behind_the_end_is_not_heard(connect: Engines) -> None:
    async def goes_on(stream: Stream) -> None:
        await stream.open()
        await stream.event({"choices": [{"delta": {"content": "<p>a</p>"}, "finish_reason": "stop"}], "usage": None})
        await stream.text("more")
        await stream.event({"choices": [{"delta": {}, "finish_reason": "length"}]})
        await stream.event({"choices": [], "usage": {"completion_tokens": 4}})
        await stream.event("[DONE]")
        await stream.event("[DONE]")
        await stream.text("and more")
        await stream.done()

    with FakeServer(act=goes_on) as server:
        engine = connect(server, policy=replace(QUICK, end=PATIENCE))
        engine.submit(ask())
        events = list(engine.events())
        assert len(server.requests) == 1
    completion = events[-1].completion
    assert completion is not None and (completion.text, completion.reason) == ("<p>a</p>", FinishReason.END)
    assert len(completion.tokens) == 4
    assert "".join(event.text for event in events) == "<p>a</p>"


REFUSALS = {
    "too long": (400, "This model's maximum context length is 100 tokens", PromptTooLongError),
    "bad request": (400, "messages: wrong", EngineError),
    "too large": (413, "no", EngineError),
}


@pytest.mark.parametrize(("code", "message", "kind"), REFUSALS.values(), ids=REFUSALS)
def test_what_a_server_refuses_is_not_sent_again(
    connect: Engines, code: int, message: str, kind: type[EngineError]
) -> None:
    with FakeServer(act=status(code, {"error": {"message": message}})) as server:
        (completion,) = run(connect(server), [ask()])
        assert len(server.requests) == 1
    assert type(completion.error) is kind and message in str(completion.error)


@pytest.mark.parametrize("head", ["500 Said", "400 Said", "307 Said\r\nLocation: /v1/elsewhere"])
def test_a_body_without_end_is_read_to_a_limit(connect: Engines, head: str) -> None:
    written = 0

    async def endless(stream: Stream) -> None:
        nonlocal written
        await stream.raw(f"HTTP/1.1 {head}\r\nContent-Type: text/plain\r\n\r\n".encode())
        while written < 256 << 20:
            await stream.raw(b"x" * 65536)
            written += 65536

    with FakeServer(act=endless) as server:
        (completion,) = run(connect(server, policy=replace(QUICK, sends=1)), [ask()])
    assert len(str(completion.error)) < 300
    assert written < 16 << 20  # what fits into the buffers between the two


def test_a_packed_body_is_not_unpacked(connect: Engines) -> None:
    packed = gzip.compress(b"x" * 10_000_000)
    head = "HTTP/1.1 400 Said\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
    with FakeServer(act=lambda stream: stream.raw(head.encode() + packed)) as server:
        (completion,) = run(connect(server), [ask()])
    assert "HTTP 400" in str(completion.error) and "xxx" not in str(completion.error)


def test_fields_that_a_server_does_not_know_are_left_out(connect: Engines) -> None:
    async def strict(stream: Stream) -> None:
        for name in ("chat_template_kwargs", "repeat_penalty", "repetition_penalty", "min_p", "top_k"):
            if name in stream.body:
                await stream.status(400, {"error": {"message": f"Unrecognized request argument supplied: {name}"}})
                return
        if "continuous_usage_stats" in stream.body["stream_options"]:
            await stream.status(422, {"detail": [{"loc": ["body", "stream_options", "continuous_usage_stats"]}]})
            return
        await answer(stream)

    with FakeServer(act=strict) as server:
        engine = connect(server)
        completions = run(engine, [ask("a", sampling=Sampling(temperature=0.5)), ask("b")])
        assert [completion.text for completion in completions] == ["<p>a</p>", "<p>b</p>"]
        before = len(server.requests)
        run(engine, [ask("c")])
        assert len(server.requests) == before + 1
    assert any("does not know min_p" in note for note in engine.notes)


def test_interrupted_answers_make_a_server_serial(connect: Engines) -> None:
    with FakeServer(lambda asked: f"<p>{asked}</p>" * 20, interrupts=True) as server:
        engine = connect(server)
        names = [f"b{number}" for number in range(8)]
        completions = run(engine, [ask(name, max_tokens=900) for name in names])
        assert [completion.text for completion in completions] == [f"<p>{name}</p>" * 20 for name in names]
        assert engine.endpoints[0].serial
        assert any("one request at a time" in note for note in engine.notes)
        server.most_running = 0
        before = len(server.requests)
        run(engine, [ask(name, max_tokens=900) for name in names])
        assert (server.most_running, len(server.requests)) == (1, before + 8)


def test_one_cut_does_not_make_a_server_serial(connect: Engines) -> None:
    with FakeServer(faults=(cut_politely,)) as server:
        engine = connect(server)
        run(engine, [ask(f"b{number}") for number in range(8)])
        assert not engine.endpoints[0].serial


def test_a_connection_that_breaks_does_not_make_a_server_serial(connect: Engines) -> None:
    with FakeServer(faults=(cut_off, aborted, cut_off, aborted)) as server:
        engine = connect(server)
        completions = run(engine, [ask(f"b{number}") for number in range(8)])
        assert {completion.reason for completion in completions} == {FinishReason.END}
        assert not engine.endpoints[0].serial and engine.endpoints[0].failures == 0


def test_a_server_with_few_places_is_asked_for_less(connect: Engines) -> None:
    async def late(stream: Stream) -> None:
        await asyncio.sleep(0.05)
        await answer(stream)

    with FakeServer(places=3, act=late) as server:
        engine = connect(server)
        completions = run(engine, [ask(f"b{number}") for number in range(60)])
        assert {completion.reason for completion in completions} == {FinishReason.END}
        assert engine.endpoints[0].limit < 8 and server.most_running == 3


def test_a_measurement_asks_for_all_at_once(connect: Engines) -> None:
    together = threading.Event()

    async def wait_for_all(stream: Stream) -> None:
        if stream.server.most_running == 40:
            together.set()
        while not together.is_set():
            await asyncio.sleep(0.01)
        await answer(stream)

    with FakeServer(act=wait_for_all) as server:
        completions = run(connect(server, policy=steady_policy(40)), [ask(f"b{number}") for number in range(40)])
        assert {completion.reason for completion in completions} == {FinishReason.END}
        assert len(server.requests) == 40


def test_pages_stay_together_and_spread(connect: Engines) -> None:
    async def late(stream: Stream) -> None:  # all are sent before the first is answered
        await asyncio.sleep(0.5)
        await answer(stream)

    with FakeServer(act=late) as one, FakeServer(act=late) as other:
        run(connect(one, other), [ask(f"p{page}", page=page) for page in range(6) for _ in range(4)])
        pages = [{body["messages"][-1]["content"] for body in server.requests} for server in (one, other)]
    assert len(pages[0]) == len(pages[1]) == 3 and not pages[0] & pages[1]


def test_a_server_that_dies_in_the_middle_loses_nothing(connect: Engines) -> None:
    dead = threading.Event()
    with FakeServer() as one, FakeServer() as other:

        async def die(stream: Stream) -> None:
            await stream.open()
            await stream.text("<p>half")
            dead.set()
            await asyncio.sleep(60)

        one.act = die
        engine = connect(one, other)
        killer = threading.Thread(target=lambda: dead.wait(PATIENCE) and one.stop())
        killer.start()
        names = [f"b{number}" for number in range(24)]
        completions = run(engine, [ask(name, page=page % 6) for page, name in enumerate(names)])
        killer.join()
        assert [completion.text for completion in completions] == [f"<p>{name}</p>" for name in names]
        assert any(one.url in note for note in engine.notes)
        # It comes back, and is asked again.
        one.act, one.requests = answer, []
        one.again()
        for page in itertools.count(100):
            run(engine, [ask("later", page=page)])
            if one.requests or page > 2000:
                break
        assert one.requests


def test_a_server_that_is_started_again_goes_on(connect: Engines) -> None:
    """The only server: what it was writing is sent again, and waiting for it costs no request its tries."""
    begun, gone = threading.Event(), threading.Event()

    async def breaks(stream: Stream) -> None:
        await stream.open()
        await stream.text("<p>half")
        begun.set()
        await asyncio.sleep(60)

    with FakeServer(act=breaks) as server:
        engine = connect(server, policy=replace(QUICK, patience=60.0, sends=2))

        def restart() -> None:
            begun.wait(PATIENCE)
            server.stop()
            while engine.endpoints[0].failures < 6 and not gone.wait(0.01):
                pass
            server.act = answer
            server.again()

        thread = threading.Thread(target=restart)
        thread.start()
        names = [f"b{number}" for number in range(12)]
        completions = run(engine, [ask(name) for name in names])
        gone.set()
        thread.join()
    assert [completion.text for completion in completions] == [f"<p>{name}</p>" for name in names]


def test_nobody_there(connect: Engines) -> None:
    with FakeServer() as server:
        url = server.url
    engine = connect(url)
    completions = run(engine, [ask(f"b{number}") for number in range(20)])
    assert {completion.reason for completion in completions} == {FinishReason.FAILED}
    for completion in completions:
        assert isinstance(completion.error, EngineError) and "cannot connect" in str(completion.error)


def test_a_wrong_model_and_a_wrong_server_are_not_used(connect: Engines) -> None:
    with FakeServer(model="other") as other, FakeServer() as odd, FakeServer() as good:
        odd.models_body = "<html>"
        engine = connect(other, odd, good)
        completions = run(engine, [ask(f"b{page}", page=page) for page in range(9)])
        assert {completion.reason for completion in completions} == {FinishReason.END}
        assert (len(other.requests), len(odd.requests), len(good.requests)) == (0, 0, 9)
        (failed,) = run(connect(other, odd), [ask()])
    assert "serves other, not fake" in str(failed.error) and "no list of models" in str(failed.error)


def test_tls_errors_are_clear_lines(connect: Engines) -> None:
    with FakeServer() as plain, FakeServer(certificate=Path(__file__).parent / "self_signed.pem") as unknown:
        (no_tls,) = run(connect(plain.url.replace("http:", "https:")), [ask()])
        (untrusted,) = run(connect(unknown), [ask()])
    assert "cannot connect" in str(no_tls.error) and "SSL" in str(no_tls.error)
    assert "the certificate is not trusted" in str(untrusted.error)


def test_cancel_before_during_and_after(connect: Engines) -> None:
    started = threading.Event()

    async def slow(stream: Stream) -> None:
        await stream.open()
        await stream.text("<p>")
        started.set()
        await asyncio.sleep(60)

    with FakeServer(act=slow) as server:
        engine = connect(server)
        first, second = engine.submit(ask("a")), engine.submit(ask("b"))
        engine.cancel(second)
        assert started.wait(PATIENCE)
        engine.cancel(first)
        engine.cancel(999)
        ended = {event.request: event.completion for event in engine.events() if event.completion}
        assert {number: completion.reason for number, completion in ended.items()} == {
            first: FinishReason.CANCELLED,
            second: FinishReason.CANCELLED,
        }
        engine.cancel(first)
        server.act = answer
        assert run(engine, [ask("c")])[0].reason is FinishReason.END


def test_close_ends_the_events_and_refuses_more(connect: Engines) -> None:
    async def silent(stream: Stream) -> None:
        await asyncio.sleep(60)

    with FakeServer(act=silent) as server:
        engine = connect(server)
        engine.submit(ask())
        threading.Timer(0.05, engine.close).start()
        assert all(event.completion is None for event in engine.events())
        engine.close()
        with pytest.raises(EngineError, match="closed"):
            engine.submit(ask())


def test_a_monitor_that_fails_fails_its_request_only(connect: Engines) -> None:
    class Broken:
        def feed(self, text: str) -> Verdict:
            raise RuntimeError("a bug")

    def no_monitor() -> Broken:
        raise RuntimeError("no monitor")

    with FakeServer() as server:
        fed, made, good = run(connect(server), [ask(monitor=Broken), ask(monitor=no_monitor), ask()])
    assert [str(completion.error) for completion in (fed, made)] == ["a bug", "no monitor"]
    assert good.reason is FinishReason.END


def test_many_requests_in_order(connect: Engines) -> None:
    with FakeServer() as server:
        names = [json.dumps(number) for number in range(300)]
        completions = run(connect(server), [ask(name, page=number) for number, name in enumerate(names)])
    assert [completion.text for completion in completions] == [f"<p>{name}</p>" for name in names]
