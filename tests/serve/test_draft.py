"""The page as it is written: nothing in it that the linker would not let through, whatever the model has begun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pagecompiler.build import CompileOptions
from pagecompiler.engine.reference import write
from pagecompiler.folder import FolderSpec
from pagecompiler.page_build import PageBuild
from pagecompiler.serve.board import Board
from pagecompiler.serve.draft import draft_page
from pagecompiler.serve.pages import Pages
from pagecompiler.spec import LoadedSpec
from pagecompiler.templating import template_error
from pagecompiler.validate import validate_page
from tests.serve.studio import MODEL

SPEC = """title: T
theme: {accent: "#0b6e4f"}
nav: {brand: B, links: [{text: "</script><script>alert(1)</script>", href: "#one"}]}
hero: {heading: H, text: "Some *text* here."}
sections:
- {kind: prose, heading: One, paragraphs: [first, second]}
- {kind: features, heading: Two, items: [{title: Fast, text: Boils.}, {title: Calm, text: Quiet.}]}
footer: {text: F}
"""


@pytest.fixture
def build(load: Callable[[str], LoadedSpec]) -> Iterator[PageBuild]:
    with PageBuild(load(SPEC), MODEL, CompileOptions(read_cache=False, write_cache=False)) as build:
        build.start()
        yield build


def answers(build: PageBuild) -> dict[str, str]:
    return {block.block.name: write(block.messages[-1].content) for block in build.blocks}


def main_of(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html5lib")


def test_before_anything_is_written(build: PageBuild) -> None:
    page = main_of(draft_page(build, {}))
    assert page.main is not None and page.main.find(True) is None


def test_with_a_broken_template_the_page_that_was_written_is_shown(
    load: Callable[[str], LoadedSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(build: PageBuild, texts: object) -> str:
        raise template_error(Path("page.html.j2"), "unexpected end")

    monkeypatch.setattr("pagecompiler.serve.pages.draft_page", refuse)
    loaded, page = load(SPEC), tmp_path / "page.html"
    page.write_text("<p>written", encoding="utf-8")
    board = Board(None, "model", "auto")
    board.found([FolderSpec(tmp_path / "page.yaml", page)])
    with PageBuild(loaded, MODEL, CompileOptions(output=page, read_cache=False, write_cache=False)) as build:
        build.start()
        board.began(build)
        assert Pages(board).answer("page.html", draft=True).body == b"<p>written"


def test_a_page_whose_image_has_just_gone_has_a_draft(load: Callable[[str], LoadedSpec], tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 4"></svg>')
    loaded = load("hero: {heading: H, image: {src: a.svg, alt: A}}")
    (tmp_path / "a.svg").unlink()
    with PageBuild(loaded, MODEL, CompileOptions(read_cache=False, write_cache=False)) as build:
        build.start()
        assert [finding.code for finding in build.findings] == ["E0308"]
        assert "<main" in draft_page(build, {})


def test_every_beginning_of_every_block_is_a_page(build: PageBuild) -> None:
    whole = answers(build)
    for name, text in whole.items():
        for end in range(0, len(text), 7):
            html = draft_page(build, {name: text[:end]})
            page = main_of(html)
            assert "{{" not in page.get_text() and page.find("script") is None
            errors = [finding for finding in validate_page(html, language="en") if finding.code.startswith("E06")]
            assert not [e for e in errors if "parse" in e.message], (name, text[:end])


def test_texts_come_from_the_spec_and_open_elements_are_closed(build: PageBuild) -> None:
    page = main_of(
        draft_page(build, {"two": '<section class="features"><h2>{{1}}</h2><ul class="cards"><li><h3>{{2}}</h3><p cl'})
    )
    section = page.select_one("main > section#two")
    assert section is not None
    assert section.get_text() == "TwoFast" and len(section.select("ul > li > h3")) == 1


def test_a_repeated_element_is_repeated_at_once(build: PageBuild) -> None:
    page = main_of(
        draft_page(
            build, {"one": '<section class="prose"><h2>{{1}}</h2><div class="text"><p data-each="paragraphs">{{2}}'}
        )
    )
    assert [p.get_text() for p in page.select("#one p")] == ["first", "second"]


@pytest.mark.parametrize(
    "text",
    [
        '<section class="hero"><script>alert(1)</script><h1>{{1}}</h1>',
        '<section class="hero" onclick="alert(1)"><h1>{{1}}</h1>',
        '<section class="hero"><h1>{{1}}</h1><iframe src="http://evil.example">',
        '<section class="hero"><h1>{{1}}</h1><a href="javascript:alert(1)">',
        '<section class="hero"><h1>{{1}}</h1><p>words of the model',
        '<section class="hero"><h1>{{1}}</h1><style>* { display: none }',
        '<section class="hero"><h1>{{1}}</h1><!-- <img src=x>',
        '<section class="hero"><h1>{{1}}</h1><svg onload=alert(1)>',
        '<section class="hero"><h1>{{99}}',
        '<section class="hero"><h1>{{1}}{{1}}',
        "<body onload=alert(1)>",
        '<section class="hero"><img src="http://evil.example/x.png">',
    ],
)
def test_a_block_that_breaks_a_rule_is_not_shown(build: PageBuild, text: str) -> None:
    page = main_of(draft_page(build, {"hero": text}))
    assert page.select("section") == [] and page.find(["script", "iframe", "svg"]) is None
    assert "evil.example" not in str(page) and "alert(1)" not in str(page)


def test_a_style_is_shown_as_far_as_it_is_allowed(build: PageBuild) -> None:
    css = ":root {\n--scale: 1.3;\n}\n.hero {\nposition: fixed;\ncolor: var(--muted);\n}\n.cards { background: url(//evil.ex"
    html = draft_page(build, {"style": css})
    assert "--scale: 1.3;" in html and "position: fixed" not in html.partition("--scale: 1.3;")[2]
    assert "evil" not in html and html.count("</style>") == 1


def test_finished_blocks_are_those_of_the_page(build: PageBuild) -> None:
    whole = answers(build)
    for block in build.blocks:
        assert build.accept(block, whole[block.block.name]) == ()
    page = main_of(draft_page(build, {}))
    assert [section["id"] for section in page.select("main > section")] == ["hero", "one", "two"]
    assert "</script><script>alert(1)</script>" in page.get_text()
