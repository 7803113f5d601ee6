"""Inline Markdown: what is markup, and that everything else is text."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.inline import (
    REMEMBERED_BYTES,
    InlineElement,
    InlineText,
    links,
    plain_text,
    render_inline,
    text_runs,
)


def test_nodes() -> None:
    assert render_inline("a *b **c*** `d` [e *f*](/g)") == (
        InlineText("a "),
        InlineElement("em", None, (InlineText("b "), InlineElement("strong", None, (InlineText("c"),)))),
        InlineText(" "),
        InlineElement("code", None, (InlineText("d"),)),
        InlineText(" "),
        InlineElement("a", "/g", (InlineText("e "), InlineElement("em", None, (InlineText("f"),)))),
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "plain", "# no heading", "- no list", "<b>no html</b>", "a\nb  \nc", "&amp;", "a * b", "snake_case_name",
        "![", "{{7}}", "    no code", "> no quote", "http://no.link", "| no | table |", "a[1]", "~~no~~", "--", '"quotes"',
    ],
)  # fmt: skip
def test_everything_else_is_text(text: str) -> None:
    assert plain_text(text) == text
    assert render_inline(text) == ((InlineText(text),) if text else ())


@pytest.mark.parametrize(
    ("text", "plain"),
    [("**a** b", "a b"), ("[a](b)", "a"), (r"\*a\*", "*a*"), ("`*a*`", "*a*"), ("a\\\nb", "a\nb"), ("**a", "**a")],
)
def test_plain_text(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_links_keep_what_was_typed() -> None:
    found = list(links("[a](javascript:x) *[b](</c d>)* [](é) [e](/f 'title')"))
    assert [link.href for link in found] == ["javascript:x", "/c d", "é", "/f"]
    assert [link.title for link in found] == [None, None, None, "title"]


def test_runs() -> None:
    assert list(text_runs("a *b* c")) == ["a ", "b", " c"]


@given(st.text(alphabet="ab*_`[]()\\ \n!<>&é", max_size=40))
def test_anything(text: str) -> None:
    assert "".join(text_runs(text)) == plain_text(text)
    list(links(text))


def test_what_is_remembered_is_bounded_by_the_size_of_the_texts() -> None:
    texts = [f"*{number}*" + "x" * (REMEMBERED_BYTES // 20) for number in range(12)]
    first = [render_inline(text) for text in texts]
    assert render_inline(texts[-1]) is first[-1]
    assert render_inline(texts[0]) is not first[0]


def test_texts_without_marks_do_not_import_the_parser() -> None:
    code = "import sys, pagecompiler.spec; from pagecompiler.inline import plain_text; plain_text('a'); " + (
        "sys.exit(bool({'markdown_it', 'imagesize', 'difflib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
