"""Linking: texts come out exactly as they went in, and every rule that a fragment can break is an error."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagecompiler import ids
from pagecompiler.assets import resolve
from pagecompiler.diagnostics import CompileError
from pagecompiler.engine.reference import write
from pagecompiler.inline import plain_text
from pagecompiler.languages import labels
from pagecompiler.link import REMEMBERED_CHARACTERS, LinkContext, LinkedBlock, link, make_element
from pagecompiler.plan import Block, list_blocks
from pagecompiler.spec import LoadedSpec, load_spec

Load = Callable[[str], LoadedSpec]

PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x04\x08\x02\0\0\0"
    b"\x9a\x81\xb6\xd4\0\0\0\x0cIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\xdc\xccY\xe7\0\0\0\0IEND\xaeB`\x82"
)


def blocks_of(loaded: LoadedSpec) -> dict[str, Block]:
    return {block.name: block for block in list_blocks(loaded.page, ids.section_ids(loaded.page))}


def context_of(loaded: LoadedSpec) -> LinkContext:
    images = [slot.image for block in blocks_of(loaded).values() for slot in block.structure.slots if slot.image]
    assets = {image.src: resolve(image.src, loaded.folder) for image in images}
    return LinkContext(loaded, assets, labels(loaded.page.lang, loaded.page.labels))


def link_block(loaded: LoadedSpec, name: str, fragment: str | None = None) -> LinkedBlock:
    block = blocks_of(loaded)[name]
    return link(block, write(block.structure.description) if fragment is None else fragment, context_of(loaded))


def html(linked: LinkedBlock) -> str:
    assert linked.diagnostics == ()
    assert linked.html is not None
    return linked.html


FEATURES = """
sections:
- kind: features
  id: f
  heading: Why
  items:
  - {title: Fast, text: "Boils *one* litre in 90 seconds.", href: /fast}
  - {title: Calm, text: Makes hardly any noise at all.}
"""

GOOD = """<section class="features">
<h2>{{1}}</h2>
<ul class="cards">
<li><h3><a href="{{3}}">{{2}}</a></h3><p>{{4}}</p></li>
<li><h3>{{5}}</h3><p>{{6}}</p></li>
</ul>
</section>"""


def test_a_fragment_is_filled(load: Load) -> None:
    assert html(link_block(load(FEATURES), "f", GOOD)) == (
        '<section aria-labelledby="f-heading" class="features" id="f">\n'
        '<h2 id="f-heading">Why</h2>\n<ul class="cards">\n'
        '<li><h3><a href="/fast">Fast</a></h3><p>Boils <em>one</em> litre in 90 seconds.</p></li>\n'
        "<li><h3>Calm</h3><p>Makes hardly any noise at all.</p></li>\n</ul>\n</section>"
    )


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("E0401", lambda g: ""),
        ("E0402", lambda g: g.replace("</li>\n</ul>", "</ul>", 1).replace("</section>", "")),
        ("E0402", lambda g: g.replace("<ul class", "<ul><p>x</p class")),
        ("E0403", lambda g: g + "<p>.</p>"),
        ("E0403", lambda g: g.replace("section", "div")),
        ("E0403", lambda g: g.replace('class="features"', 'class="cards"')),
        ("E0402", lambda g: "." + g),
        ("E0404", lambda g: g.replace("h3>", "h1>")),
        ("E0404", lambda g: g.replace("h3>", "h4>")),
        ("E0402", lambda g: g.replace("<p>{{6}}</p>", "<p>{{6}}</p><script>x()</script>")),
        ("E0404", lambda g: g.replace("<p>{{6}}</p>", "<nav><p>{{6}}</p></nav>")),
        ("E0404", lambda g: g.replace("<p>{{6}}</p>", "<p>{{6}}</p><!-- more here -->")),
        ("E0402", lambda g: g.replace("<h2>", '<h2 id="x">')),
        ("E0402", lambda g: g.replace("<h2>", '<h2 style="color:red">')),
        ("E0402", lambda g: g.replace("<h2>", '<h2 onclick="x()">')),
        ("E0404", lambda g: g.replace("<p>{{6}}</p>", "<h3>–</h3><p>{{6}}</p>")),
        ("E0405", lambda g: g.replace('class="cards"', 'class="Cards"')),
        ("E0405", lambda g: g.replace('class="cards"', 'class="share-50"')),
        ("E0405", lambda g: g.replace("{{3}}", "/other")),
        ("E0406", lambda g: g.replace("{{6}}", "{{6}} Really.")),
        ("E0406", lambda g: g.replace("<h2>{{1}}</h2>", "<h2>{{1}}:</h2>")),
        ("E0406", lambda g: g.replace("<p>{{6}}</p>", "<p>>{{6}}</p>")),
        ("E0406", lambda g: g.replace("<p>{{6}}</p>", "<p>={{6}}</p>")),
        ("E0407", lambda g: g.replace("{{6}}", "{{7}}")),
        ("E0402", lambda g: g.replace("{{6}}", "{{6}} {{")),
        ("E0408", lambda g: g.replace("{{6}}", "{{6}} {{6}}")),
        ("E0409", lambda g: g.replace("<h2>{{1}}</h2>", "<h2>{{5}}</h2>").replace("<h3>{{5}}</h3>", "<h3>{{1}}</h3>")),
        ("E0409", lambda g: g.replace("<h3>{{5}}</h3>", "<p>{{5}}</p>")),
        ("E0410", lambda g: g.replace("<h3>{{5}}</h3><p>{{6}}</p>", "<h3>{{5}} {{6}}</h3>")),
        ("E0411", lambda g: g.replace("<p>{{6}}</p>", '<p data-each="points">{{6}}</p>')),
        ("E0412", lambda g: g.replace("<p>{{6}}</p>", "")),
        ("E0413", lambda g: g.replace("{{4}}", "{{0}}").replace("{{6}}", "{{4}}").replace("{{0}}", "{{6}}")),
        ("E0413", lambda g: g.replace("</li>\n<li>", "")),
        ("E0414", lambda g: g.replace('<a href="{{3}}">{{2}}</a>', '{{2}} <a href="{{3}}">.</a>')),
        ("E0414", lambda g: g.replace("<h3>{{5}}</h3>", "<h3><a>{{5}}</a></h3>")),
        ("E0415", lambda g: g.replace("<p>{{6}}</p>", "<p>{{6}}</p><p></p>")),
        ("E0415", lambda g: g.replace("</ul>", "</ul><p>–</p>")),
    ],
)  # fmt: skip
def test_link_errors(load: Load, code: str, change: Callable[[str], str]) -> None:
    broken = change(GOOD)
    assert broken != GOOD
    result = link_block(load(FEATURES), "f", broken)
    assert code in {finding.code for finding in result.diagnostics}, [f.message for f in result.diagnostics]
    assert result.html is None
    assert all(finding.span is not None and finding.file for finding in result.diagnostics)


def test_an_error_points_to_the_text_of_the_spec(load: Load) -> None:
    loaded = load(FEATURES)
    (finding,) = link_block(loaded, "f", GOOD.replace("<p>{{6}}</p>", "")).diagnostics
    assert finding.span == loaded.at(("sections", 0, "items", 1, "text"))


def test_repeats(load: Load) -> None:
    loaded = load('sections:\n- {kind: table, id: t, heading: T, columns: [a, b], rows: [["1", "2"], ["3", ""]]}')
    rows = BeautifulSoup(html(link_block(loaded, "t")), "html5lib").select("tbody tr")
    assert [[cell.text for cell in row.find_all("td")] for row in rows] == [["1", "2"], ["3", ""]]
    loaded = load("sections:\n- {kind: prose, id: p, heading: T, paragraphs: [one, two, three]}")
    assert html(link_block(loaded, "p")).count("<p>") == 3


def test_row_headers_of_the_models_own_choice(load: Load) -> None:
    loaded = load('sections:\n- {kind: table, id: t, heading: T, columns: [a, b], rows: [["1", "2"], ["", "4"]]}')
    fragment = write(blocks_of(loaded)["t"].structure.description).replace("<td>{{4}}</td>", "<th>{{4}}</th>")
    assert '<tr><th scope="row">1</th><td>2</td></tr>\n<tr><td></td><td>4</td></tr>' in html(
        link_block(loaded, "t", fragment)
    )


def test_a_heading_in_a_nav_is_an_error(load: Load) -> None:
    loaded = load("nav: {brand: B, links: [{text: x, href: /x}]}")
    fragment = write(blocks_of(loaded)["nav"].structure.description).replace("<ul", "<h3>–</h3><ul")
    assert "E0404" in {finding.code for finding in link_block(loaded, "nav", fragment).diagnostics}


def test_a_repeat_that_is_written_out_is_an_error(load: Load) -> None:
    loaded = load("sections:\n- {kind: prose, id: p, heading: T, paragraphs: [one, two]}")
    broken = '<section class="prose"><h2>{{1}}</h2><div class="text"><p>{{2}}</p></div></section>'
    assert "E0411" in {finding.code for finding in link_block(loaded, "p", broken).diagnostics}


def test_bars_have_their_share_of_the_largest(load: Load) -> None:
    items = "[{label: a, value: '1,5'}, {label: b, value: '3', unit: kg}, {label: c, value: '0'}]"
    loaded = load(f"sections:\n- {{kind: chart, id: c, heading: C, items: {items}}}")
    linked = link_block(loaded, "c")
    assert [share in html(linked) for share in ("bar share-50", "bar share-100", "bar share-0")] == [True] * 3
    assert linked.shares == {0, 50, 100}
    one_bar_less = write(linked.block.structure.description).replace('<span class="bar"></span>\n', "", 1)
    assert "E0416" in {finding.code for finding in link_block(loaded, "c", one_bar_less).diagnostics}


def test_an_image_gets_alt_size_and_loading(load: Load, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    loaded = load('hero: {heading: H, image: {src: a.png, alt: "A <b> & c"}}')
    image = '<img alt="A &lt;b&gt; &amp; c" height="4" src="a.png" width="8">'
    assert image in html(link_block(loaded, "hero"))
    loaded = load('sections:\n- {kind: figure, id: x, heading: F, image: {src: a.png, alt: "", width: 4}}')
    assert '<img alt="" height="2" loading="lazy" src="a.png" width="4">' in html(link_block(loaded, "x"))


@pytest.mark.parametrize("code", ["\n\nx = 1\n", "<b>&amp;</b>\t{{1}}", "\r\nmixed\n", "a\n\n\n"])
def test_code_is_exact(load: Load, code: str) -> None:
    loaded = load(f"sections:\n- {{kind: code, id: c, heading: C, language: python, code: {json.dumps(code)}}}")
    page = BeautifulSoup(html(link_block(loaded, "c")), "html5lib")
    assert page.pre is not None
    assert page.pre.get_text() == code.replace("\r\n", "\n")


CODE = "sections: [{kind: code, id: c, heading: C, code: 'x = None', language: python}]"
BRIEF = "sections:\n- kind: prose\n  id: p\n  heading: P\n  brief: Say how fast it boils, in two short sentences.\n"
WORDS = (
    '<section class="prose"><h2>{{1}}</h2><p>It boils a litre of water in 90 seconds, and that is fast.</p></section>'
)


@pytest.mark.parametrize(
    ("spec", "change", "name", "fragment"),
    [
        (FEATURES, lambda s: s.replace("Calm", "Quiet"), "f", GOOD),
        (FEATURES, lambda s: s + "- {kind: prose, id: p, heading: why, paragraphs: [x]}\n", "f", GOOD),
        (CODE, lambda s: s.replace("python", "text"), "c", None),
        ("lang: en\nnav: {brand: B, links: [{text: x, href: /x}]}", lambda s: s.replace("en", "de"), "nav", None),
        (f"{BRIEF}- {{kind: prose, id: q, heading: Q, paragraphs: [90]}}\n", lambda s: s.replace("90", "80"), "p", WORDS),
    ],
    ids=["a text", "a heading elsewhere", "the language of code", "a label", "a number elsewhere"],
)  # fmt: skip
def test_what_is_remembered_is_what_would_be_linked(
    load: Load, spec: str, change: Callable[[str], str], name: str, fragment: str | None
) -> None:
    make_element.cache_clear()
    before = [link_block(load(spec), name, fragment) for _ in range(2)]
    assert before[0] == before[1] and make_element.cache_info().hits == 1
    remembered = link_block(load(change(spec)), name, fragment)
    make_element.cache_clear()
    assert remembered == link_block(load(change(spec)), name, fragment)
    assert (remembered.html, bool(remembered.diagnostics)) != (before[0].html, bool(before[0].diagnostics))


def test_a_remembered_image_is_that_of_today(load: Load, tmp_path: Path) -> None:
    spec = "hero: {heading: H, image: {src: a.png, alt: A}}"
    (tmp_path / "a.png").write_bytes(PNG)
    before = html(link_block(load(spec), "hero"))
    assert html(link_block(load(spec.replace("alt: A", "alt: B")), "hero")) == before.replace('alt="A"', 'alt="B"')
    wide = html(link_block(load(spec.replace("alt: A", "alt: A, width: 4")), "hero"))
    assert wide == before.replace('height="4" src="a.png" width="8"', 'height="2" src="a.png" width="4"') != before
    (tmp_path / "a.png").write_bytes(PNG.replace(b"\0\0\0\x08", b"\0\0\0\x10", 1))
    assert html(link_block(load(spec), "hero")) == before.replace('width="8"', 'width="16"') != before


def test_a_remembered_block_has_the_id_of_today(load: Load) -> None:
    before = html(link_block(load(FEATURES), "f", GOOD))
    after = html(link_block(load(FEATURES.replace("id: f", "id: g")), "g", GOOD))
    assert after == before.replace('id="f', 'id="g').replace('by="f', 'by="g') != before


def test_a_remembered_error_points_to_where_its_text_stands_today(load: Load) -> None:
    broken = GOOD.replace("<p>{{6}}</p>", "")
    (before,) = link_block(load(FEATURES), "f", broken).diagnostics
    (after,) = link_block(load(FEATURES.replace("  items:", "  # new\n  items:")), "f", broken).diagnostics
    assert before.span is not None and after.span is not None
    assert after.message == before.message and after.span.line == before.span.line + 1


def test_what_is_remembered_is_bounded_by_its_size(load: Load) -> None:
    make_element.cache_clear()

    def link_long(word: str) -> None:
        text = word * (REMEMBERED_CHARACTERS // 4)
        link_block(load(f"sections: [{{kind: prose, id: p, heading: P, paragraphs: [{text}]}}]"), "p")

    for word in "abcda":
        link_long(word)
    assert make_element.cache_info().hits == 0
    link_long("d")
    assert make_element.cache_info().hits == 1


def test_a_repeated_heading_names_no_region(load: Load) -> None:
    loaded = load(
        "sections:\n- {kind: prose, heading: T, paragraphs: [a]}\n- {kind: prose, heading: T, paragraphs: [b]}"
    )
    assert "aria-labelledby" not in html(link_block(loaded, "t"))
    assert 'id="t-2"' in html(link_block(loaded, "t-2"))


HOSTILE = ["{{1}}", "{{2}} {{99}}", "</script>", "{% raw %}", "<b>&amp;</b>", '"><img src=x onerror=x()>', "`x`", "*a*"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_just_text(load: Load, text: str) -> None:
    loaded = load(
        f"sections:\n- {{kind: faq, id: q, heading: {json.dumps(text)}, "
        f"items: [{{question: {json.dumps(text)}, answer: {json.dumps('x ' + text)}}}]}}"
    )
    page = BeautifulSoup(html(link_block(loaded, "q")), "html5lib")
    assert [page.h2.text, page.summary.text] == [text, text]  # type: ignore[union-attr]
    assert page.p is not None and page.p.text == plain_text("x " + text)


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cn", "Co"]), min_size=1, max_size=30)
texts = st.one_of(words, st.text(string.printable, min_size=1, max_size=30), st.sampled_from(HOSTILE))


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(
    st.fixed_dictionaries(
        {
            "kind": st.just("pricing"),
            "heading": texts,
            "intro": texts,
            "items": st.lists(
                st.fixed_dictionaries(
                    {"title": texts, "price": texts, "text": texts, "points": st.lists(texts, min_size=1, max_size=3)}
                ),
                min_size=1,
                max_size=3,
            ),
        }
    )
)
def test_every_accepted_text_comes_out_exactly(section: dict[str, object]) -> None:
    spec = {"title": "T", "hero": {"heading": "H"}, "sections": [section]}
    try:
        loaded = load_spec("x.yaml", data=json.dumps(spec).encode())
    except CompileError:
        return
    name = ids.section_ids(loaded.page)[0]
    page = BeautifulSoup(html(link_block(loaded, name)), "html5lib")
    expected = [
        plain_text(value) if slot.markdown else value
        for slot in blocks_of(loaded)[name].structure.slots
        for value in slot.values
    ]
    found = [tag.get_text() for tag in page.select("h2, h3, p, ul.points li")]
    assert sorted(found) == sorted(expected)


pieces = st.sampled_from(
    [
        "<section class='faq'>",
        "</section>",
        "<h2>",
        "</h2>",
        "{{1}}",
        "{{2}}",
        "{{3}}",
        "<details>",
        "</details>",
        "<summary>",
        "</summary>",
        "<p>",
        "</p>",
        "<div class='faq'>",
        "</div>",
        "<li>",
        "<a href='{{3}}'>",
        "</a>",
        "text",
        "<!--",
        "-->",
        "<table>",
        "<td>",
        "<svg>",
        "<template>",
        "&amp;",
        "<",
        "\x00",
        "</br>",
        "<select>",
        "<math>",
        "<frameset>",
        "<plaintext>",
        "<![CDATA[",
        "<p",
    ]
)


@given(st.one_of(st.text(), st.lists(pieces, max_size=14).map("".join)))
def test_any_fragment_is_linked_or_diagnosed(fragment: str) -> None:
    spec = b"title: T\nhero: {heading: H}\nsections:\n- {kind: faq, heading: Q, items: [{question: q, answer: a}]}"
    result = link_block(load_spec("x.yaml", data=spec), "q", fragment)
    assert (result.html is None) == bool(result.diagnostics)
    if result.html is not None:
        assert BeautifulSoup(result.html, "html5lib").get_text(" ", strip=True).split() == ["Q", "q", "a"]
