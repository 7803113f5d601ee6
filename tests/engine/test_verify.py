"""Guess and verify on a target without a model: whatever is guessed, the answers are those of a lone loop."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.depth import Depth
from pagecompiler.engine.llama.drafting.combined import Guesses
from pagecompiler.engine.llama.drafting.lookup import Lookup
from pagecompiler.engine.llama.drafting.previous import Previous
from pagecompiler.engine.llama.scheduler import Scheduler
from pagecompiler.engine.llama.target import LostStateError
from pagecompiler.engine.types import FinishReason, Prefer, Sampling

from .fake_target import END, PIECES, FakeTarget, FakeVocabulary, random_logits
from .oracle import Oracle, with_previous
from .test_scheduler import PREFIXES, WORD, always, completions, drain, expected, make_job

ROWS = 24
WRONG = 11


def make_guesses(target, *, depth=3, oracle=None, previous=None, lookup=False, chosen=None) -> Guesses:
    return Guesses(
        previous=previous,
        lookup=Lookup() if lookup else None,
        main=oracle,
        depth=chosen or Depth(deepest=depth, fixed=depth),
        rows=ROWS,
        equal=target.rollback is not None,
    )


def make_scheduler(target, guesses, *, lanes=2, chunk=4, prefer=Prefer.LATENCY) -> Scheduler:
    return Scheduler(target, FakeVocabulary(), lanes=lanes, chunk=chunk, keeper_room=12, guesses=guesses, prefer=prefer)


def endless(tokens):
    """Logits of a model that never ends its answer."""
    row = random_logits(tokens)
    row[END] = -99
    return row


def endless_answer(job) -> tuple[int, ...]:
    tokens = list(job.prompt.tokens)
    while len(tokens) < len(job.prompt.tokens) + job.request.max_tokens:
        tokens.append(int(endless(tokens).argmax()))
    return tuple(tokens[len(job.prompt.tokens) :])


def edited(tokens, seed) -> list[int]:
    """A previous answer: some tokens changed, left out or added."""
    chance, old = random.Random(seed), list(tokens)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(old) + 1)
        match chance.randrange(4):
            case 0:
                old[at:at] = [chance.randrange(1, len(PIECES))] * chance.randrange(1, 9)
            case 1:
                del old[at : at + chance.randrange(1, 5)]
            case 2:
                old[at : at + 1] = [WRONG]
            case 3:
                old = old[at:]
    return old


@st.composite
def jobs(draw):
    return [
        make_job(
            number,
            prefix=draw(st.sampled_from(PREFIXES)),
            rest=tuple(draw(st.lists(st.integers(1, len(PIECES) - 1), min_size=1, max_size=7))),
            max_tokens=draw(st.integers(1, 40)),
            sampling=Sampling(temperature=draw(st.sampled_from([0.0, 0.7])), top_k=5, seed=draw(st.integers(0, 3))),
        )
        for number in range(1, draw(st.integers(1, 7)) + 1)
    ]


@settings(max_examples=200, deadline=None)
@given(
    jobs=jobs(),
    lanes=st.integers(1, 5),
    depth=st.integers(0, 4),
    rollback=st.sampled_from([None, 4, 6]),
    error_rate=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    sources=st.sets(st.sampled_from(["oracle", "previous", "lookup"])),
    seed=st.integers(0, 99),
)
def test_guesses_never_change_an_answer(jobs, lanes, depth, rollback, error_rate, sources, seed):
    answers = {job.number: expected(job) for job in jobs}

    def errs(number, place):
        return random.Random(f"{seed} {number} {place}").random() < error_rate

    target = FakeTarget(rollback=rollback)
    guesses = make_guesses(
        target,
        depth=depth,
        oracle=Oracle(answers, errs, WRONG) if "oracle" in sources else None,
        previous=Previous(first=3, longest=16) if "previous" in sources else None,
        lookup="lookup" in sources,
    )
    scheduler = make_scheduler(target, guesses, lanes=lanes)
    for job in jobs:
        old = edited(answers[job.number], f"{seed} {job.number}") if "previous" in sources else ()
        scheduler.submit(with_previous(job, old))
    ended = completions(drain(scheduler))
    for job in jobs:
        completion = ended[job.number]
        assert completion.tokens == answers[job.number]
        assert completion.accepted <= completion.drafted
        assert sum(completion.accepted_by_position) <= completion.accepted
    assert scheduler.stats.tokens == sum(len(answer) for answer in answers.values())
    assert scheduler.stats.accepted == sum(c.accepted for c in ended.values())
    assert all(sequence >= lanes for sequence in target.held), "lanes are empty at the end"
    for batch in target.batches:
        assert len(batch) <= max(ROWS, lanes * (1 + depth))
        if rollback is not None:
            assert len({rows for _, rows in batch.spans.values()}) == 1, "unequal rows split the batch"


def test_a_guess_that_is_right_saves_its_passes():
    job = make_job(1, rest=(7, 3), max_tokens=33)
    answer = expected(job)
    for depth in range(5):
        target = FakeTarget(rollback=4)
        oracle = Oracle({1: answer}, lambda number, place: False, WRONG)
        scheduler = make_scheduler(target, make_guesses(target, depth=depth, oracle=oracle))
        scheduler.submit(job)
        (completion,) = completions(drain(scheduler)).values()
        steps = -(-(len(answer) + (completion.reason is FinishReason.END) - 1) // (1 + depth))
        assert completion.target_passes == 1 + steps
        assert completion.tokens == answer


def test_padding_is_never_counted_as_drafted():
    """One lane has a guess, the other one none: equal rows, and only the guess counts."""
    job, other = make_job(1, rest=(7, 3), max_tokens=5), make_job(2, rest=(5,), max_tokens=5)
    answers = {1: expected(job), 2: ()}
    target = FakeTarget(rollback=4)
    scheduler = make_scheduler(target, make_guesses(target, oracle=Oracle(answers, lambda number, place: True, WRONG)))
    scheduler.submit(job)
    scheduler.submit(other)
    ended = completions(drain(scheduler))
    assert ended[1].drafted > 0 == ended[1].accepted
    assert ended[2].drafted == 0
    assert ended[2].tokens == expected(other)


def test_prompt_chunks_never_mix_with_verifying_lanes():
    job, late = make_job(1, rest=(7, 3), max_tokens=30), make_job(2, rest=(5,) * 11, max_tokens=4)
    target = FakeTarget(rollback=4)
    answers = {each.number: expected(each) for each in (job, late)}
    scheduler = make_scheduler(target, make_guesses(target, oracle=Oracle(answers, lambda n, p: p % 3 == 0, WRONG)))
    scheduler.submit(job)
    for _ in range(4):
        scheduler.step()
    scheduler.submit(late)
    drain(scheduler)
    filling = [batch for batch in target.batches if batch.outputs < len(batch) and len(batch.spans) == 1]
    assert len(filling) >= 3
    for batch in target.batches:
        assert len(batch.spans) == 1 or batch.outputs >= len(batch.spans)


def test_a_long_stride_does_not_hold_up_the_others():
    """Lanes take turns: one with a long guess, the others with short ones."""
    long, short = make_job(1, rest=(7, 3), max_tokens=40), make_job(2, rest=(5, 2), max_tokens=40)
    answers = {each.number: endless_answer(each) for each in (long, short)}
    target = FakeTarget(endless, rollback=2)
    guesses = make_guesses(
        target,
        depth=2,
        oracle=Oracle(answers, lambda n, p: False, WRONG),
        previous=Previous(first=8, longest=16),
    )
    scheduler = make_scheduler(target, guesses)
    scheduler.submit(with_previous(long, answers[1]))
    scheduler.submit(short)
    ended = completions(drain(scheduler))
    assert [ended[n].tokens for n in (1, 2)] == [answers[1], answers[2]]
    assert ended[1].target_passes < ended[2].target_passes
    verifying = [set(batch.spans) for batch in target.batches if batch.outputs > 1]
    assert {0} in verifying
    assert {1} in verifying


def test_an_old_answer_is_joined_again_behind_an_edit():
    job = make_job(1, rest=(6, 4, 4), max_tokens=40)
    answer = endless_answer(job)
    for old in (
        answer,
        [*answer[:12], WRONG, *answer[13:]],
        [*answer[:12], *answer[17:]],
        [*answer[:12], 5, 5, 5, 5, 5, 5, *answer[12:]],
    ):
        target = FakeTarget(endless, rollback=2)
        guesses = make_guesses(target, depth=0, previous=Previous(first=4, longest=16))
        scheduler = make_scheduler(target, guesses)
        scheduler.submit(with_previous(job, old))
        (completion,) = completions(drain(scheduler)).values()
        assert completion.tokens == answer
        assert completion.target_passes <= (5 if old is answer else 22)
        assert completion.accepted >= 24


@pytest.mark.parametrize("decode", range(2, 14))
def test_a_failed_decode_fails_only_its_lanes(decode):
    target = FakeTarget(failures={decode: DecodeError("no room")}, rollback=4)
    all_jobs = [make_job(number, prefix=PREFIXES[1], rest=(number, 2), max_tokens=12) for number in range(1, 6)]
    answers = {job.number: expected(job) for job in all_jobs}
    oracle = Oracle(answers, lambda number, place: place % 4 == 1, WRONG)
    scheduler = make_scheduler(target, make_guesses(target, oracle=oracle))
    for job in all_jobs:
        scheduler.submit(with_previous(job, answers[job.number] if job.number % 2 else ()))
    ended = completions(drain(scheduler))
    good = [job for job in all_jobs if ended[job.number].reason is not FinishReason.FAILED]
    assert len(good) >= 3
    assert all(ended[job.number].tokens == answers[job.number] for job in good)


@pytest.mark.parametrize("decode", range(2, 14, 3))
def test_after_a_lost_state_everything_starts_anew(decode):
    target = FakeTarget(failures={decode: LostStateError("gone")}, rollback=4)
    all_jobs = [make_job(number, prefix=PREFIXES[1], rest=(number, 2), max_tokens=12) for number in range(1, 6)]
    answers = {job.number: expected(job) for job in all_jobs}
    guesses = make_guesses(
        target,
        oracle=Oracle(answers, lambda number, place: place % 4 == 1, WRONG),
        previous=Previous(first=4, longest=16),
        lookup=True,
    )
    scheduler = make_scheduler(target, guesses)
    for job in all_jobs:
        scheduler.submit(with_previous(job, answers[job.number]))
    ended = completions(drain(scheduler))
    good = [job for job in all_jobs if ended[job.number].reason is not FinishReason.FAILED]
    assert len(good) >= 3
    assert all(ended[job.number].tokens == answers[job.number] for job in good)


def test_throughput_may_leave_lanes_empty():
    """Two lanes give more tokens a second than three here, so a third job waits."""
    chosen = Depth(deepest=0, known=None)
    for _ in range(9):
        for lanes, seconds in ((1, 1.0), (2, 1.1), (3, 9.0)):
            chosen.observed(lanes, 0, seconds)
    for prefer, most in ((Prefer.LATENCY, 3), (Prefer.THROUGHPUT, 2)):
        target = FakeTarget(endless)
        scheduler = make_scheduler(target, make_guesses(target, chosen=chosen), lanes=3, prefer=prefer)
        for number in range(1, 4):
            scheduler.submit(make_job(number, rest=(number,), max_tokens=9))
        for _ in range(9):
            scheduler.step()
        assert len(target.held) == most


@pytest.mark.parametrize(("logits", "low", "high"), [(always(WORD), 0.9, 1.0), (endless, 0.0, 0.4)])
def test_matches_are_judged_while_a_model_drafts(logits, low, high):
    """Repeated text makes them right, random text does not; they need not be used to know that."""
    target = FakeTarget(logits, rollback=2)
    job = make_job(1, rest=(7, 3), max_tokens=26)
    tokens = list(job.prompt.tokens)
    for _ in range(26):
        tokens.append(int(logits(tokens).argmax()))
    guesses = Guesses(
        lookup=Lookup(),
        main=Oracle({1: tokens[2:]}, lambda number, place: False, WRONG),
        depth=Depth(deepest=2, fixed=2),
        lookup_depth=Depth(deepest=2, least=1),
        rows=ROWS,
        equal=True,
    )
    guesses.ways.choose = lambda lanes: (0, 2)
    scheduler = make_scheduler(target, guesses)
    scheduler.submit(job)
    (completion,) = completions(drain(scheduler)).values()
    assert list(completion.tokens) == tokens[2:]
    assert low <= guesses.ways.depths[1].acceptance.share(0) <= high
