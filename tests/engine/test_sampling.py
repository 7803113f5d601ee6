"""The sampler against a slow, plain reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.sampling import Sampler, distribution
from pagecompiler.engine.types import Sampling

ROW = np.array([0.5, 2.0, 1.0, -1.0, 1.5, 2.0, -3.0], np.float32)

rows = st.lists(st.integers(-40, 40), min_size=1, max_size=30).map(lambda v: np.array(v, np.float32) / 4)
samplings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.3, 1.0, 1.7]),
    top_k=st.integers(0, 12),
    top_p=st.sampled_from([0.0, 0.1, 0.5, 0.9, 0.999, 1.0]),
    min_p=st.sampled_from([0.0, 0.01, 0.2, 1.0]),
)


def plain_distribution(row, sampling: Sampling) -> dict[int, float]:
    ids = sorted(range(len(row)), key=lambda i: (-row[i], i))
    if sampling.top_k:
        ids = ids[: sampling.top_k]
    if sampling.top_p < 1:
        weights = [math.exp(row[i] - row[ids[0]]) for i in ids]
        held, count = 0.0, 0
        while count < len(ids) and (count == 0 or held < sampling.top_p * sum(weights) * (1 - 1e-12)):
            held += weights[count]
            count += 1
        ids = ids[:count]
    if sampling.min_p:
        ids = [i for i in ids if math.exp(row[i] - row[ids[0]]) >= sampling.min_p * (1 - 1e-12)]
    weights = [math.exp((row[i] - row[ids[0]]) / sampling.temperature) for i in ids]
    return {i: weight / sum(weights) for i, weight in zip(ids, weights, strict=True)}


@settings(deadline=None)
@given(rows, samplings)
def test_filters_are_those_of_a_plain_reference(row, sampling):
    ids, probabilities = distribution(row, sampling)
    found = dict(zip(ids.tolist(), probabilities.tolist(), strict=True))
    assert found == pytest.approx(plain_distribution(row, sampling))


@settings(deadline=None)
@given(rows, samplings)
def test_a_draw_is_a_token_that_is_left(row, sampling):
    ids, _ = distribution(row, sampling)
    assert Sampler(sampling).pick(row) in ids


@settings(deadline=None)
@given(rows, st.data())
def test_allowed_tokens_are_a_smaller_row(row, data):
    allowed = np.array(sorted(data.draw(st.sets(st.integers(0, len(row) - 1), min_size=1))))
    assert Sampler(Sampling()).pick(row, allowed) == allowed[row[allowed].argmax()]
    hot = Sampling(temperature=1.0, seed=data.draw(st.integers(0, 9)))
    assert Sampler(hot).pick(row, allowed) == allowed[Sampler(hot).pick(row[allowed])]


def test_a_large_vocabulary_is_cut_as_a_small_one():
    row = np.random.default_rng(5).normal(0, 3, 20_000).astype(np.float32)
    sampling = Sampling(temperature=1.0, top_p=0.95)
    ids, probabilities = distribution(row, sampling)
    assert len(ids) > 256
    found = dict(zip(ids.tolist(), probabilities.tolist(), strict=True))
    assert found == pytest.approx(plain_distribution(row.astype(float), sampling))


def test_temperature_zero_takes_the_first_of_equals():
    assert Sampler(Sampling()).pick(ROW) == 1
    assert Sampler(Sampling(top_k=3, min_p=0.5)).pick(ROW, np.array([0, 2, 5])) == 5


def test_draws_follow_the_distribution():
    sampling = Sampling(temperature=0.8, top_k=5, seed=1)
    sampler = Sampler(sampling)
    draws = 20_000
    counts = np.bincount([sampler.pick(ROW) for _ in range(draws)], minlength=len(ROW))
    ids, probabilities = distribution(ROW, sampling)
    assert counts.sum() == counts[ids].sum()
    wanted = draws * probabilities
    chi_square = float(((counts[ids] - wanted) ** 2 / wanted).sum())
    assert chi_square < 18.5, "the 99.9 % bound at four degrees of freedom"


def test_a_seed_gives_its_own_sequence():
    def draw(seed):
        sampler = Sampler(Sampling(temperature=1.0, seed=seed))
        return [sampler.pick(ROW) for _ in range(50)]

    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_finite_are_an_error(value, temperature):
    row = ROW.copy()
    row[2] = value
    with pytest.raises(DecodeError, match="not finite"):
        Sampler(Sampling(temperature=temperature)).pick(row, np.array([0, 1]))
