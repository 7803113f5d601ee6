"""The damage that `benchmarks.verdict` measures with: real, seeded, and in pages that are good without it."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from benchmarks.verdict import make_mutants
from pagecompiler.api import compile_page
from pagecompiler.style import check_style
from pagecompiler.validate import validate_page
from tests.defects import CLEAN, mutations, sources
from tests.defects.sources import Edit, Source
from tests.referees import ROOT

NOTHING = Edit({})


@pytest.fixture(scope="module")
def source() -> Source:
    return Source(ROOT / "specs" / "kettle.yaml")


def test_every_kind_of_damage_is_made_about_equally_often() -> None:
    made = Counter(mutant.kind for mutant in make_mutants(100))
    assert set(made) == {*mutations.MARKUP, *sources.SLOTS, *sources.RULES}
    assert sum(made.values()) == 100 and min(made.values()) >= 3


def test_a_seed_gives_the_same_pages(source: Source) -> None:
    assert source.mutants(9, seed=1) == source.mutants(9, seed=1) != source.mutants(9, seed=2)
    assert mutations.mutants(CLEAN, 20, seed=1) == mutations.mutants(CLEAN, 20, seed=1)


def test_no_damaged_page_is_the_good_one(source: Source) -> None:
    assert CLEAN not in {mutant.html for mutant in mutations.mutants(CLEAN, 100, seed=1)}
    good = {source.page(block, NOTHING) for block in source.slotted}
    assert not good & {mutant.html for mutant in source.mutants(100, seed=1)}


def test_without_damage_the_pages_are_good(source: Source) -> None:
    """Texts put in without checks give the page that the linker makes, but for the Markdown in them."""
    page = compile_page(ROOT / "specs" / "kettle.yaml", model="reference").html
    for block in source.slotted:
        html = source.page(block, NOTHING)
        assert validate_page(html, language="en") == ()
        assert source.linked(block, NOTHING).diagnostics == ()
        if not any(slot.markdown for slot in block.block.structure.slots):
            assert html == page, block.block.name


def test_what_is_written_into_a_slot_stands_in_the_page_as_it_is(source: Source) -> None:
    block = next(block for block in source.slotted if block.block.kind == "hero")
    edit = Edit({1: "{{99}}"})
    assert '<h1 id="hero-heading">{{99}}</h1>' in source.page(block, edit)
    assert [finding.code for finding in source.linked(block, edit).diagnostics] == ["E0407"]


def test_a_damaged_style_is_in_the_page_with_a_policy_that_allows_it(source: Source) -> None:
    damaged = sources.RULES["bad declaration"](source.style, Random(1))
    html = source.page_with_style(damaged)
    assert damaged in html and check_style(damaged).problems
    assert "E0651" not in {finding.code for finding in validate_page(html, language="en")}
