"""The same saves with the embedded model: what watching makes of old fragments is what a clean build writes anew.

Where rounding has flipped a near tie the fragments differ; then every token must be within the gap of the arg-max
of a fresh evaluation, and there must be hardly any.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from benchmarks.approval import Referee
from pagecompiler.api import engine_maker
from pagecompiler.build import BlockResult, CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.engine.types import Completion, Decoding, FinishReason, Method, Request
from pagecompiler.models import choose_model
from pagecompiler.spec import LoadedSpec, load_spec

from .test_saves import Saves

MINI = choose_model("pagec-mini")
PLAIN = Decoding(method=Method.PLAIN, previous=False)


class Model:
    """Loaded once: as a watch uses it, and plainly. What was written plainly is kept by its prompt."""

    def __init__(self) -> None:
        self.source = EngineSource(MINI, engine_maker(MINI, 5))
        self.plain = EngineSource(MINI, engine_maker(MINI, 5, PLAIN))
        self.written = tempfile.TemporaryDirectory()

    def clean(self, loaded: LoadedSpec) -> PageResult:
        return compile_spec(loaded, self.plain, CompileOptions(cache_dir=Path(self.written.name), decoding=PLAIN))

    def close(self) -> None:
        self.source.close()
        self.plain.close()
        self.written.cleanup()


@cache
def model() -> Model:
    return Model()


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    model().close()


class SavesWithTheModel(Saves):
    tokens = differing = 0

    def source(self) -> EngineSource:
        return model().source

    def clean(self, loaded: LoadedSpec) -> PageResult:
        return model().clean(loaded)

    def is_clean(self, name: str, content: str | None, clean: PageResult) -> bool:
        result = self.results[name]
        if content != result.html:
            return False
        pairs = list(zip(result.blocks, clean.blocks, strict=True))
        other = [(ours, theirs) for ours, theirs in pairs if ours.fragment != theirs.fragment]
        type(self).tokens += sum(len(ours.fragment.tokens) for ours, _ in pairs if ours.fragment is not None)
        type(self).differing += len(other)
        return all(approved(ours, theirs) for ours, theirs in other) if other else content == clean.html

    def the_model_refuses(self) -> None:
        """Not a rule here: this model does what it does."""


def approved(ours: BlockResult, theirs: BlockResult) -> bool:
    """Whether both fragments are what the model may write, so that only rounding lies between them."""
    assert MINI.path is not None
    referee = Referee(MINI.path, threads=2)
    pairs = [(asked(block), answered(block)) for block in (ours, theirs)]
    gap = referee.gap([request for request, _ in pairs], [completion for _, completion in pairs])
    return all(bool((referee.missing(request, completion) <= gap).all()) for request, completion in pairs)


def asked(block: BlockResult) -> Request:
    slots = frozenset(slot.number for slot in block.block.structure.slots)
    return Request(block.messages, 900, block.block.name, slots=slots)


def answered(block: BlockResult) -> Completion:
    assert block.fragment is not None
    return Completion(block.fragment.text, block.fragment.tokens, FinishReason.DONE, 0.0)


class TestSavesWithTheModel(SavesWithTheModel.TestCase):
    settings = settings(
        max_examples=6, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
    )

    def runTest(self) -> None:  # noqa: N802
        super().runTest()
        assert SavesWithTheModel.tokens > 1000
        assert SavesWithTheModel.differing <= SavesWithTheModel.tokens // 1000


def test_an_answer_that_is_not_the_models_is_not_approved(tmp_path: Path) -> None:
    spec = tmp_path / "page.yaml"
    spec.write_text("title: T\nhero: {heading: H}\n", encoding="utf-8")
    block = model().clean(load_spec(spec)).blocks[1]
    assert block.fragment is not None and approved(block, block)
    first, second, *rest = block.fragment.tokens
    other = replace(block, fragment=replace(block.fragment, tokens=(second, first, *rest)))
    assert not approved(block, other)
