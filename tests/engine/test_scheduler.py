"""The scheduler on a target without a model: any order of arriving, ending and cancelling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.chat import Prompt
from pagecompiler.engine.llama.lane import Job
from pagecompiler.engine.llama.sampling import Sampler
from pagecompiler.engine.llama.scheduler import Scheduler
from pagecompiler.engine.llama.target import LostStateError
from pagecompiler.engine.types import Completion, FinishReason, GenerationEvent, Message, Request, Sampling, Verdict

from .fake_target import END, PIECES, FakeTarget, FakeVocabulary, random_logits

PREFIXES = ((), (7, 8, 7, 8, 7), (8, 8, 8), (7,) * 9)
WORD, OPEN = 8, 1


def make_job(number, *, prefix=(), rest=(7,), max_tokens=6, sampling=None, slots=(), monitor=None):
    request = Request(
        (Message("user", ""),),
        max_tokens,
        f"job {number}",
        sampling=sampling or Sampling(),
        slots=frozenset(slots),
        monitor=monitor,
    )
    return Job(number, request, Prompt((*prefix, *rest), len(prefix)))


def make_scheduler(target, lanes=2, chunk=4, keeper_room=12):
    return Scheduler(target, FakeVocabulary(), lanes=lanes, chunk=chunk, keeper_room=keeper_room)


def run(scheduler) -> dict[int, Completion]:
    return completions(drain(scheduler))


def drain(scheduler) -> list[GenerationEvent]:
    events = []
    while not scheduler.idle:
        events += scheduler.step()
    return events


def completions(events) -> dict[int, Completion]:
    return {event.request: event.completion for event in events if event.completion}


def expected(job: Job) -> tuple[int, ...]:
    """What a lone, simple loop writes."""
    tokens, answer, sampler = list(job.prompt.tokens), [], Sampler(job.request.sampling)
    while len(answer) < job.request.max_tokens:
        token = sampler.pick(random_logits(tokens))
        if token == END:
            break
        answer.append(token)
        tokens.append(token)
    return tuple(answer)


@dataclass(frozen=True)
class Arrival:
    job: Job
    step: int
    cancelled_after: int | None


@st.composite
def arrivals(draw) -> list[Arrival]:
    found = []
    for number in range(1, draw(st.integers(1, 8)) + 1):
        job = make_job(
            number,
            prefix=draw(st.sampled_from(PREFIXES)),
            rest=tuple(draw(st.lists(st.integers(1, len(PIECES) - 1), min_size=1, max_size=7))),
            max_tokens=draw(st.integers(1, 9)),
            sampling=Sampling(temperature=draw(st.sampled_from([0.0, 0.7])), top_k=5, seed=draw(st.integers(0, 3))),
        )
        cancelled = draw(st.one_of(st.none(), st.integers(0, 12)))
        found.append(Arrival(job, draw(st.integers(0, 15)), cancelled))
    return found


@settings(max_examples=150, deadline=None)
@given(arrivals(), st.integers(1, 4), st.integers(1, 5))
def test_any_order_gives_the_answers_of_a_lone_loop(plan, lanes, chunk):
    target = FakeTarget()
    scheduler = make_scheduler(target, lanes, chunk)
    events: list[GenerationEvent] = []
    step = 0
    while step < 16 or not scheduler.idle:
        for arrival in plan:
            if arrival.step == step:
                scheduler.submit(arrival.job)
            if arrival.cancelled_after is not None and arrival.step + arrival.cancelled_after == step:
                scheduler.cancel(arrival.job.number)
        events += scheduler.step()
        step += 1
    ended = completions(events)
    assert ended.keys() == {arrival.job.number for arrival in plan}
    for arrival in plan:
        answer, completion = expected(arrival.job), ended[arrival.job.number]
        if completion.reason is FinishReason.CANCELLED:
            assert arrival.cancelled_after is not None
            assert completion.tokens == answer[: len(completion.tokens)]
        else:
            assert completion.tokens == answer
        mine = [event for event in events if event.request == arrival.job.number]
        assert mine[-1].kind == "finished"
        assert "".join(event.text for event in mine) == completion.text
        assert [event.kind for event in mine].count("finished") == 1
        kinds = [event.kind for event in mine[1:-1]]
        assert kinds == ["prompt"] * kinds.count("prompt") + ["text"] * kinds.count("text")
    assert all(sequence >= lanes for sequence in target.held), "lanes are empty at the end"
    assert all(len(batch) <= max(chunk, lanes) for batch in target.batches)


def test_all_filled_lanes_share_each_decode():
    target = FakeTarget()
    scheduler = make_scheduler(target, lanes=5)
    for number in range(5):
        scheduler.submit(make_job(number, rest=(7, number + 1), max_tokens=4))
    run(scheduler)
    sizes = [len(batch.spans) for batch in target.batches]
    assert sizes[:6] == [1] * 5 + [len(set(target.batches[5].sequences))]
    assert all(rows == 1 for batch in target.batches[5:] for _, rows in batch.spans.values())


def test_a_shared_beginning_is_decoded_once():
    target = FakeTarget()
    scheduler = make_scheduler(target, lanes=2)
    for number in range(5):
        scheduler.submit(make_job(number, prefix=PREFIXES[1], rest=(7, 8)))
    ended = run(scheduler)
    assert sum(batch.tokens.count(7) + batch.tokens.count(8) for batch in target.batches if 2 in batch.spans) == 5
    assert {c.prompt_reused for c in ended.values()} == {5}
    assert {c.prompt_tokens for c in ended.values()} == {7}
    assert scheduler.stats.prompt_reused == 25
    assert scheduler.stats.prompt_tokens == 35


def test_a_keeper_changes_hands_only_when_several_gain():
    scheduler = make_scheduler(FakeTarget(), lanes=1, keeper_room=40)

    def reused(*prefixes):
        for number, prefix in enumerate(prefixes):
            scheduler.submit(make_job(number, prefix=prefix))
        return [completion.prompt_reused for completion in run(scheduler).values()]

    often, seldom, third = PREFIXES[1:]
    assert reused(often, seldom, third) == [5, 3, 0]
    assert reused(third, third, often, often, seldom) == [9, 9, 5, 5, 0], "seldom had the least demand"
    assert reused(third, seldom, seldom, often, often) == [9, 3, 3, 5, 5], "third was not waited for any more"


def test_a_monitor_that_cannot_be_made_fails_its_request():
    scheduler = make_scheduler(FakeTarget(), lanes=1)
    scheduler.submit(make_job(1, monitor=lambda: EndsAfter("not", "these", "arguments")))
    scheduler.submit(make_job(2))
    ended = run(scheduler)
    assert isinstance(ended[1].error, TypeError)
    assert ended[2].tokens == expected(make_job(2))


def test_a_beginning_without_room_is_decoded_with_the_prompt():
    scheduler = make_scheduler(FakeTarget(), keeper_room=4)
    job = make_job(1, prefix=PREFIXES[1])
    scheduler.submit(job)
    (completion,) = run(scheduler).values()
    assert (completion.tokens, completion.prompt_reused) == (expected(job), 0)


def test_a_lost_state_fails_the_lanes_and_rebuilds_the_keepers():
    target = FakeTarget(failures={6: LostStateError("lost", native_log="native line")})
    scheduler = make_scheduler(target, lanes=2)
    jobs = [make_job(number, prefix=PREFIXES[1], max_tokens=5) for number in range(4)]
    for job in jobs:
        scheduler.submit(job)
    ended = run(scheduler)
    failed = [n for n, c in ended.items() if c.reason is FinishReason.FAILED]
    assert failed == [0, 1]
    assert all(ended[n].error.native_log == "native line" for n in failed)
    assert [ended[n].tokens for n in (2, 3)] == [expected(job) for job in jobs[2:]]
    assert [ended[n].prompt_reused for n in (2, 3)] == [5, 5]


@pytest.mark.parametrize("decode", range(1, 9))
def test_a_refused_batch_fails_only_its_lanes(decode):
    target = FakeTarget(failures={decode: DecodeError("no room")})
    scheduler = make_scheduler(target, lanes=2)
    jobs = [make_job(number, prefix=PREFIXES[1], max_tokens=5) for number in range(4)]
    for job in jobs:
        scheduler.submit(job)
    ended = run(scheduler)
    good = [job for job in jobs if ended[job.number].reason is not FinishReason.FAILED]
    assert 2 <= len(good) < 4
    assert all(ended[job.number].tokens == expected(job) for job in good)


def test_logits_that_are_not_finite_fail_one_request():
    def logits(tokens):
        row = random_logits(tokens)
        row[3] = np.nan if tokens[0] == 11 else row[3]
        return row

    scheduler = make_scheduler(FakeTarget(logits))
    good = make_job(2, rest=(7, 8))
    scheduler.submit(make_job(1, rest=(11,)))
    scheduler.submit(good)
    ended = run(scheduler)
    assert ended[1].reason is FinishReason.FAILED
    assert isinstance(ended[1].error, DecodeError)
    assert ended[2].tokens == expected(good)


class EndsAfter:
    """A monitor that ends the request at its n-th piece."""

    def __init__(self, pieces: int, verdict: Verdict = Verdict.DONE) -> None:
        self.left = pieces
        self.verdict = verdict

    def feed(self, text: str) -> Verdict:
        self.left -= 1
        return Verdict.GO if self.left else self.verdict


def always(token):
    def logits(tokens):
        row = np.zeros(len(PIECES), np.float32)
        row[token] = 1
        return row

    return logits


@pytest.mark.parametrize(
    ("verdict", "reason"), [(Verdict.DONE, FinishReason.DONE), (Verdict.STUCK, FinishReason.STUCK)]
)
def test_a_monitor_ends_its_request(verdict, reason):
    scheduler = make_scheduler(FakeTarget(always(WORD)))
    scheduler.submit(make_job(1, max_tokens=9, monitor=lambda: EndsAfter(3, verdict)))
    (completion,) = run(scheduler).values()
    assert (completion.text, completion.reason) == (" word word word", reason)
    assert completion.target_passes == 3


def test_a_monitor_that_raises_fails_only_its_request():
    class Broken:
        def feed(self, text):
            raise ValueError("broken")

    scheduler = make_scheduler(FakeTarget(always(WORD)))
    scheduler.submit(make_job(1, monitor=Broken))
    scheduler.submit(make_job(2, max_tokens=2))
    ended = run(scheduler)
    assert ended[1].reason is FinishReason.FAILED
    assert isinstance(ended[1].error, ValueError)
    assert ended[2].text == " word word"


def test_the_end_token_ends_and_is_not_part_of_the_answer():
    scheduler = make_scheduler(FakeTarget(lambda tokens: always(END if len(tokens) == 3 else WORD)(tokens)))
    scheduler.submit(make_job(1))
    (completion,) = run(scheduler).values()
    assert (completion.tokens, completion.reason) == ((WORD, WORD), FinishReason.END)


def test_text_events_hold_whole_characters():
    scheduler = make_scheduler(FakeTarget(lambda tokens: always(9 + (len(tokens) - 1) % 2)(tokens)))
    scheduler.submit(make_job(1, max_tokens=5))
    events = drain(scheduler)
    assert [event.text for event in events if event.kind == "text"] == ["é", "é"]
    assert events[-1].completion.text == "éé"
    assert events[-1].tokens == 5


def test_inside_a_slot_only_numbers_that_are_left_can_be_written():
    def logits(tokens):
        # opens a slot whenever it may, and inside wants number 2, then a word, then a merged token
        row = np.zeros(len(PIECES), np.float32)
        row[[OPEN, WORD, 3, 6]] = (1, 2, 3, 1.5) if tokens[-1] in (OPEN, 2, 3) else (3, 1, 0, 0)
        return row

    scheduler = make_scheduler(FakeTarget(logits))
    scheduler.submit(make_job(1, max_tokens=9, slots=(1, 12)))
    (completion,) = run(scheduler).values()
    assert completion.text == "{{12}}</{{1}}</{{2", "and with no number left the mask is off"


def test_a_job_waits_until_there_is_room_for_it_and_those_behind_wait_with_it():
    scheduler = Scheduler(FakeTarget(), FakeVocabulary(), lanes=4, chunk=4, keeper_room=12, room=20)
    for number, budget in enumerate((6, 6, 18, 1)):
        scheduler.submit(make_job(number, max_tokens=budget))
    events = drain(scheduler)
    order = [(event.kind, event.request) for event in events if event.kind not in ("prompt", "text")]
    assert order.index(("admitted", 1)) < order.index(("finished", 0))
    assert order.index(("admitted", 2)) > max(order.index(("finished", 0)), order.index(("finished", 1)))
    assert order.index(("admitted", 3)) > order.index(("admitted", 2))
    assert len(completions(events)) == 4
