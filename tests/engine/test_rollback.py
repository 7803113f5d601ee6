"""After a rejection at any depth the next logits are those of a fresh prefill, recurrent state included."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.engine.llama.chat import Prompt
from pagecompiler.engine.llama.depth import Depth
from pagecompiler.engine.llama.drafting.combined import Guesses
from pagecompiler.engine.llama.drafting.previous import Previous
from pagecompiler.engine.llama.lane import Job
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.probe import rollback_problem
from pagecompiler.engine.llama.scheduler import KEEPERS, Scheduler
from pagecompiler.engine.llama.target import Batch
from pagecompiler.engine.types import Message, Request

from .oracle import Oracle
from .recorder import Recorder
from .test_scheduler import completions, drain

TOLERANCE = 3e-3
"""Of the range of the logits: what rounding of differently shaped batches does stays well below it."""

SHARED = tuple(range(20, 50))
WRONG = 60


def make_jobs(model: Model, lengths, *, previous=()) -> list[Job]:
    jobs = []
    for number, length in enumerate(lengths):
        rest = tuple(100 + (7 * number + 3 * i) % 100 for i in range(3 + 5 * number))
        request = Request((Message("user", ""),), length, f"job {number}")
        jobs.append(Job(number, request, Prompt((*SHARED, *rest), len(SHARED)), previous[number] if previous else ()))
    return jobs


def run(model: Model, jobs, *, rollback, guesses, rows=96) -> tuple[dict, Recorder]:
    context = Context(
        model, tokens=4096, sequences=len(jobs) + KEEPERS, rows=rows, outputs=rows, threads=1, rollback=rollback
    )
    recorder = Recorder(context)
    scheduler = Scheduler(recorder, model, lanes=len(jobs), chunk=64, keeper_room=256, guesses=guesses(context))
    for job in jobs:
        scheduler.submit(job)
    ended = completions(drain(scheduler))
    context.close()
    return ended, recorder


def plain(model: Model, jobs) -> dict[int, tuple[int, ...]]:
    ended, _ = run(model, jobs, rollback=0, guesses=lambda context: None)
    return {number: completion.tokens for number, completion in ended.items()}


def check_rows(model: Model, jobs, ended, recorder: Recorder) -> None:
    """Every token was picked at logits that a fresh evaluation gives as well."""
    context = Context(model, tokens=1024, sequences=1, rows=512, outputs=512, threads=1)
    for job in jobs:
        answer, prompt = ended[job.number].tokens, job.prompt.tokens
        context.clear()
        batch = Batch()
        batch.add(0, (*prompt, *answer[:-1]), 0, wanted=len(answer))
        fresh = context.decode(batch)
        found = np.stack([recorder.rows[(*prompt, *answer[:i])] for i in range(len(answer))])
        difference = np.abs(found - fresh).max(axis=1)
        assert difference.max() < TOLERANCE * np.ptp(fresh), f"job {job.number}, token {difference.argmax()}"
    context.close()


@pytest.fixture(scope="module", params=["llama", "qwen35"])
def model(request, models):
    model = Model(models[request.param])
    yield model
    model.close()


@settings(max_examples=12, deadline=None)
@given(
    lengths=st.lists(st.integers(2, 24), min_size=1, max_size=5),
    depth=st.integers(1, 4),
    error_rate=st.sampled_from([0.1, 0.3, 0.6]),
    seed=st.integers(0, 99),
)
def test_rejection_at_any_depth_in_any_order_of_finishing(model, lengths, depth, error_rate, seed):
    jobs = make_jobs(model, lengths)
    answers = plain(model, jobs)

    def errs(number, place):
        return random.Random(f"{seed} {number} {place}").random() < error_rate

    def guesses(context):
        oracle = Oracle(answers, errs, WRONG)
        return Guesses(
            main=oracle,
            depth=Depth(deepest=depth, fixed=depth),
            rows=5 * (1 + depth),
            equal=context.rollback is not None,
        )

    ended, recorder = run(model, jobs, rollback=depth, guesses=guesses)
    assert {number: completion.tokens for number, completion in ended.items()} == answers
    check_rows(model, jobs, ended, recorder)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_rejection_at_each_place_of_a_guess(model, depth):
    jobs = make_jobs(model, [depth * 6 + 1] * 3)
    answers = plain(model, jobs)
    for place in range(depth):
        ended, recorder = run(
            model,
            jobs,
            rollback=depth,
            guesses=lambda context, place=place: Guesses(
                main=Oracle(answers, lambda number, at: at % (place + 2) == place, WRONG),
                depth=Depth(deepest=depth, fixed=depth),
                rows=5 * (1 + depth),
                equal=context.rollback is not None,
            ),
        )
        assert {number: completion.tokens for number, completion in ended.items()} == answers
        check_rows(model, jobs, ended, recorder)


@pytest.mark.parametrize("rollback", [0, 3])
def test_long_strides_are_restored_and_replayed(model, rollback):
    """The old answers differ in places that lie deep within a stride."""
    answers = plain(model, make_jobs(model, [80, 60, 70]))
    old = {number: list(answer) for number, answer in answers.items()}
    old[0][30] = WRONG
    del old[0][60:63]
    old[1][20:20] = [WRONG] * 5
    old[2][45] = WRONG
    jobs = make_jobs(model, [80, 60, 70], previous=[tuple(old[number]) for number in range(3)])

    def guesses(context):
        oracle = Oracle(answers, lambda number, place: place % 5 == 1, WRONG)
        return Guesses(
            previous=Previous(first=8, longest=64),
            main=oracle if rollback else None,
            depth=Depth(deepest=rollback, fixed=rollback),
            rows=80,
            equal=context.rollback is not None,
        )

    ended, recorder = run(model, jobs, rollback=rollback, guesses=guesses)
    assert {number: completion.tokens for number, completion in ended.items()} == answers
    assert bool(recorder.restores) == model.recurrent
    assert all(completion.target_passes < len(completion.tokens) // 2 for completion in ended.values())
    check_rows(model, jobs, ended, recorder)


def test_a_saved_state_brings_back_a_sequence_with_a_pending_rollback(models: dict[str, Path]):
    """The state is saved as it will be after the rollback."""
    model = Model(models["qwen35"])
    context = Context(model, tokens=512, sequences=2, rows=64, outputs=64, threads=1, rollback=3)

    def decode(tokens, position):
        batch = Batch()
        batch.add(0, tokens, position, wanted=1)
        return context.decode(batch)[0].copy()

    decode(SHARED[:20], 0)
    decode(SHARED[20:24], 20)
    context.remove(0, 22)
    state = context.save(0)
    decode((70, 71, 72, 73, 74, 75), 22)
    context.restore(0, state)
    assert context.memory.last_position(0) == 21
    restored = decode((80,), 22)
    context.remove(0)
    fresh = decode((*SHARED[:22], 80), 0)
    assert np.abs(restored - fresh).max() < TOLERANCE * np.ptp(fresh)
    context.close()
    model.close()


def test_the_probe_sees_a_state_that_is_not_rolled_back(models: dict[str, Path]):
    model = Model(models["qwen35"])
    context = Context(model, tokens=512, sequences=2, rows=64, outputs=8, threads=1, rollback=3)
    tokens = tuple(range(40, 46))
    assert rollback_problem(context, tokens, 3) == ""
    assert "3 snapshots" in rollback_problem(context, tokens, 4)

    class Forgetful(Recorder):
        """Cuts the attention part only, as if there were no snapshots."""

        def remove(self, sequence: int, start: int = 0) -> None:
            if start == 0:
                self.context.remove(sequence)
            else:
                state = self.context.save(sequence)
                self.context.restore(sequence, type(state)(start, _moved(state.data, start)))

        def decode(self, batch: Batch):
            return self.context.decode(batch)

    assert "other logits" in rollback_problem(Forgetful(context), tokens, 3)
    context.close()
    model.close()


def _moved(data, length: int):
    """A saved state that says it ends at another position: cell count, position, …"""
    moved = type(data).from_buffer_copy(data)
    at = bytes(data).index(int.to_bytes(1, 4, "little")) + 4
    moved[at : at + 4] = list(int.to_bytes(length - 1, 4, "little"))
    return moved
