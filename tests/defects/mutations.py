"""Random damage to the clean page: one small change a page, as an editor or a model might make it."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.defects import CLEAN

_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)((?:\s[^<>]*)?)>")
_ATTRIBUTE = re.compile(r'\s[a-z-]+="[^"]*"')
_VOID = frozenset({"meta", "link", "img", "br", "hr"})
_NAMES = (
    "a", "b", "blockquote", "caption", "code", "dd", "details", "div", "dl", "dt", "em", "figcaption", "figure",
    "footer", "h1", "h2", "h3", "h4", "header", "hr", "img", "li", "main", "nav", "ol", "p", "pre", "section",
    "small", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul", "article", "aside",
    "time", "button", "label",
)  # fmt: skip
_VALUES = (
    "", "x", "0", "-1", "1", "true", "#", "#top", "#features", "#nothing", "a b", "100%", "col", "row", "lazy",
    "en", "rtl", "/path", "https://example.com/?q=1&x", "mailto:", "tel:+49", "features", "main", "data:,",
)  # fmt: skip
_ADDED = (
    "id=x", 'id="features"', 'role="list"', 'role="region"', 'tabindex="0"', 'aria-hidden="true"', 'lang="de"',
    'aria-label="Name"', 'aria-labelledby="features-heading"', 'hidden=""', 'title="x"', 'alt=""', 'href="/x"',
    'scope="row"', 'dir="rtl"', 'class=""', 'aria-current="page"', 'aria-describedby="features"', 'open=""',
    'start="3"', 'width="10"', 'colspan="2"', 'role="group"', 'role="img"', 'role="none"', 'role="note"',
)  # fmt: skip
_TEXTS = ("text", "&", "&lt;", "<", ">", "&nbsp;", '"', "é", "<br>", "<hr>", "<b>b</b>", '<a href="/x">x</a>', "</p>")

Range = tuple[int, int]


def mutants(count: int, seed: int) -> list[str]:
    """So many pages, each the clean one with one random change below its `<style>`; the same for a seed."""
    random = Random(seed)
    made: list[str] = []
    while len(made) < count:
        page = random.choice(_CHANGES)(random)
        if page != CLEAN:
            made.append(page)
    return made


def _tags() -> list[re.Match[str]]:
    start = CLEAN.index("</style>") + len("</style>")
    return list(_TAG.finditer(CLEAN, start))


def _elements() -> list[tuple[Range, Range]]:
    """The ranges of start and end tag of each element of the body."""
    found: list[tuple[Range, Range]] = []
    opened: list[re.Match[str]] = []
    for tag in _tags():
        if not tag[1]:
            if tag[2] in _VOID:
                found.append((tag.span(), (tag.end(), tag.end())))
            else:
                opened.append(tag)
        elif opened and opened[-1][2] == tag[2]:
            found.append((opened.pop().span(), tag.span()))
    return found


TAGS = _tags()
ELEMENTS = _elements()
PLACES = sorted({tag.end() for tag in TAGS} | {tag.start() for tag in TAGS})


def _replaced(start: int, end: int, text: str) -> str:
    return CLEAN[:start] + text + CLEAN[end:]


def _delete_tag(random: Random) -> str:
    return _replaced(*random.choice(TAGS).span(), "")


def _repeat_tag(random: Random) -> str:
    tag = random.choice(TAGS)
    return _replaced(*tag.span(), tag[0] * 2)


def _swap_tags(random: Random) -> str:
    at = random.randrange(len(TAGS) - 1)
    one, two = TAGS[at], TAGS[at + 1]
    return _replaced(one.start(), two.end(), two[0] + CLEAN[one.end() : two.start()] + one[0])


def _rename(random: Random) -> str:
    start, end = random.choice(ELEMENTS)
    name = random.choice(_NAMES)
    tag = re.sub(r"^<[a-z0-9]+", "<" + name, CLEAN[start[0] : start[1]])
    close = f"</{name}>" if end[0] != end[1] else ""
    return _replaced(start[0], end[1], tag + CLEAN[start[1] : end[0]] + close)


def _delete_element(random: Random) -> str:
    start, end = random.choice(ELEMENTS)
    return _replaced(start[0], end[1], "")


def _unwrap(random: Random) -> str:
    start, end = random.choice(ELEMENTS)
    return _replaced(start[0], end[1], CLEAN[start[1] : end[0]])


def _wrap(random: Random) -> str:
    start, end = random.choice(ELEMENTS)
    name = random.choice(_NAMES)
    return _replaced(start[0], end[1], f"<{name}>{CLEAN[start[0] : end[1]]}</{name}>")


def _empty(random: Random) -> str:
    start, end = random.choice(ELEMENTS)
    return _replaced(start[1], end[0], "")


def _copy_element(random: Random) -> str:
    start, end = random.choice(ELEMENTS)
    copied = re.sub(r' (?:id|aria-labelledby)="[^"]*"', "", CLEAN[start[0] : end[1]])
    place = random.choice(PLACES)
    return _replaced(place, place, copied if random.random() < 0.5 else CLEAN[start[0] : end[1]])


def _delete_attribute(random: Random) -> str:
    found = list(_ATTRIBUTE.finditer(CLEAN, TAGS[0].start()))
    return _replaced(*random.choice(found).span(), "")


def _change_attribute(random: Random) -> str:
    found = random.choice(list(_ATTRIBUTE.finditer(CLEAN, TAGS[0].start())))
    name = found[0].partition("=")[0]
    return _replaced(*found.span(), f'{name}="{random.choice(_VALUES)}"')


def _add_attribute(random: Random) -> str:
    start = random.choice(ELEMENTS)[0]
    return _replaced(start[1] - 1, start[1] - 1, " " + random.choice(_ADDED))


def _add_text(random: Random) -> str:
    place = random.choice(PLACES)
    return _replaced(place, place, random.choice(_TEXTS))


_CHANGES: list[Callable[[Random], str]] = [
    _delete_tag,
    _repeat_tag,
    _swap_tags,
    _rename,
    _rename,
    _delete_element,
    _unwrap,
    _wrap,
    _wrap,
    _empty,
    _copy_element,
    _delete_attribute,
    _change_attribute,
    _add_attribute,
    _add_attribute,
    _add_text,
]
