"""All the shapes in which models wrap an answer; one parser takes them all off."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.engine.reference import write
from pagecompiler.fragment import clean_closed, clean_fragment, clean_style
from pagecompiler.ids import section_ids
from pagecompiler.plan import STYLE, list_blocks
from pagecompiler.spec import load_spec

CLEAN = "<p>{{1}}</p>"


@pytest.mark.parametrize(
    "raw",
    [
        CLEAN,
        f"\n\n{CLEAN}\n",
        f"```html\n{CLEAN}\n```",
        f"```\n{CLEAN}\n```",
        f"~~~html\n{CLEAN}\n~~~",
        f"```html\n{CLEAN}",  # the last fence is cut off
        f"{CLEAN}\n```",  # only the closer
        f"Here is the block:\n```html\n{CLEAN}\n```\nI hope it helps.",
        f"Sure! ```html {CLEAN} ```",  # fences glued to the text
        f"Here is the block: {CLEAN} Enjoy.",
        f"<think>\nA list? No.\n</think>\n\n{CLEAN}",
        f"A list? No.\n</think>\n\n{CLEAN}",
        f"{CLEAN}\n<think>Was that right?",
        f"<think><p>no</p></think>\n```html\n{CLEAN}\n```",
        f"<!DOCTYPE html>\n<html lang=en><head><title>x</title><style>p {{ }}</style></head><body>\n{CLEAN}\n</body></html>",
        f"<html><body class='a'>{CLEAN}",
        f"<body>{CLEAN}</body>",
        f"<html>{CLEAN}</html>",
        f"  ```HTML\n{CLEAN}\n  ```  ",
        f'```html\nfilename="index.html"\n{CLEAN}\n```',  # an attribute of the fence on a line of its own
        f"```html{{filename=index.html}}\n{CLEAN}\n```",
        f"{CLEAN}\n}}",  # a stray brace
    ],
)
def test_wrappings_come_off(raw: str) -> None:
    assert clean_fragment(raw) == CLEAN


@pytest.mark.parametrize("raw", ["", "   \n", "I cannot do that.", "<think>hm", "```\n\n```"])
def test_no_markup_is_nothing(raw: str) -> None:
    assert clean_fragment(raw) == ""


@pytest.mark.parametrize("raw", ["<ul>\n<li>{{1}}</li>\n<li", "<p>{{1}}", '<a href="{{1'])
def test_a_cut_answer_stays_cut(raw: str) -> None:
    """What was cut must be seen as cut later, not be trimmed into something that looks whole."""
    assert clean_fragment(raw) == raw


@pytest.mark.parametrize("rest", ["", "\n", "\n</", "</bo", "\n<section cl", "\n\n{{", " Enjoy"])
def test_what_a_token_holds_behind_the_block_goes(rest: str) -> None:
    assert clean_closed(CLEAN + rest) == CLEAN


@given(st.text())
def test_of_any_text_the_markup_is_left(raw: str) -> None:
    once = clean_fragment(raw)
    assert not once or once.startswith("<")


@pytest.mark.parametrize(
    "spec", sorted((Path(__file__).parents[1] / "specs").glob("*.yaml")), ids=lambda spec: spec.stem
)
def test_a_clean_answer_comes_out_as_it_went_in(spec: Path) -> None:
    page = load_spec(spec).page
    for block in list_blocks(page, section_ids(page)):
        answer = write(block.structure.description)
        clean = clean_style if block.kind == STYLE else clean_fragment
        assert clean(answer) == answer.strip()


@pytest.mark.parametrize(
    "raw",
    [
        ".a { gap: 1rem; }",
        "```css\n.a { gap: 1rem; }\n```",
        "<style>\n.a { gap: 1rem; }\n</style>",
        "<think>blue?</think><style>.a { gap: 1rem; }",
    ],
)
def test_styles(raw: str) -> None:
    assert clean_style(raw) == ".a { gap: 1rem; }"
