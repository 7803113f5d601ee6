"""The rules that choose a layout, and that everything the reference engine writes passes the linker's rules."""

from __future__ import annotations

import itertools
import re

import pytest
from bs4 import BeautifulSoup

from pagecompiler.engine.reference import ReferenceEngine, write
from pagecompiler.engine.reference.description import Word, parse_description
from pagecompiler.engine.types import FinishReason, Message, Request
from pagecompiler.moods import MOOD_WORDS
from pagecompiler.placement import check_placement
from pagecompiler.plan import STYLE, Block
from pagecompiler.style import check_style
from pagecompiler.validate import validate_fragment
from tests.referees import ROOT
from training.structures import StructureMaker


def items(count: int, *fields: str) -> str:
    """A list of items with slots numbered from 2: `items(2, "title short", "text line")`."""
    number = itertools.count(2)
    lines = []
    for _ in range(count):
        for index, field in enumerate(fields):
            name, length = field.split()
            lines.append(f"{'- ' if index == 0 else '  '}{{{{{next(number)}}}}} {name} {length}")
    return "\n".join(lines)


LAYOUTS = [
    ("features", items(3, "title short"), "ticks"),
    ("features", items(3, "title short", "text line"), "cards"),
    ("features", items(3, "image image", "title short", "text line"), "cards"),
    ("features", items(3, "title short", "text long"), "rows"),
    ("features", items(7, "title short", "text long"), "cards"),
    ("steps", items(4, "title short", "text line"), "flow"),
    ("steps", items(5, "title short", "text line"), "path"),
    ("steps", items(3, "title short", "text long"), "path"),
    ("steps", items(3, "image image", "title short"), "path"),
    ("stats", items(4, "label short", "value number"), "figures"),
    ("stats", items(5, "label short", "value number"), "figures small"),
    ("stats", items(2, "label line", "value number"), "figures small"),
    ("quotes", items(1, "text line", "by short"), "quote large"),
    ("quotes", items(3, "text line", "by short"), "voices"),
    ("quotes", items(4, "text line", "by short"), "voices columns"),
    ("quotes", items(2, "text long"), "voices columns"),
    ("pricing", items(3, "title short", "price price", "text line"), "plans"),
    ("pricing", items(9, "title short", "price price", "points short"), "plans"),
    ("pricing", items(9, "title short", "price price", "text line"), "price-list"),
    ("pricing", items(2, "title short", "price price"), "price-list"),
    ("people", items(2, "name short", "role short"), "roster"),
    ("people", items(2, "name short", "text line"), "portraits"),
    ("people", items(2, "image image", "name short"), "portraits"),
]


@pytest.mark.parametrize(("kind", "rest", "layout"), LAYOUTS)
def test_the_layout_follows_what_the_block_holds(kind: str, rest: str, layout: str) -> None:
    fragment = write(f"kind: {kind}\n{{{{1}}}} heading short\nitems:\n{rest}")
    assert f'class="{layout}"' in fragment


@pytest.mark.parametrize(
    ("fields", "layout"),
    [
        ("{{2}} image image", "hero split"),
        ("{{2}} text long", "hero wide"),
        ("{{2}} text line", "hero center"),
        ("", "hero center"),
    ],
)
def test_the_layout_of_a_hero(fields: str, layout: str) -> None:
    assert f'class="{layout}"' in write(f"kind: hero\n{{{{1}}}} heading short\n{fields}")


@pytest.mark.parametrize(("length", "layout"), [("long", "beside"), ("line", "wide")])
def test_the_layout_of_a_figure(length: str, layout: str) -> None:
    text = f"kind: figure\n{{{{1}}}} heading short\n{{{{2}}}} image image\n{{{{3}}}} caption {length}"
    assert f'class="{layout}"' in write(text)


def test_the_document_names_every_layout() -> None:
    table = (ROOT / "docs" / "layouts.md").read_text(encoding="utf-8")
    documented: set[tuple[str, str]] = set()
    kind = ""
    for row in re.findall(r"^\| ?(\w*) ?\| `([^`]+)`", table, re.MULTILINE):
        kind = row[0] or kind
        documented.add((kind, row[1]))
    heroes = {("hero", layout) for layout in ("split", "wide", "center")}
    assert documented == {(kind, layout) for kind, _, layout in LAYOUTS} | heroes | {
        ("figure", "beside"),
        ("figure", "wide"),
    }


def test_a_description_is_read_back() -> None:
    block = parse_description(
        "kind: table\n{{1}} heading line\ncolumns:\n- {{2}} short\n- {{3}} line\nrows:\n- {{4}} long"
    )
    assert block.fields == {"heading": Word("{{1}}", "line")}
    assert block.words("columns") == [Word("{{2}}", "short"), Word("{{3}}", "line")]
    with pytest.raises(ValueError, match="begins with its kind"):
        parse_description("{{1}} heading line")


@pytest.mark.parametrize("seed", range(4))
def test_every_fragment_keeps_the_linkers_rules(seed: int) -> None:
    maker = StructureMaker(seed)
    for _ in range(150):
        structure = maker.structure()
        fragment = write(structure.description)
        if structure.kind == STYLE:
            assert check_style(fragment).problems == ()
            continue
        path_length = 2 if structure.slots[0].paths[0][0] == "sections" else 1
        block = Block("x", structure.kind, structure.slots[0].paths[0][:path_length], structure)
        assert validate_fragment(fragment) == ()
        body = BeautifulSoup(fragment, "html5lib").body
        assert body is not None and check_placement(block, body).problems == ()


@pytest.mark.parametrize("mood", MOOD_WORDS)
@pytest.mark.parametrize("font", ["sans", "serif", "mono"])
def test_every_mood_changes_the_style(font: str, mood: str) -> None:
    plain, moody = write(f"kind: style\nfont: {font}"), write(f"kind: style\nfont: {font}\nmood: {mood}")
    assert plain != moody
    assert check_style(moody).problems == ()


def test_what_no_rule_writes_is_a_failure_and_not_an_exception() -> None:
    engine = ReferenceEngine()
    engine.submit(Request((Message("user", "kind: carousel\n{{1}} heading short"),), max_tokens=9, label="x"))
    (completion,) = [event.completion for event in engine.events() if event.completion]
    assert completion.reason is FinishReason.FAILED and "carousel" in str(completion.error)
