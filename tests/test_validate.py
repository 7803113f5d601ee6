"""Validation of pages and fragments, held against the Nu Html Checker and axe on damaged pages."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.codes import CODES
from pagecompiler.diagnostics import Diagnostic, Span
from pagecompiler.validate import MAX_FRAGMENT_CHARACTERS, validate_fragment, validate_page
from tests.defects import CLEAN, CLEAN_PATH, DEFECTS, Defect
from tests.defects.mutations import mutants
from tests.referees import Browser, vnu


def codes(found: tuple[Diagnostic, ...]) -> list[str]:
    return [diagnostic.code for diagnostic in found]


def test_the_clean_page_has_no_finding() -> None:
    assert validate_page(CLEAN, language="en") == ()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_every_defect_is_reported(defect: Defect) -> None:
    found = validate_page(defect.page(), language=defect.language)
    assert defect.code in codes(found)
    assert all(diagnostic.message and diagnostic.hint for diagnostic in found)


def test_codes_of_pages_are_all_provoked() -> None:
    provoked = {code for defect in DEFECTS for code in codes(validate_page(defect.page(), language="en"))}
    fragments_only = {"E0662", "E0663"}
    assert provoked | fragments_only == {code for code in CODES if code[1:3] == "06"}


@pytest.mark.parametrize(
    ("old", "new", "span"),
    [
        ('<div class="foot">', '<div class="foot" align="x">', ("<div class", 1)),
        ('href="/buy"', 'href="/b uy"', ('<a class="button"', 1)),
        ("<p>No.</p>", "<ul><p>No.</p></ul>", ("<p>No.", 1)),
        ("<p>No.</p>", "<p>No.\x07</p>", ("\x07", 1)),
    ],
)
def test_findings_point_at_the_start_tag(old: str, new: str, span: tuple[str, int]) -> None:
    page = CLEAN.replace(old, new, 1)
    (found,) = validate_page(page, language="en")
    at = page.index(span[0], page.index("<main") if "foot" not in new else page.index("<footer"))
    assert found.span is not None
    line = page.count("\n", 0, at) + 1
    assert (found.span.line, found.span.column) == (line, at - page.rfind("\n", 0, at))


def test_positions_are_those_of_the_text_with_unix_line_ends() -> None:
    page = CLEAN.replace("<p>No.</p>", "<P><prose>No.</prose></P>").replace("\n", "\r\n")
    (found,) = validate_page(page, language="en")
    assert found.span == Span(*_place(page.replace("\r\n", "\n"), "<prose>"))


def _place(text: str, mark: str) -> tuple[int, int, int, int]:
    at = text.index(mark)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return line, column, line, column + len(mark)


def test_language_is_only_compared_when_it_is_known() -> None:
    page = CLEAN.replace('lang="en"', 'lang="de"')
    assert validate_page(page) == ()
    assert codes(validate_page(page, language="en")) == ["E0640"]


def test_right_to_left_pages() -> None:
    page = CLEAN.replace('lang="en"', 'lang="ar-EG" dir="rtl"')
    assert validate_page(page, language="ar-EG") == ()


def test_text_of_the_spec_is_never_an_error() -> None:
    texts = ["{{7}}", "{% raw %}", "&lt;/script&gt;", "```", "&lt;think&gt;", "lorem ipsum", "rest of the page here"]
    for text in texts:
        found = validate_page(CLEAN.replace("<p>No.</p>", f"<p>{text}</p>"), language="en")
        assert all(diagnostic.severity.value == "warning" for diagnostic in found), text


def test_sections_of_one_heading_are_not_named() -> None:
    page = CLEAN.replace("Setup</h2>", "The Day</h2>")
    assert "E0634" in codes(validate_page(page, language="en"))
    unnamed = re.sub(r' aria-labelledby="(?:day|setup)-heading"', "", page)
    assert validate_page(unnamed, language="en") == ()


FRAGMENTS = {
    '<section class="features"><h2>{{1}}</h2><ul class="cards"><li><h3>{{2}}</h3></li></ul></section>': [],
    '<nav class="nav"><a class="brand" href="#top">{{1}}</a><ul><li><a href="{{2}}">{{3}}</a></li></ul></nav>': [],
    '<section><h2>{{1}}</h2>\n<p data-each="paragraphs">{{2}}</p>\n</section>\n': [],
    '<section><h1>{{1}}</h1><img src="{{2}}"></section>': [],
    '<section><h1>{{1}}</h1><img src="{{2}}" alt="" /></section>': [],
    "<section><dl><div><dt>{{1}}</dt><dd>{{2}}</dd></div></dl></section>": [],
    "<section><table><thead><tr><th>{{1}}</th></tr></thead>"
    '<tbody><tr data-each="rows"><td>{{2}}</td></tr></tbody></table></section>': [],
    "<section><p>R & D, AT&T</p></section>": [],
    "<section><p>{{1}}": ["E0602"],
    "<section><h2>{{1}}</h2><div></section>": ["E0603"],
    "<section><p>{{1}}<div>x</div></p></section>": ["E0603"],
    "<section><ul><p>{{1}}</p></ul></section>": ["E0607"],
    "<section><p>{{1}</p></section>": ["E0662"],
    "<section><p>{{ 1 }}</p></section>": ["E0662", "E0662"],
    "```html\n<section></section>": ["E0663", "E0663"],
    "Sure! <section></section>": ["E0663"],
    "<think>so</think><section></section>": ["E0605", "E0663"],
    "<section><!-- rest of the items here --></section>": ["E0663"],
    "<section><!-- the items --></section>": [],
    "<section><p>Lorem ipsum dolor</p></section>": ["E0663"],
    '<section id="x"></section>': ["E0606"],
    '<section style="color:red"></section>': ["E0653"],
    '<section onclick="x()"></section>': ["E0652"],
    "<section><script>x()</script></section>": ["E0652"],
    "<main><section></section></main>": ["E0605", "E0607"],
    "<!DOCTYPE html><html><body><section></section></body></html>": ["E0604", "E0604", "E0601", "E0604"],
    '<section><svg><path d="x"/></svg></section>': ["E0605", "E0605"],
    "<div>" * 200: ["E0609"],
    "": [],
}


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_fragments(fragment: str) -> None:
    assert codes(validate_fragment(fragment)) == FRAGMENTS[fragment]


def test_an_endless_fragment_is_not_read() -> None:
    assert codes(validate_fragment("<p>" * MAX_FRAGMENT_CHARACTERS)) == ["E0609"]


BROKEN = (
    "<svg>", "<math>", "<select>", "<template>", "<table>", "<frameset>", "</p>", "</body>", "</html>", "</",
    "<![CDATA[", "<!--", "-->", "\x00", "\ud800", "\r", "&", "&#x110000;", "{{",
)  # fmt: skip
PIECES = st.sampled_from([*re.findall(r"<[^>]*>|[^<]+", CLEAN), *BROKEN])
MARKUP = st.one_of(
    st.text(st.characters(exclude_categories=())), st.lists(PIECES, max_size=60).map("".join), st.just(CLEAN)
)


@settings(max_examples=300)
@given(MARKUP, st.integers(0, 6000), st.text(max_size=5))
def test_no_text_makes_validation_raise(text: str, cut: int, junk: str) -> None:
    broken = text[:cut] + junk + text[cut:]
    for found in (*validate_page(broken, language="en"), *validate_fragment(broken), *validate_page(text[:cut])):
        assert found.span is None or (found.span.line, found.span.column) >= (1, 1)


@pytest.mark.parametrize("piece", ["<b>", "<p><b class=x>", "<table>", "<a href=x>", "<", "<p a", "&", "</p>", "<li>"])
def test_repeated_pieces_take_bounded_time(piece: str) -> None:
    text = piece * (15_000 // len(piece))
    start = time.process_time()
    validate_fragment(text)
    validate_page(text)
    assert time.process_time() - start < 20


def test_a_large_page_is_quick() -> None:
    body = CLEAN[CLEAN.index('<section class="features"') : CLEAN.index("</main>")]
    copies = "".join(re.sub(r'((?:id|labelledby)="|">)(?=\w)', rf"\g<1>n{n}-", body) for n in range(20))
    page = CLEAN.replace("</main>", copies + "</main>")
    assert len(page) > 50_000
    assert validate_page(page, language="en") == ()
    best = min(_seconds(page) for _ in range(3))
    assert best < 1, f"{best:.3f} s"  # about 0.04 s


def _seconds(page: str) -> float:
    """Of this process, so that others on the machine do not count."""
    start = time.process_time()
    validate_page(page, language="en")
    return time.process_time() - start


@pytest.mark.browser
def test_referees_accept_the_clean_page() -> None:
    assert vnu([CLEAN_PATH]) == {CLEAN_PATH: []}
    with Browser() as browser:
        for scheme in ("light", "dark"):
            assert browser.check(CLEAN_PATH, scheme=scheme).problems() == []


@pytest.mark.browser
def test_referees_find_nothing_that_validation_misses(tmp_path: Path) -> None:
    """Of the damaged pages, only those that validation passes need a look, and they must be clean."""
    pages = [defect.page() for defect in DEFECTS] + [mutant.html for mutant in mutants(CLEAN, 400, seed=20)]
    passed = [page for page in pages if not validate_page(page)]
    assert len(passed) > 50
    paths = [tmp_path / f"{number}.html" for number in range(len(passed))]
    for path, page in zip(paths, passed, strict=True):
        path.write_text(page, encoding="utf-8", newline="")
    messages = vnu(paths)
    misses = {path.name: [*map(str, found)] for path, found in messages.items() if found}
    with Browser() as browser:
        for path in paths[:25]:
            if violations := browser.check(path).violations:
                misses[path.name] = [*map(str, violations)]
    assert misses == {}


@pytest.mark.browser
def test_the_nu_html_checker_agrees_on_most_defects(tmp_path: Path) -> None:
    """The damage is real: a referee that stopped working would agree with everything."""
    paths = [tmp_path / f"{number}.html" for number in range(len(DEFECTS))]
    for path, defect in zip(paths, DEFECTS, strict=True):
        path.write_text(defect.page(), encoding="utf-8", newline="")
    assert sum(bool(found) for found in vnu(paths).values()) > len(DEFECTS) / 2
