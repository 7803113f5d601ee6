"""Links: what may stand in a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.hrefs import anchor_target, check, classify, meant, refused

GOOD = {
    "#": "anchor",
    "#a": "anchor",
    "#価格": "anchor",
    "/": "path",
    "/buy?x=1&y=2#z": "path",
    "../a/b.html": "path",
    "a%20b": "path",
    "x/y:z": "path",
    "?q=1": "path",
    "https://example.org": "web",
    "HTTP://example.org:8080/a;b=c": "web",
    "https://münchen.de/straße": "web",
    "https://例え.jp/": "web",
    "https://192.168.0.1/": "web",
    "mailto:a@example.org": "mail",
    "mailto:a+b@example.org?subject=Hi%20there": "mail",
    "tel:+49-30-1234": "tel",
    "tel:(030)1234;ext=5": "tel",
}
DANGEROUS = [
    "javascript:alert(1)",
    "JavaScript:x",
    "java\nscript:x",
    "\tjavascript:x",
    " javascript:x",
    "java\u00a0script:x",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:x",
    "about:blank",
    "//example.org",
    "sms:1",
    "localhost:8000",
]
BROKEN = [
    "",
    "a b",
    "a\\b",
    "a<b",
    'a"b',
    "a|b",
    "a^b",
    "a`b",
    "{x}",
    "[x]",
    "a\x7fb",
    "a\u00a0b",
    "%zz",
    "100%",
    "#a#b",
    "http://",
    "https:example.org",
    "https:///a",
    "https://user@example.org",
    "https://user:pw@example.org",
    "https://example.org:99999",
    "https://example.org:x",
    "https://exa mple.org",
    "https://256.1.1.1",
    "https://0x1",
    "https://\u0e33a",
    "https://a..b",
    "https://-a.org",
    "https://" + "a" * 64 + ".org",
    "mailto:a",
    "mailto:a@b c",
    "tel:",
    "tel:+49 30",
    "tel:abc",
    "1:2",
]


@pytest.mark.parametrize(("href", "kind"), GOOD.items())
def test_good(href: str, kind: str) -> None:
    assert check(href) is None
    assert classify(href) == kind
    assert not refused(href)


@pytest.mark.parametrize("href", DANGEROUS)
def test_dangerous(href: str) -> None:
    assert check(href)
    assert refused(href)


@pytest.mark.parametrize("href", BROKEN)
def test_broken(href: str) -> None:
    assert check(href)
    assert not refused(href)


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("me@example.org", "mailto:me@example.org"),
        ("www.example.org", "https://www.example.org"),
        ("http:/example.org", "http://example.org"),
        ("https//example.org/a", "https://example.org/a"),
        ("tel:+49 (30) 12 34", "tel:+49(30)1234"),
        ("+49 30 1234", "tel:+49301234"),
        ("icon@2x.png", ""),
        ("./me@example.org", ""),
        ("2024/05", ""),
        ("a b", ""),
        ("javascript:me@example.org", ""),
    ],
)
def test_what_was_meant(href: str, address: str) -> None:
    assert meant(href) == address


@pytest.mark.parametrize("href", GOOD)
def test_nothing_else_is_meant_by_a_good_address(href: str) -> None:
    assert meant(href) == ""


def test_anchor_target() -> None:
    assert [anchor_target(href) for href in ("#", "#a%20b", "#%E4%BE%A1")] == ["", "a b", "価"]


@given(st.text(max_size=60))
def test_anything(text: str) -> None:
    message = check(text)
    assert meant(text) == "" or check(meant(text)) is None
    if message is None:
        assert classify(text) in ("anchor", "web", "mail", "tel", "path")
        assert not any(char.isspace() for char in text)
