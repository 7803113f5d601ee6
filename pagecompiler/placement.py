"""Where slots and elements may stand: the tables of the linker."""

from __future__ import annotations

from dataclasses import dataclass

from bs4 import Tag

from pagecompiler.slots import Role

ELEMENTS = frozenset(
    "section nav div p ul ol li dl dt dd h1 h2 h3 a img span strong b em i small figure figcaption blockquote "
    "details summary table caption thead tbody tr th td pre code".split()
)
ROOT_ELEMENTS = {"nav": "nav", "footer": "div"}  # every other kind: section
MAY_BE_EMPTY = frozenset({"img", "th", "td"})
NO_MARKDOWN_INSIDE = frozenset({"a", "summary", "h1", "h2", "h3"})


@dataclass(frozen=True, slots=True)
class Place:
    """A slot may be a direct child of `parents`, with all of `inside` among its ancestors and none of `outside`."""

    parents: frozenset[str]
    inside: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()

    def fits(self, parent: Tag) -> bool:
        names = {parent.name, *(ancestor.name for ancestor in parent.parents)}
        return parent.name in self.parents and self.inside <= names and not self.outside & names


def _place(parents: str, inside: str = "", outside: str = "") -> Place:
    return Place(frozenset(parents.split()), frozenset(inside.split()), frozenset(outside.split()))


_TEXT = "p span li small strong b em i figcaption dd"

TEXT_PLACES: dict[Role, Place] = {
    Role.BRAND: _place("a span strong"),
    Role.HEADING: _place("h1 h2"),
    Role.TITLE: _place("h3 a", inside="h3"),
    Role.TEXT: _place(_TEXT, outside="a summary h1 h2 h3 table"),
    Role.LABEL: _place("a span strong", inside="a", outside="h1 h2 h3 summary"),
    Role.CODE: _place("code", inside="pre"),
    Role.QUESTION: _place("summary", inside="details"),
    Role.ANSWER: _place("p", inside="details", outside="summary"),
    Role.QUOTE: _place("p", inside="blockquote"),
    Role.COLUMN: _place("th", inside="thead tr"),
    Role.CELL: _place("td th", inside="tbody tr"),
    Role.CAPTION: _place("caption figcaption p"),
    Role.TERM: _place("dt span p strong b"),
    Role.VALUE: _place("dd span p strong b"),
}

ATTRIBUTE_PLACES: dict[Role, tuple[str, str]] = {Role.HREF: ("a", "href"), Role.IMAGE: ("img", "src")}
