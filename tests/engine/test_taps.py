"""Hidden rows of inner layers, for drafters that read them."""

from __future__ import annotations

import numpy as np
import pytest

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.llama.chat import Prompt
from pagecompiler.engine.llama.depth import Depth
from pagecompiler.engine.llama.drafting.base import Drafter
from pagecompiler.engine.llama.drafting.combined import Guesses
from pagecompiler.engine.llama.lane import Job
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.scheduler import Scheduler
from pagecompiler.engine.llama.target import Batch
from pagecompiler.engine.types import Message, Request

from .test_scheduler import completions, drain


def test_inner_layers_can_be_read(model_path):
    model = Model(model_path)
    context = Context(model, tokens=256, sequences=1, rows=64, outputs=64, threads=1, taps=(0, 1))
    batch = Batch()
    batch.add(0, range(20, 30), 0, wanted=1)
    context.decode(batch)
    first, second = context.hidden(0).copy(), context.hidden(1).copy()
    assert first.shape == second.shape == (10, model.width)
    assert np.isfinite(first).all()
    assert np.abs(first - second).max() > 0
    context.close()
    with pytest.raises(ModelLoadError, match="no layer 99"):
        Context(model, tokens=256, sequences=1, rows=64, outputs=64, threads=1, taps=(99,))
    model.close()


class Reader(Drafter):
    """Reads two inner layers, as an EAGLE-3 head does, and never has a guess."""

    taps = (0, 1)

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, list[tuple[int, dict[int, np.ndarray]]]] = {}

    def propose(self, lanes, depth):
        return [() for _ in lanes]

    def copied(self, source, destination):
        self.rows[destination] = list(self.rows[source])

    def decoded(self, rows):
        held = self.rows.setdefault(rows.sequence, [])
        assert rows.position == len(held)
        held += [(token, {t: rows.hidden[t][i].copy() for t in self.taps}) for i, token in enumerate(rows.tokens)]


def test_a_drafter_may_read_inner_layers_of_all_that_stays(model_path):
    """Every token of the lane comes once with its rows: the prompt, the copied beginning, what was approved."""
    model = Model(model_path)
    contexts = [
        Context(model, tokens=2048, sequences=4, rows=256, outputs=8, threads=1, taps=Reader.taps) for _ in range(2)
    ]
    reader = Reader()
    guesses = Guesses(main=reader, depth=Depth(deepest=1, fixed=1), rows=8, equal=False)
    scheduler = Scheduler(contexts[0], model, lanes=2, chunk=16, keeper_room=64, guesses=guesses)
    shared = tuple(range(20, 50))
    prompts = [Prompt((*shared, 100 + number), len(shared)) for number in range(2)]
    for number, prompt in enumerate(prompts):
        scheduler.submit(Job(number, Request((Message("user", ""),), 9, str(number)), prompt))
    ended = completions(drain(scheduler))
    for number, prompt in enumerate(prompts):
        tokens = [*prompt.tokens, *ended[number].tokens[:-2]]  # of the last step nothing is told: the lane has ended
        batch = Batch()
        batch.add(3, tokens, 0, wanted=1)
        contexts[1].remove(3)
        contexts[1].decode(batch)
        assert [token for token, _ in reader.rows[number]] == tokens
        for tap in Reader.taps:
            fresh = contexts[1].hidden(tap)
            found = np.stack([rows[tap] for _, rows in reader.rows[number]])
            assert np.abs(found - fresh).max() < 0.01 * np.abs(fresh).max()
    for context in contexts:
        context.close()
    model.close()
