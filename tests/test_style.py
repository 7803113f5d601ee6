"""The style checker: everything that is not in its tables is an error; and the stylesheet of a page."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pagecompiler.checks.css import stylesheet_problems
from pagecompiler.codes import CODES
from pagecompiler.engine.reference import write
from pagecompiler.moods import MOOD_WORDS
from pagecompiler.palette import palettes
from pagecompiler.resources import template_dir
from pagecompiler.schema import Theme
from pagecompiler.style import (
    DECLARATIONS,
    MAX_PROBLEMS,
    MAX_RULES,
    SELECTORS,
    STYLE_PROPERTIES,
    Grammar,
    base_css,
    check_style,
    page_css,
    palette_rules,
)


def codes(css: str) -> list[str]:
    return [problem.code for problem in check_style(css).problems]


# --- what is allowed


def test_canonical_form() -> None:
    result = check_style(":root{--scale:1.30;--ALIGN:x}.cards>li,.cards li{ PADDING : 1.0rem 2REM }")
    assert result.css == ":root {\n  --scale: 1.3;\n}\n.cards > li, .cards li {\n  padding: 1rem 2rem;\n}"
    assert [problem.code for problem in result.problems] == ["E0513"]


@pytest.mark.parametrize(
    "css",
    [
        "",
        ":root { }",
        ":root { --heading-font: var(--serif); --heading-tracking: -0.02em; --tint: 0%; --align: center }",
        ".lead { font-style: italic; }",
        ".hero.split .copy { padding: 1rem; }",
        ".plans > li { border-width: 2px; border-style: dashed; }",
        ".faq details { border-style: none; }",
        ".quote, .quote blockquote { background: var(--tinted); color: var(--text); }",
        ".figures dd { font-family: var(--mono); font-size: 2.5rem; }",
        ".hero { padding-block: 6rem; }",
        ".cards { gap: 0; }",
        ".code { background: var(--tinted); }",
        ".hero figure { padding: 1rem; }",
    ],
)
def test_allowed(css: str) -> None:
    result = check_style(css)
    assert result.problems == ()
    assert check_style(result.css) == result


@pytest.mark.parametrize("font", ["sans", "serif", "mono"])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_whatever_the_reference_writes_is_allowed(font: str, count: int) -> None:
    for moods in itertools.permutations(MOOD_WORDS, count):
        lines = ["kind: style", f"font: {font}"] + ([f"mood: {', '.join(moods)}"] if moods else [])
        css = write("\n".join(lines))
        result = check_style(css)
        assert result.problems == (), css
        assert ":root {" in result.css


# --- what is not

TRICKS = [
    # files and at-rules
    ("@import 'a.css';", "E0510"),
    ("@import url(a.css);", "E0511"),
    ("@media print { .lead { color: var(--text) } }", "E0511"),
    ("@font-face { font-family: x }", "E0511"),
    ("@property --x { syntax: '*' }", "E0510"),
    ("@layer a;", "E0511"),
    ("@charset 'utf-8';", "E0510"),
    (".lead { background: url(x.png) }", "E0514"),
    (".lead { background: url('x.png') }", "E0510"),
    (".lead { background: image-set(x) }", "E0514"),
    (":root { --radius: url(x) }", "E0514"),
    # hiding
    (".lead { display: none }", "E0513"),
    (".lead { visibility: hidden }", "E0513"),
    (".lead { opacity: 0 }", "E0513"),
    (".lead { clip: rect(0 0 0 0) }", "E0513"),
    (".lead { clip-path: inset(50%) }", "E0513"),
    (".lead { transform: scale(0) }", "E0513"),
    (".lead { scale: 0 }", "E0513"),
    (".lead { text-indent: -999rem }", "E0513"),
    (".lead { color: var(--background) }", "E0514"),
    (".lead { color: transparent }", "E0514"),
    (".lead { color: red }", "E0514"),
    (".lead { color: #123456 }", "E0514"),
    (".lead { color: rgb(0 0 0) }", "E0514"),
    (".lead { color: var(--text, red) }", "E0514"),
    (".lead { color: var(--secret) }", "E0514"),
    (".lead { background: var(--text) }", "E0514"),
    (".lead { font-size: 0 }", "E0514"),
    (".lead { font-size: 0.8rem }", "E0514"),
    (".lead { font-size: 10px }", "E0514"),
    (".lead { font-size: 1em }", "E0514"),
    (".lead { font-size: smaller }", "E0514"),
    (".lead { font-size: calc(1rem * 0) }", "E0514"),
    (".lead { line-height: 0 }", "E0514"),
    (".lead { letter-spacing: -1em }", "E0514"),
    (".lead { max-inline-size: 0ch }", "E0514"),
    (".lead { height: 0 }", "E0513"),
    (".lead { overflow: hidden }", "E0513"),
    (".lead { content: none }", "E0513"),
    (".lead { filter: blur(9px) }", "E0513"),
    (".lead { all: unset }", "E0513"),
    # moving away
    (".lead { position: fixed }", "E0513"),
    (".lead { inset: 0 }", "E0513"),
    (".lead { margin: -9rem }", "E0513"),
    (".lead { margin-block-start: -1rem }", "E0514"),
    (".lead { margin-block-start: 99rem }", "E0514"),
    (".lead { padding: -1rem }", "E0514"),
    (".lead { z-index: 9 }", "E0513"),
    (".cards { float: left }", "E0513"),
    # the base stylesheet's own
    (".cta { background: var(--surface) }", "E0513"),
    (".cta h2 { color: var(--text) }", "E0513"),
    (".hero .button { color: var(--text) }", "E0513"),
    (".hero a { color: var(--text) }", "E0513"),
    (".bar { background: none }", "E0513"),
    (".listing pre { background: var(--surface) }", "E0513"),
    (".features { padding: 0 }", "E0513"),
    (".hero { padding-inline: 0 }", "E0513"),
    (".hero, .lead { padding-inline: 0 }", "E0513"),
    (".text code { color: var(--muted) }", "E0513"),
    (".nav { max-inline-size: 30ch }", "E0513"),
    # selectors
    ("* { color: var(--text) }", "E0512"),
    ("body { color: var(--text) }", "E0512"),
    ("p { color: var(--text) }", "E0512"),
    ("#main { color: var(--text) }", "E0512"),
    ("[href] { color: var(--text) }", "E0512"),
    (".lead[href] { color: var(--text) }", "E0512"),
    (".lead::before { color: var(--text) }", "E0512"),
    (".lead:hover { color: var(--text) }", "E0512"),
    (".lead:not(.x) { color: var(--text) }", "E0512"),
    (".skip { color: var(--text) }", "E0512"),
    (".share-3 { color: var(--text) }", "E0512"),
    (".unknown { color: var(--text) }", "E0512"),
    (".lead, body { color: var(--text) }", "E0512"),
    (".lead, { color: var(--text) }", "E0512"),
    (".lead + p { color: var(--text) }", "E0512"),
    (".lead ~ p { color: var(--text) }", "E0512"),
    (".cards * { color: var(--text) }", "E0512"),
    (".cards > { color: var(--text) }", "E0512"),
    ("> .cards { color: var(--text) }", "E0512"),
    (".cards li p { color: var(--text) }", "E0512"),
    (".cards script { color: var(--text) }", "E0512"),
    (".lead & { color: var(--text) }", "E0512"),
    ("html:root { --scale: 1.2 }", "E0512"),
    (":root .lead { --scale: 1.2 }", "E0512"),
    (":is(.lead) { color: var(--text) }", "E0512"),
    (".LEAD { color: var(--text) }", "E0512"),
    # properties and values
    (":root { --unknown: 1 }", "E0513"),
    (":root { --background: #fff }", "E0513"),
    (":root { --sans: x }", "E0513"),
    (":root { color: var(--text) }", "E0513"),
    (".lead { --scale: 1.2 }", "E0513"),
    (":root { --scale: 1.2; --scale: 1.3 }", "E0513"),
    (":root { --scale: 1.2 } :root { --scale: 1.3 }", "E0513"),
    (".lead { color: var(--text); color: var(--muted) }", "E0513"),
    (":root { --scale: 9 }", "E0514"),
    (":root { --scale: 1.2rem }", "E0514"),
    (":root { --scale: 1.2 1.3 }", "E0514"),
    (":root { --scale: calc(1 + 1) }", "E0514"),
    (":root { --scale: }", "E0514"),
    (":root { --radius: 1e9rem }", "E0514"),
    (":root { --radius: 1vw }", "E0514"),
    (":root { --tint: 60% }", "E0514"),
    (":root { --align: end }", "E0514"),
    (":root { --heading-font: Comic Sans }", "E0514"),
    (":root { --heading-font: var(--evil) }", "E0514"),
    (":root { --scale: 1.2 !important }", "E0514"),
    (".lead { color: var(--text) !important }", "E0514"),
    (".lead { color: inherit }", "E0514"),
    # nesting, comments, markup, cut text
    (".cards { li { color: var(--text) } }", "E0510"),
    (".cards { & li { color: var(--text) } }", "E0510"),
    (".cards { .lead { color: var(--text) } }", "E0510"),
    ("/* hello */", "E0510"),
    ("/* </style> */", "E0510"),
    ("</style><script>", "E0510"),
    ("<!-- .lead { color: var(--text) } -->", "E0510"),
    (".lead { color: var(--text)", "E0510"),
    (".lead { color: var(--text", "E0510"),
    (".lead { color: var(--text) } }", "E0510"),
    (".lead { color: var(--text) } .intro", "E0510"),
    (".lead { color }", "E0510"),
    (".l\\65 ad { color: var(--text) }", "E0510"),
    ("```css", "E0510"),
    ("Here is the style:", "E0510"),
    (";", "E0510"),
]


@pytest.mark.parametrize(("css", "code"), TRICKS)
def test_tricks(css: str, code: str) -> None:
    result = check_style(css)
    assert code in [problem.code for problem in result.problems]
    assert check_style(result.css).problems == ()
    for word in ("url", "<", "import", "important", "--background:", "hidden", "inherit"):
        assert word not in result.css


@pytest.mark.parametrize("position", range(1, 60))
def test_a_cut_fragment_is_never_clean_unless_it_ends_with_a_rule(position: int) -> None:
    css = ":root {\n--scale: 1.3;\n}\n.lead {\nfont-style: italic;\n}"
    cut = css[:position]
    assert bool(check_style(cut).problems) == (cut.strip() not in ("", css, ":root {\n--scale: 1.3;\n}"))


def test_problems_say_where() -> None:
    (problem,) = check_style(".lead {\n  font-style: italic;\n  color: red;\n}").problems
    assert (problem.line, problem.column) == (3, 3)
    assert problem.message == "`color` takes var(--link) or var(--muted) or var(--text), not 'red'"


def test_messages_name_the_range() -> None:
    assert "1.1 to 1.4" in check_style(":root { --scale: 9 }").problems[0].message


def test_limits() -> None:
    assert "E0515" in codes(".lead { font-style: italic }" * (MAX_RULES + 1))
    assert len(codes("p { }" * 30)) == MAX_PROBLEMS
    assert codes("{" * 5000)
    assert codes("(" * 5000)


# --- random text

TOKENS = [
    *(f".{name}" for name in sorted(SELECTORS)[:12]), *STYLE_PROPERTIES, *DECLARATIONS, ":root", "li", "h3", "{", "}",
    ":", ";", ",", ">", " ", "\n", "1.2", "2rem", "3px", "5%", "0", "-1rem", "var(--text)", "var(--sans)", "center",
    "!important", "/*", "*/", "<!--", "</style", "@media", "url(x)", "\\", '"', "'", "(", ")", "[", "]", "#a", "\0", "é",
]  # fmt: skip


@settings(max_examples=300)
@given(st.one_of(st.text(), st.lists(st.sampled_from(TOKENS), max_size=40).map("".join)))
@example(".cards{gap:0.00001rem}")
@example(":root{--lift:1e-7}")
@example(":root{--heading-tracking:-0.0em}")
def test_any_text_gives_a_result_that_is_clean(css: str) -> None:
    result = check_style(css)
    again = check_style(result.css)
    assert again.problems == ()
    assert again.css == result.css
    assert all(problem.code in CODES for problem in result.problems)
    assert "<" not in result.css and "url" not in result.css


@given(st.sampled_from(sorted(STYLE_PROPERTIES)), st.floats(-1000, 1000))
def test_numbers_outside_the_range_are_refused(name: str, number: float) -> None:
    grammar = STYLE_PROPERTIES[name]
    for unit, (low, high) in grammar.numbers.items():
        value = f"{number:.4f}"
        good = check_style(f":root {{ {name}: {value}{unit} }}").problems == ()
        assert good == (low <= float(value) <= high)


def test_grammar_as_words() -> None:
    assert str(Grammar(frozenset({"none"}), {"rem": (0, 3)})) == "none or 0rem to 3rem"


# --- the stylesheet


def test_every_property_has_its_default_in_the_base_stylesheet() -> None:
    css = base_css()
    root = css[css.index(":root {") : css.index("}")]
    defaults = dict(re.findall(r"(--[a-z-]+): ([^;]+);", root))
    assert set(defaults) == set(STYLE_PROPERTIES)
    assert check_style(root + "}").problems == ()


def test_the_base_stylesheet_knows_every_class_of_the_vocabulary() -> None:
    classes = set(re.findall(r"\.([a-z][a-z-]*)", base_css()))
    plain = {"features", "pricing", "stats", "quotes", "table", "chart", "people", "code", "figure", "copy", "small"}
    assert SELECTORS - classes <= plain | {"label"}


def test_base_css_has_no_comments_and_the_template_only_logical_sides() -> None:
    assert "/*" not in base_css() and "*/" not in base_css()
    css = (template_dir() / "base.css").read_text(encoding="utf-8")
    assert (
        re.findall(r"(?:margin|padding|border)-(?:left|right|top|bottom)|[^-]\b(?:left|right|top|bottom):", css) == []
    )
    assert "url(" not in css and "@import" not in css


@pytest.mark.parametrize("mode", ["light", "dark", "auto"])
def test_page_css(mode: str) -> None:
    theme = Theme.model_validate({"mode": mode, "accent": "#7a1fd0"})
    fragment = check_style(write("kind: style\nfont: sans\nmood: bold")).css
    css = page_css(palette_rules(palettes(theme), mode), fragment, [".share-37 { inline-size: 37%; }"])
    assert css == page_css(palette_rules(palettes(theme), mode), fragment, [".share-37 { inline-size: 37%; }"])
    assert stylesheet_problems(css) == ()
    assert css.endswith(".share-37 { inline-size: 37%; }\n")
    assert ("prefers-color-scheme: dark" in css) == (mode == "auto")
    assert f"color-scheme: {'light dark' if mode == 'auto' else mode};" in css
    assert css.index("--wash:") < css.index("main > section") < css.index("--heading-weight: 800")


def test_page_css_refuses_markup() -> None:
    with pytest.raises(ValueError, match="markup"):
        page_css("", "", ["</style>"])
