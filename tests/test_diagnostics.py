"""How findings look, and that the table of codes is whole."""

from __future__ import annotations

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler import assets, diagnostics, hrefs, ids, inline, langtag, numbers, schema
from pagecompiler.codes import CODES
from pagecompiler.diagnostics import Diagnostic, Span, diagnostic, explain, printable, render


def test_a_finding_with_its_line() -> None:
    found = diagnostic(
        "E0203", "unknown key `titl`", file="a.yaml", span=Span(2, 3, 2, 7), hint="did you mean `title`?"
    )
    assert render(found, "hero:\n  titl: x\n", color=False) == (
        "a.yaml:2:3: error[E0203]: unknown key `titl`\n  2 |   titl: x\n    |   ^^^^\n  hint: did you mean `title`?"
    )


@pytest.mark.parametrize(
    ("line", "span", "shown", "carets"),
    [
        ("title: 日本語x", Span(1, 8, 1, 11), "  1 | title: 日本語x", "    |        ^^^^^^"),
        ("日本: x", Span(1, 5, 1, 6), "  1 | 日本: x", "    |       ^"),
        ("e\u0301a: x", Span(1, 3, 1, 4), "  1 | e\u0301a: x", "    |  ^"),
        ("a:\tb", Span(1, 4, 1, 5), "  1 | a:    b", "    |       ^"),
        ("a: \x1b[2Jb", Span(1, 4, 1, 5), "  1 | a: ␛[2Jb", "    |    ^"),
        ("a: \u202eb", Span(1, 5, 1, 6), "  1 | a: <U+202E>b", "    |            ^"),
        ("abc", Span(1, 4, 1, 4), "  1 | abc", "    |    ^"),
        ("abc", Span(1, 90, 1, 99), "  1 | abc", "    |    ^"),
        ("ab\ncd", Span(1, 2, 2, 2), "  1 | ab", "    |  ^"),
    ],
)
def test_the_caret_stands_under_its_text(line: str, span: Span, shown: str, carets: str) -> None:
    rendered = render(Diagnostic("E0104", "m", "f", span), line, color=False)
    assert rendered.split("\n")[1:] == [shown, carets]


def test_a_long_line_is_cut_around_the_caret() -> None:
    rendered = render(
        Diagnostic("E0104", "m", "f", Span(1, 5001, 1, 5003)), "a" * 5000 + "bb" + "c" * 5000, color=False
    )
    _, line, carets = rendered.split("\n")
    assert len(line) < 120
    assert line[carets.index("^") : carets.rindex("^") + 1] == "bb"


def test_without_a_place() -> None:
    assert render(Diagnostic("E0104", "m"), None, color=False) == "error[E0104]: m"
    assert render(Diagnostic("E0104", "m", "f"), "x", color=False) == "f: error[E0104]: m"
    assert render(Diagnostic("E0104", "m", "f", Span(7, 1, 7, 2)), "x", color=False) == "f:7:1: error[E0104]: m"


def test_colour_is_only_there_when_asked_for() -> None:
    found = diagnostic("W0117", "m", file="f", span=Span(1, 1, 1, 2))
    assert "\x1b[1;33mwarning[W0117]:\x1b[0m" in render(found, "x", color=True)
    assert "\x1b" not in render(found, "x", color=False)


@given(st.text(max_size=40), st.text(max_size=40), st.integers(1, 5), st.integers(1, 50), st.integers(1, 5))
def test_nothing_raw_reaches_the_terminal(source: str, message: str, line: int, column: int, rows: int) -> None:
    found = Diagnostic("E0104", message, message, Span(line, column, line + rows - 1, column), message)
    for row in render(found, source, color=False).split("\n"):
        assert row == printable(row)


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str) -> None:
    assert re.fullmatch(r"[EWN]0[1-8]\d\d", code)
    entry = CODES[code]
    assert entry.title and not entry.title.endswith(".")
    assert entry.meaning.endswith(".") and not entry.fix.endswith(".")
    assert entry.meaning in explain(code)


def test_json_has_nothing_missing() -> None:
    assert Diagnostic("E0104", "m").to_json() == dict.fromkeys(["file", "line", "column", "end_line", "end_column"]) | {
        "severity": "error",
        "code": "E0104",
        "message": "m",
        "hint": "",
    }
    assert diagnostic("W0117", "m").as_error().to_json()["severity"] == "error"


@pytest.mark.parametrize("module", [assets, diagnostics, hrefs, ids, inline, langtag, numbers, schema])
def test_examples_in_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
