"""A rebuilt block is guessed from what stood on the last page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pagecompiler.build import CompileOptions, EngineSource, compile_spec
from pagecompiler.cache import Fragment
from pagecompiler.engine.reference import ReferenceEngine
from pagecompiler.engine.types import Decoding
from pagecompiler.models import choose_model
from pagecompiler.plan import Block
from pagecompiler.rebuild import pair_blocks, previous_texts
from pagecompiler.record import BlockRecord, PageRecord
from pagecompiler.slots import Structure

STEPS = "sections:\n- kind: steps\n  id: {id}\n  heading: How\n  items:\n  - {{title: One, text: First of all.}}\n"
MORE = "  - {{title: Two, text: And then.}}\n"


def block(name, kind="steps", lines=("kind: steps", "{{1}} heading short")):
    return Block(name, kind, (), Structure(kind, tuple(lines), ()))


def record(name, kind="steps", key="k"):
    return BlockRecord(name, kind, "kind: steps\n{{1}} heading short", key)


def test_blocks_are_paired_by_name_and_kind_then_by_kind_and_order():
    old = [record("a"), record("b"), record("c", "faq"), record("d")]
    new = [block("b"), block("x"), block("c"), block("y"), block("z", "faq")]
    pairs = {name: found.name for name, found in pair_blocks(old, new).items()}
    assert pairs == {"b": "b", "x": "a", "c": "d", "z": "c"}


def test_a_fragment_that_is_lost_is_no_guess():
    page = PageRecord("", "", (record("a", key="1"), record("b", key="2")))
    found = previous_texts(page, [block("a"), block("b")], {"1": Fragment("<p>{{1}}</p>")}.get)
    assert found == {"a": "<p>{{1}}</p>"}
    assert previous_texts(None, [block("a")], {}.get) == {}


class Asking(ReferenceEngine):
    """Remembers the requests."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = []

    def submit(self, request):
        self.requests.append(request)
        return super().submit(request)


@pytest.fixture
def build(load, tmp_path):
    def make(text: str, **changes) -> dict[str, str]:
        """Build a page and return the guesses that the engine was given."""
        engine = Asking()
        options = replace(CompileOptions(output=tmp_path / "out" / "page.html"), **changes)
        result = compile_spec(load(text), EngineSource(choose_model("reference"), lambda: engine), options)
        assert result.ok, result.diagnostics
        return {request.label: request.previous for request in engine.requests}

    return make


def test_an_added_item_is_spliced_into_the_old_fragment(build):
    assert not any(build(STEPS.format(id="how")).values())
    (guess,) = build((STEPS + MORE).format(id="how")).values()
    assert "{{5}}" in guess
    assert build((STEPS + MORE).format(id="how")) == {}, "nothing is left to write"


def test_a_renamed_section_finds_its_predecessor(build):
    build(STEPS.format(id="how"))
    guesses = build((STEPS + MORE).format(id="other"))
    assert "{{5}}" in guesses["other"]


@pytest.mark.parametrize("changes", [{"decoding": Decoding(previous=False)}, {"read_cache": False}])
def test_no_guess_where_none_is_wanted(build, changes):
    build(STEPS.format(id="how"))
    assert not any(build((STEPS + MORE).format(id="how"), **changes).values())
