"""Random damage to the markup of a good page: one small change a page, as an editor or a model might make it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

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


@dataclass(frozen=True, slots=True)
class Mutant:
    """A damaged page. `kind` names the damage; `refused` says that pagec refused the fragment before there was a page."""

    kind: str
    html: str
    refused: bool = False


class Markup:
    """A page with the places of the tags below its `<style>`. What changes it returns the changed text."""

    def __init__(self, html: str) -> None:
        self.html = html
        self.tags = list(_TAG.finditer(html, html.index("</style>") + len("</style>")))
        self.elements = self._elements()
        self.places = sorted({tag.end() for tag in self.tags} | {tag.start() for tag in self.tags})
        self.attributes = list(_ATTRIBUTE.finditer(html, self.tags[0].start()))
        self.ids = [found for found in self.attributes if found[0].startswith(' id="')]

    def _elements(self) -> list[tuple[Range, Range]]:
        """The ranges of start and end tag of each element of the body."""
        found: list[tuple[Range, Range]] = []
        opened: list[re.Match[str]] = []
        for tag in self.tags:
            if not tag[1]:
                if tag[2] in _VOID:
                    found.append((tag.span(), (tag.end(), tag.end())))
                else:
                    opened.append(tag)
            elif opened and opened[-1][2] == tag[2]:
                found.append((opened.pop().span(), tag.span()))
        return found

    def replaced(self, start: int, end: int, text: str) -> str:
        return self.html[:start] + text + self.html[end:]

    def inside(self, element: tuple[Range, Range]) -> str:
        return self.html[element[0][1] : element[1][0]]

    def whole(self, element: tuple[Range, Range]) -> str:
        return self.html[element[0][0] : element[1][1]]


def mutants(html: str, count: int, seed: int) -> list[Mutant]:
    """So many pages with one random change each, all kinds equally often; the same for a seed."""
    random, page = Random(seed), Markup(html)
    kinds = list(MARKUP)
    made: list[Mutant] = []
    while len(made) < count:
        kind = kinds[len(made) % len(kinds)]
        changed = MARKUP[kind](page, random)
        if changed != html:
            made.append(Mutant(kind, changed))
    return made


def _delete_tag(page: Markup, random: Random) -> str:
    return page.replaced(*random.choice(page.tags).span(), "")


def _repeat_tag(page: Markup, random: Random) -> str:
    tag = random.choice(page.tags)
    return page.replaced(*tag.span(), tag[0] * 2)


def _swap_tags(page: Markup, random: Random) -> str:
    at = random.randrange(len(page.tags) - 1)
    one, two = page.tags[at], page.tags[at + 1]
    return page.replaced(one.start(), two.end(), two[0] + page.html[one.end() : two.start()] + one[0])


def _move_tag(page: Markup, random: Random) -> str:
    tag, place = random.choice(page.tags), random.choice(page.places)
    without = page.replaced(*tag.span(), "")
    place -= len(tag[0]) if place >= tag.end() else 0
    return without[:place] + tag[0] + without[place:]


def _rename(page: Markup, random: Random) -> str:
    element = random.choice(page.elements)
    (start, start_end), (end, end_end) = element
    name = random.choice(_NAMES)
    tag = re.sub(r"^<[a-z0-9]+", "<" + name, page.html[start:start_end])
    close = f"</{name}>" if end != end_end else ""
    return page.replaced(start, end_end, tag + page.inside(element) + close)


def _swap_elements(page: Markup, random: Random) -> str:
    one, two = random.sample(page.elements, 2)
    if one[0] > two[0]:
        one, two = two, one
    if two[0][0] < one[1][1]:  # one inside the other
        return page.html
    between = page.html[one[1][1] : two[0][0]]
    return page.replaced(one[0][0], two[1][1], page.whole(two) + between + page.whole(one))


def _delete_element(page: Markup, random: Random) -> str:
    start, end = random.choice(page.elements)
    return page.replaced(start[0], end[1], "")


def _unwrap(page: Markup, random: Random) -> str:
    element = random.choice(page.elements)
    return page.replaced(element[0][0], element[1][1], page.inside(element))


def _wrap(page: Markup, random: Random) -> str:
    element = random.choice(page.elements)
    name = random.choice(_NAMES)
    return page.replaced(element[0][0], element[1][1], f"<{name}>{page.whole(element)}</{name}>")


def _empty(page: Markup, random: Random) -> str:
    start, end = random.choice(page.elements)
    return page.replaced(start[1], end[0], "")


def _copy_element(page: Markup, random: Random) -> str:
    element = random.choice(page.elements)
    place = random.choice(page.places)
    return page.replaced(place, place, re.sub(r' (?:id|aria-labelledby)="[^"]*"', "", page.whole(element)))


def _repeat_id(page: Markup, random: Random) -> str:
    """An element gets the id of another one, in place of its own if it has one."""
    start = random.choice(page.elements)[0]
    tag = re.sub(r' id="[^"]*"', "", page.html[start[0] : start[1]])
    return page.replaced(*start, tag[:-1] + random.choice(page.ids)[0] + ">")


def _delete_attribute(page: Markup, random: Random) -> str:
    return page.replaced(*random.choice(page.attributes).span(), "")


def _change_attribute(page: Markup, random: Random) -> str:
    found = random.choice(page.attributes)
    name = found[0].partition("=")[0]
    return page.replaced(*found.span(), f'{name}="{random.choice(_VALUES)}"')


def _add_attribute(page: Markup, random: Random) -> str:
    start = random.choice(page.elements)[0]
    return page.replaced(start[1] - 1, start[1] - 1, " " + random.choice(_ADDED))


def _add_text(page: Markup, random: Random) -> str:
    place = random.choice(page.places)
    return page.replaced(place, place, random.choice(_TEXTS))


MARKUP: Mapping[str, Callable[[Markup, Random], str]] = {
    "tag deleted": _delete_tag,
    "tag repeated": _repeat_tag,
    "tag moved": _move_tag,
    "tags swapped": _swap_tags,
    "element renamed": _rename,
    "element deleted": _delete_element,
    "element emptied": _empty,
    "element copied": _copy_element,
    "elements swapped": _swap_elements,
    "element wrapped": _wrap,
    "element unwrapped": _unwrap,
    "id repeated": _repeat_id,
    "attribute deleted": _delete_attribute,
    "attribute changed": _change_attribute,
    "attribute added": _add_attribute,
    "text added": _add_text,
}
