"""Every decode method on real models writes what the model says; only the passes differ."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from benchmarks.edits import edits
from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.llama import engine as engine_module
from pagecompiler.engine.llama.drafting.base import Decoded
from pagecompiler.engine.llama.drafting.mtp import Mtp
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.methods import nextn_layers, plan_methods
from pagecompiler.engine.llama.native_log import LOG_DEBUG, native_log
from pagecompiler.engine.llama.sampling import distribution
from pagecompiler.engine.llama.support import NativeSupport, device_names
from pagecompiler.engine.llama.target import NEXTN, Batch
from pagecompiler.engine.types import Completion, Decoding, Method, Sampling

from .evaluation import Evaluation
from .recorder import Recorder
from .test_llama_engine import KINDS, ask, run
from .tiny_models import write_llama, write_mtp_block, write_qwen35, write_without_block

LENGTHS = (40, 22, 33, 28, 37)
PLAIN = Decoding(Method.PLAIN)
ODD = 120  # a token that the answers do not hold


def make_engine(path: Path, decoding: Decoding, **more) -> LlamaEngine:
    return LlamaEngine(path, **({"context_tokens": 768, "threads": 1} | more), decoding=decoding)


def requests(**more):
    return [ask(content, max_tokens=length, **more) for content, length in zip(KINDS, LENGTHS, strict=True)]


def answers(path: Path, decoding: Decoding, asked=None, **more) -> list[Completion]:
    with make_engine(path, decoding, **more) as engine:
        return run(engine, asked or requests())


@pytest.fixture(scope="module")
def drafts(tmp_path_factory) -> dict[str, Path]:
    """Models that often, but not always, draft what the tiny targets write."""
    folder = tmp_path_factory.mktemp("drafts")
    return {
        "llama": write_llama(folder / "llama.gguf", blur=0.15),
        "qwen35": write_qwen35(folder / "qwen35.gguf", blur=0.15),
    }


def decodings(name: str, path: Path, drafts: dict[str, Path], depth: int | None) -> list[Decoding]:
    found = [Decoding(Method.LOOKUP, depth)]
    if name != "llama":
        found.append(Decoding(Method.MTP, depth))
    if name in drafts:
        found.append(Decoding(Method.DRAFT, depth, draft_model=drafts[name]))
    return found


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_every_method_writes_what_the_model_says(model_path, evaluation, drafts, depth):
    plain = answers(model_path, PLAIN)
    for decoding in decodings(model_path.stem, model_path, drafts, depth):
        completions = answers(model_path, decoding)
        evaluation.check_approved(requests(), completions)
        assert [len(c.tokens) for c in completions] == [len(c.tokens) for c in plain]
        assert all(c.target_passes <= p.target_passes for c, p in zip(completions, plain, strict=True))
        if decoding.method is Method.DRAFT:
            drafted, accepted = (sum(getattr(c, name) for c in completions) for name in ("drafted", "accepted"))
            assert 0 < accepted < drafted, "both outcomes are exercised"
            assert all(c.draft_passes > 0 for c in completions)


def test_auto_writes_what_the_model_says(model_path, evaluation):
    asked = requests() * 2
    evaluation.check_approved(asked, answers(model_path, Decoding(), asked))


@pytest.mark.parametrize("target", ["llama", "qwen35"])
@pytest.mark.parametrize("draft", ["llama", "qwen35"])
def test_any_architecture_drafts_for_any(models, evaluation_of, drafts, target, draft):
    completions = answers(models[target], Decoding(Method.DRAFT, 3, draft_model=drafts[draft]))
    evaluation_of(models[target]).check_approved(requests(), completions)


@pytest.fixture
def evaluation_of():
    made = []

    def make(path):
        made.append(Evaluation(path))
        return made[-1]

    yield make
    for each in made:
        each.__exit__()


def test_a_hybrid_draft_is_put_back_after_each_draft(models):
    """The model drafts for itself: were its state not restored, guesses after the first would be wrong."""
    completions = answers(models["qwen35"], Decoding(Method.DRAFT, 4, draft_model=models["qwen35"]))
    drafted, accepted = (sum(getattr(c, name) for c in completions) for name in ("drafted", "accepted"))
    budget_ends = 4 * len(completions)  # a last guess may reach over the budget
    assert drafted - accepted <= budget_ends


def test_what_an_attention_only_draft_has_decoded_and_was_approved_stays(models):
    """The model drafts for itself, so all is approved: two new rows a step, the last guess and the pending token."""
    with make_engine(models["llama"], Decoding(Method.DRAFT, 3, draft_model=models["llama"]), lanes=1) as engine:
        context = engine._guesses._main._context
        rows, decode = [], context.best
        context.best = lambda batch, hidden=None: (rows.append(len(batch)), decode(batch, hidden))[1]
        (completion,) = run(engine, requests()[:1])
    catching_up = rows[rows.index(1) + 3 :: 3]
    assert len(catching_up) > 5 and set(catching_up) == {2}
    assert completion.drafted - completion.accepted <= 4


def test_the_block_drafts_the_same_from_a_file_of_its_own(hybrid_path, tmp_path):
    block = write_mtp_block(hybrid_path, tmp_path / "block.gguf")
    assert block.stat().st_size < hybrid_path.stat().st_size
    own = answers(hybrid_path, Decoding(Method.MTP, 2))
    separate = answers(hybrid_path, Decoding(Method.MTP, 2, draft_model=block))
    assert [c.tokens for c in own] == [c.tokens for c in separate]
    assert [(c.drafted, c.accepted) for c in own] == [(c.drafted, c.accepted) for c in separate]


class Witness:
    """Compares each draft of the block with one of a block that was just shown the whole text."""

    def __init__(self, engine: LlamaEngine) -> None:
        self.compared = 0
        self._engine = engine
        self._drafter = engine._guesses._main
        self._recorder = Recorder(engine._context)
        self._fresh = Mtp(engine._model, engine._model, tokens=4096, sequences=2, rows=512, threads=1)
        self._propose = self._drafter.propose
        self._drafter.propose = self.propose
        engine._scheduler._target = self._recorder

    def propose(self, lanes, depth):
        for lane in lanes:
            memory = self._drafter._context.memory
            known = memory.last_position(lane.sequence) + self._drafter.behind(lane.sequence)
            assert known == self._engine._context.memory.last_position(lane.sequence)
        guesses = self._propose(lanes, depth)
        for lane, guess in zip(lanes, guesses, strict=True):
            assert len(guess) == depth
            if lane.sequence == 1 and len(lane.emitted) % 3 == 0:
                self.check(lane, guess, depth)
        return guesses

    def check(self, lane, guess, depth):
        tokens = [*lane.job.prompt.tokens, *lane.emitted[:-1]]
        hidden = hidden_rows(self._engine._model, tokens)
        self._fresh.finished(0)
        self._fresh.decoded(decoded(tokens, hidden))
        (again,) = self._fresh.propose([Shown(lane)], depth)
        assert list(guess) == list(again)
        self.compared += 1


class Shown:
    """A lane as another drafter sees it, in sequence 0."""

    def __init__(self, lane) -> None:
        self.sequence, self.position, self.pending, self.draft_passes = 0, lane.position, lane.pending, 0


def hidden_rows(model, tokens):
    context = Context(model, tokens=1024, sequences=1, rows=512, outputs=1, threads=1, taps=(NEXTN,))
    batch = Batch()
    batch.add(0, tokens, 0, wanted=1)
    context.decode(batch)
    rows = context.hidden(NEXTN).copy()
    context.close()
    return rows


def decoded(tokens, hidden):
    return Decoded(0, 0, tokens, {NEXTN: hidden})


def test_the_block_follows_the_target_exactly(hybrid_path):
    """Positions are equal after every sync, and drafts are those of a block that saw only what was approved."""
    with make_engine(hybrid_path, Decoding(Method.MTP, 3)) as engine:
        witness = Witness(engine)
        run(engine, requests())
        assert witness.compared > 5
        witness._fresh.close()


def test_a_block_that_was_not_asked_for_long_catches_up_exactly(hybrid_path):
    """Most steps are plain, also those in which prompts are read; a draft now and then is as good as any."""
    with make_engine(hybrid_path, Decoding(Method.MTP, 3)) as engine:
        witness = Witness(engine)
        steps = itertools.count()
        engine._guesses.ways.choose = lambda lanes: (0, 3 if next(steps) % 5 == 4 else 0)
        engine._guesses._main.wanted = False
        completions = run(engine, [ask("Write. " * 60, max_tokens=60), *requests()])
        assert witness.compared > 0
        assert any(len(c.accepted_by_position) == 3 for c in completions)
        witness._fresh.close()


@pytest.mark.parametrize("method", [Method.PLAIN, Method.MTP, Method.DRAFT, Method.LOOKUP, Method.AUTO])
@pytest.mark.parametrize("depth", [1, 3])
def test_five_lanes_are_one_pass_over_the_weights_a_step(hybrid_path, drafts, monkeypatch, method, depth):
    monkeypatch.setenv("LLAMA_BATCH_DEBUG", "1")
    monkeypatch.setattr(native_log, "level", LOG_DEBUG)
    passes = []

    def count(batch):
        native_log.lines.clear()
        logits = decode(batch)
        passes.append(len(re.findall("added ubatch", native_log.text())))
        return logits

    draft = drafts["qwen35"] if method is Method.DRAFT else None
    with make_engine(hybrid_path, Decoding(method, depth, draft_model=draft)) as engine:
        decode = engine._context.decode
        engine._context.decode = count
        run(engine, requests())
    assert set(passes) == {1}


def test_any_previous_answer_gives_the_same_answer(model_path, evaluation):
    plain = answers(model_path, PLAIN)
    evaluation.check_approved(requests(), plain)
    kinds = list(edits(plain[0].tokens, ODD))
    assert len(kinds) == 20
    with make_engine(model_path, Decoding(Method.AUTO)) as engine:
        for kind in kinds:
            asked = [
                ask(content, max_tokens=length, previous=edits(c.tokens, ODD)[kind])
                for content, length, c in zip(KINDS, LENGTHS, plain, strict=True)
            ]
            completions = run(engine, asked)
            if [c.tokens for c in completions] != [c.tokens for c in plain]:  # else they are approved already
                evaluation.check_approved(asked, completions)
            if kind == "nothing":
                assert all(c.target_passes < len(c.tokens) / 3 for c in completions)


def test_a_previous_answer_may_be_text(model_path):
    (plain,) = answers(model_path, PLAIN, [ask(KINDS[0], max_tokens=60)])
    (again,) = answers(model_path, PLAIN, [ask(KINDS[0], max_tokens=60, previous=plain.text)])
    assert again.text == plain.text
    (unused,) = answers(
        model_path, Decoding(Method.PLAIN, previous=False), [ask(KINDS[0], max_tokens=60, previous=plain.text)]
    )
    assert unused.drafted == 0


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_a_seed_gives_one_answer_with_every_method(models, drafts, temperature):
    sampling = Sampling(temperature=temperature, top_k=20, seed=7)
    for name in ("llama", "qwen35"):
        plain = answers(models[name], PLAIN, requests(sampling=sampling))
        for decoding in decodings(name, models[name], drafts, 3):
            again = answers(models[name], decoding, requests(sampling=sampling))
            same = sum(
                a == b for p, c in zip(plain, again, strict=True) for a, b in zip(p.tokens, c.tokens, strict=True)
            )
            assert same >= 0.9 * sum(LENGTHS), "rounding may move a draw over a border, seldom"


@pytest.mark.parametrize("name", ["llama", "qwen35"])
def test_sampling_keeps_the_distribution(models, drafts, name):
    """Pairs of tokens behind one prompt, drawn with guesses, against their exact probabilities: chi-square."""
    sampling = Sampling(temperature=1.5, top_k=4)
    draws = 600
    asked = [
        ask(KINDS[1], max_tokens=3, sampling=Sampling(temperature=1.5, top_k=4, seed=seed)) for seed in range(draws)
    ]
    completions = answers(models[name], Decoding(Method.DRAFT, 2, draft_model=drafts[name]), asked)
    assert sum(c.accepted for c in completions) > draws // 10
    counts = Counter(c.tokens[:2] for c in completions)
    expected = exact_pairs(models[name], asked[0], sampling)
    assert set(counts) <= set(expected)
    statistic = sum((counts[pair] - draws * share) ** 2 / (draws * share) for pair, share in expected.items())
    assert statistic < 45, "chi-square with 15 degrees of freedom is above this once in 10,000 times"


def exact_pairs(path: Path, request, sampling) -> dict[tuple[int, int], float]:
    with Evaluation(path) as evaluation:
        prompt = evaluation.prompt(request)
        firsts, shares = distribution(evaluation.fresh(prompt, 1)[0], sampling)
        pairs = {}
        for first, share in zip(firsts.tolist(), shares.tolist(), strict=True):
            seconds, others = distribution(evaluation.fresh((*prompt, first), 1)[0], sampling)
            pairs |= {(first, s): share * o for s, o in zip(seconds.tolist(), others.tolist(), strict=True)}
    assert len(pairs) == len(list(product(range(4), repeat=2)))
    return pairs


def test_a_draft_model_of_another_vocabulary_is_refused(models, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.engine.tiny_models.MERGES", ["{ {", "} }", "t h"])
    fewer = write_llama(tmp_path / "fewer.gguf")
    with pytest.raises(ModelLoadError, match="knows 264 tokens") as caught:
        answers(models["llama"], Decoding(Method.DRAFT, draft_model=fewer))
    assert "same family" in caught.value.hint
    monkeypatch.undo()
    monkeypatch.setattr(
        "tests.engine.tiny_models.CONTROL", ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "</s>", "<s>"]
    )
    other = write_llama(tmp_path / "other.gguf")
    with pytest.raises(ModelLoadError, match="token 3 is '</s>', not '<s>'"):
        answers(models["llama"], Decoding(Method.DRAFT, draft_model=other))


def test_methods_that_need_what_is_not_there(models):
    with pytest.raises(ModelLoadError, match="needs a draft model"):
        answers(models["llama"], Decoding(Method.DRAFT))
    with pytest.raises(ModelLoadError, match="no multi-token-prediction block"):
        answers(models["llama"], Decoding(Method.MTP))
    with pytest.raises(ModelLoadError, match="no device `moon`") as caught:
        answers(models["llama"], Decoding(Method.DRAFT, draft_model=models["llama"], draft_device="moon"))
    assert "CPU" in caught.value.hint


def test_the_draft_device_reaches_llama_cpp(models, monkeypatch):
    seen = []
    original = Model.__init__

    def spy(self, path, **options):
        seen.append((path, options.get("device")))
        original(self, path, **options)

    monkeypatch.setattr(Model, "__init__", spy)
    assert "CPU" in device_names()
    answers(models["llama"], Decoding(Method.DRAFT, 2, draft_model=models["qwen35"], draft_device="CPU"))
    assert seen == [(models["llama"], None), (models["qwen35"], "CPU")]


def test_without_the_private_part_mtp_is_off_and_says_so(hybrid_path, evaluation_of, monkeypatch):
    monkeypatch.setattr(
        "pagecompiler.engine.llama.methods.native_support", lambda: NativeSupport("0", False, False, "")
    )
    with make_engine(hybrid_path, Decoding(Method.MTP, 2)) as engine:
        assert engine.notes == ("mtp is off: this llama.cpp lacks the private functions that it needs",)
        completions = run(engine, requests())
        assert engine.stats().draft_passes == 0
    evaluation_of(hybrid_path).check_approved(requests(), completions)


def test_when_the_probe_fails_guesses_are_off_and_that_is_said(hybrid_path, evaluation_of, monkeypatch, tmp_path):
    monkeypatch.setattr(engine_module, "rollback_problem", lambda *arguments: "a rolled back state gives other logits")
    monkeypatch.setattr(engine_module, "choose_kind", lambda *arguments, **more: 0)
    with make_engine(hybrid_path, Decoding(Method.AUTO), tuning=tmp_path / "tuning.json") as engine:
        assert engine.sources == "nothing" and engine._context.rollback == 0
        assert engine.notes == ("mtp is off: a rolled back state gives other logits",)
        completions = run(engine, requests())
        assert engine.stats().drafted == 0
    assert not (tmp_path / "tuning.json").exists(), "it is no engine of its kind"
    evaluation_of(hybrid_path).check_approved(requests(), completions)


def test_what_was_measured_is_stored_for_the_next_run(hybrid_path, tmp_path, monkeypatch):
    monkeypatch.setattr(engine_module, "choose_kind", lambda *arguments, **more: 0)
    path = tmp_path / "tuning.json"
    for _ in range(2):
        with make_engine(hybrid_path, Decoding(), tuning=path) as engine:
            run(engine, requests() * 3)
            measured = engine._guesses.ways.measured()
            assert measured[0].steps
    with make_engine(hybrid_path, Decoding(), tuning=path) as engine:
        again = engine._guesses.ways.measured()
        assert [each.steps for each in again] == [each.steps for each in measured]
    with make_engine(hybrid_path, PLAIN, tuning=tmp_path / "none.json") as engine:
        run(engine, requests()[:1])
    assert not (tmp_path / "none.json").exists()


def test_the_counts_add_up(hybrid_path, drafts):
    with make_engine(hybrid_path, Decoding(Method.DRAFT, 3, draft_model=drafts["qwen35"])) as engine:
        completions = run(engine, requests())
        stats = engine.stats()
    assert stats.tokens == sum(len(c.tokens) for c in completions)
    assert (stats.drafted, stats.accepted) == tuple(
        sum(getattr(c, n) for c in completions) for n in ("drafted", "accepted")
    )
    for c in completions:
        assert sum(c.accepted_by_position) == c.accepted and sum(c.drafted_by_position) == c.drafted
        assert list(c.accepted_by_position) == sorted(c.accepted_by_position, reverse=True)
    assert stats.accepted_by_position == tuple(sum(c.accepted_by_position[i] for c in completions) for i in range(3))
    assert stats.verify_rows == sum(c.verify_rows for c in completions)
    assert stats.rows_per_pass > max(c.verify_rows / c.verify_passes for c in completions), "lanes share passes"
    assert stats.draft_passes > 0


def test_the_lanes_share_the_time_of_their_steps(hybrid_path, drafts):
    with make_engine(hybrid_path, Decoding(Method.DRAFT, 3, draft_model=drafts["qwen35"])) as engine:
        completions = run(engine, requests())
        stats = engine.stats()
    for name in ("target_seconds", "draft_seconds"):
        parts = [getattr(c, name) for c in completions]
        assert min(parts) > 0
        assert sum(parts) == pytest.approx(getattr(stats, name))
    # What is left belongs to nobody: ending a request, for one.
    assert 0 < sum(c.python_seconds for c in completions) <= stats.python_seconds


def test_totals_can_be_taken_between_two_looks(hybrid_path):
    with make_engine(hybrid_path, Decoding(Method.MTP, 2)) as engine:
        first = run(engine, requests())
        before = replace(engine.stats())
        second = run(engine, requests())
        spent = engine.stats().since(before)
    assert spent.tokens == sum(len(c.tokens) for c in second)
    assert spent.verify_rows == sum(c.verify_rows for c in second)
    assert before.tokens == sum(len(c.tokens) for c in first)
    assert sum(spent.accepted_by_position) == spent.accepted


@pytest.mark.parametrize("device", [None, "CPU"])
def test_the_totals_name_the_device_of_the_draft(models, drafts, device):
    decoding = Decoding(Method.DRAFT, 2, draft_model=drafts["llama"], draft_device=device)
    with make_engine(models["llama"], decoding) as engine:
        run(engine, requests())
        assert engine.stats().draft_device == (device or "")
        assert engine.stats().draft_seconds > 0


def test_events_count_passes_and_rows(hybrid_path):
    with make_engine(hybrid_path, Decoding(Method.MTP, 2)) as engine:
        number = engine.submit(requests()[0])
        texts = [event for event in engine.events() if event.request == number and event.kind != "admitted"]
    last = texts[-1]
    assert (last.passes, last.rows) == (last.completion.verify_passes, last.completion.verify_rows)
    assert last.rows == 3 * last.passes, "a pending token and two guesses"
    assert [event.passes for event in texts] == sorted(event.passes for event in texts)


def test_a_block_is_known_by_its_tensors_not_by_what_the_metadata_says(tmp_path):
    whole = write_qwen35(tmp_path / "whole.gguf")
    without = write_without_block(whole, tmp_path / "without-MTP.gguf")
    assert (nextn_layers(whole), nextn_layers(without)) == (1, 0)
    assert plan_methods(without, Decoding()).main is Method.PLAIN
    with pytest.raises(ModelLoadError, match="no multi-token-prediction block"):
        plan_methods(without, Decoding(Method.MTP))
