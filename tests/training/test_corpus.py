"""The training corpus: same seed, same samples; nothing held out is trained on; answers are whole; all of it comes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations, islice, product

import pytest

from pagecompiler.engine.reference import write
from pagecompiler.engine.reference.description import Description, parse_description
from pagecompiler.moods import MOOD_WORDS
from pagecompiler.schema import MAX_COLUMNS, MAX_ITEMS
from training.corpus import SMALL_KINDS, Sample, generate, is_held_out
from training.structures import KINDS, StructureMaker


def take(count: int, seed: int = 5, *, held_out: bool = False) -> Sequence[Sample]:
    return list(islice(generate(seed, held_out=held_out), count))


def test_equal_seeds_give_equal_samples() -> None:
    assert take(50) == take(50)
    assert take(50) != take(50, seed=6)


def test_the_parts_are_disjoint() -> None:
    train = {s.description for s in take(2000) if s.structure.kind not in SMALL_KINDS}
    held_out = {s.description for s in take(100, held_out=True) if s.structure.kind not in SMALL_KINDS}
    assert held_out
    assert not train & held_out


def test_a_fixed_share_is_held_out() -> None:
    maker = StructureMaker(1)
    structures = [maker.structure("pricing") for _ in range(2000)]
    share = sum(is_held_out(s.description) for s in structures) / len(structures)
    assert 0.02 < share < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_answers_place_every_slot_once(kind: str) -> None:
    samples = [s for s in take(600) if s.structure.kind == kind]
    assert samples
    for sample in samples:
        placed = [int(number) for number in re.findall(r"\{\{(\d+)\}\}", sample.answer)]
        assert sorted(placed) == [slot.number for slot in sample.structure.slots]


def test_prompts_hold_no_texts() -> None:
    sample = next(s for s in generate(3) if s.structure.kind == "pricing")
    values = {value for slot in sample.structure.slots for value in slot.values if len(value.split()) > 1}
    assert values
    assert not any(value in message.content for value in values for message in sample.messages)


OPTIONAL = {
    "nav": "links",
    "hero": "text actions image",
    "footer": "text links",
    "table": "intro caption",
    "chart": "intro caption",
    "code": "intro caption",
    "figure": "intro caption",
    "cta": "intro text",
}
"""The optional fields of blocks; other sections have an `intro` only."""

OPTIONAL_IN_ITEMS = {
    "features": "image href text",
    "steps": "image href text",
    "quotes": "by role",
    "pricing": "text points action",
    "chart": "unit",
    "schedule": "text by",
    "people": "image role text",
}
IMPOSSIBLE = {("footer", frozenset())}
SECTIONS = [kind for kind in KINDS if kind not in ("nav", "hero", "footer", "style")]


def descriptions(kind: str, count: int = 1500) -> list[Description]:
    maker = StructureMaker(11)
    return [parse_description(maker.structure(kind).description) for _ in range(count)]


def subsets(fields: str) -> set[frozenset[str]]:
    names = fields.split()
    return {frozenset(part) for size in range(len(names) + 1) for part in combinations(names, size)}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "style"])
def test_every_combination_of_optional_fields_comes(kind: str) -> None:
    fields = OPTIONAL.get(kind, "intro" if kind in SECTIONS else "")
    found = {frozenset({*block.fields, *block.lists} & set(fields.split())) for block in descriptions(kind)}
    assert found == subsets(fields) - {fields for name, fields in IMPOSSIBLE if name == kind}


@pytest.mark.parametrize("kind", OPTIONAL_IN_ITEMS)
def test_every_combination_of_an_items_fields_comes_and_none_is_rare(kind: str) -> None:
    names = set(OPTIONAL_IN_ITEMS[kind].split())
    found = Counter(frozenset(item.keys() & names) for block in descriptions(kind) for item in block.items())
    assert set(found) == subsets(OPTIONAL_IN_ITEMS[kind])
    assert min(found.values()) > 0.02 * sum(found.values())


@pytest.mark.parametrize("kind", [*OPTIONAL_IN_ITEMS, "faq", "stats"])
def test_lists_have_one_to_twenty_four_items(kind: str) -> None:
    counts = {len(block.items()) for block in descriptions(kind, 4000)}
    assert counts == set(range(1, MAX_ITEMS + 1))


@pytest.mark.parametrize("kind", ["nav", "footer", "hero", "cta"])
def test_few_links_are_frequent_and_many_are_there(kind: str) -> None:
    counts = Counter(len(links) for block in descriptions(kind, 4000) for links in block.lists.values())
    assert all(counts[number] > 50 for number in range(1, 5))
    assert sum(counts[number] for number in range(13, MAX_ITEMS + 1)) >= 5, counts


def test_tables_have_one_to_twelve_columns() -> None:
    assert {len(block.words("columns")) for block in descriptions("table")} == set(range(1, MAX_COLUMNS + 1))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "style"])
def test_every_text_comes_in_every_length(kind: str) -> None:
    lengths: dict[str, set[str]] = defaultdict(set)
    for block in descriptions(kind):
        for fields in (block.fields, *(item for items in block.lists.values() for item in items)):
            for name, word in fields.items():
                lengths[name].add(word.length)
    texts = {name: found for name, found in lengths.items() if name not in ("image", "href", "value", "price", "code")}
    assert all(found == {"short", "line", "long"} for found in texts.values()), texts
    if "href" in lengths:
        assert lengths["href"] == {"anchor", "web", "mail", "tel", "path"}


def test_every_font_comes_with_every_mood_word() -> None:
    styles = descriptions("style")
    pairs = {
        (style.fields["font"].length, mood)
        for style in styles
        for mood in (style.fields["mood"].length.split(", ") if "mood" in style.fields else [""])
    }
    assert pairs == set(product(("sans", "serif", "mono"), ("", *MOOD_WORDS)))


@pytest.mark.parametrize("kind", ["features", "steps", "quotes", "pricing", "stats", "people", "figure"])
def test_layouts_vary_and_none_is_rare(kind: str) -> None:
    """`engine/reference/blocks.py` says which layout is for what; see `tests/engine/test_reference.py`."""
    maker = StructureMaker(12)
    layouts = Counter(
        re.findall(r'class="([^"]+)"', write(maker.structure(kind).description).replace('class="intro"', ""))[1]
        for _ in range(600)
    )
    assert len(layouts) >= 2
    assert min(layouts.values()) >= 0.05 * 600, layouts
