"""A block's texts, links and images, numbered; and the description of its structure, which is all a model sees.

The texts themselves never reach a model: a slot has a number, a role and a length class. Equal structures have
equal descriptions, so they share one fragment.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pagecompiler import schema
from pagecompiler.hrefs import classify
from pagecompiler.inline import plain_text

SHORT_WORDS = 3
LINE_WORDS = 12
CHARACTERS_PER_WORD = 2  # in scripts that put no spaces between words

Path = tuple[str | int, ...]


class Role(StrEnum):
    """Where a slot belongs; the linker's table says which elements fit."""

    BRAND = "brand"
    HEADING = "heading"
    TITLE = "title"  # of an item
    TEXT = "text"
    LABEL = "label"  # the text of a link
    HREF = "href"
    IMAGE = "image"
    CODE = "code"
    QUESTION = "question"
    ANSWER = "answer"
    QUOTE = "quote"
    COLUMN = "column"
    CELL = "cell"
    CAPTION = "caption"
    TERM = "term"  # the label of a figure
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Slot:
    """One place for a text of the spec.

    `values` has one entry, or for a repeated slot one for each repetition. `paths` are the spec paths of the values.
    `markdown` marks a text with inline Markdown. `image` is set for the role IMAGE only.
    """

    number: int
    role: Role
    length: str
    values: tuple[str, ...]
    paths: tuple[Path, ...]
    markdown: bool = False
    repeat: str | None = None
    image: schema.Image | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """A block as a model sees it (`lines`) and as the linker needs it (`slots`, in number order from 1).

    `brief` says what words the model is to write itself; without one it writes none.
    """

    kind: str
    lines: tuple[str, ...]
    slots: tuple[Slot, ...]
    brief: str | None = None

    @property
    def description(self) -> str:
        return "\n".join(self.lines)


def length_class(text: str) -> str:
    """`short` (at most 3 words), `line` (at most 12) or `long`.

    >>> length_class("Boils one litre in 90 seconds.")
    'line'
    """
    words = count_words(text)
    return "short" if words <= SHORT_WORDS else "line" if words <= LINE_WORDS else "long"


def count_words(text: str) -> int:
    """Words of a text; in scripts without spaces every two characters count as one."""
    words = 0
    for part in text.split():
        dense = sum(1 for character in part if _has_no_spaces(character))
        words += -(-dense // CHARACTERS_PER_WORD) + (1 if dense < len(part) else 0)
    return words


def _has_no_spaces(character: str) -> bool:
    if character < "\u0e00":
        return False
    name = unicodedata.name(character, "")
    return name.startswith(("CJK UNIFIED", "CJK COMPAT", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"))


class _Numbering:
    """Hands out slot numbers in reading order and collects description lines."""

    def __init__(self, kind: str, root: Path) -> None:
        self.kind = kind
        self.root = root
        self.lines: list[str] = [f"kind: {kind}"]
        self.slots: list[Slot] = []

    def add(
        self, role: Role, length: str, values: Sequence[str], paths: Sequence[Path], *, markdown: bool = False,
        repeat: str | None = None, image: schema.Image | None = None,
    ) -> str:  # fmt: skip
        """Number a slot and return its word in the description, `{{1}} line`."""
        number = len(self.slots) + 1
        full = tuple(self.root + path for path in paths)
        self.slots.append(Slot(number, role, length, tuple(values), full, markdown, repeat, image))
        return f"{{{{{number}}}}} {length}"

    def text(self, role: Role, value: str, *path: str | int, length: str | None = None, markdown: bool = False) -> str:
        visible = plain_text(value) if markdown else value
        return self.add(role, length or length_class(visible), [value], [path], markdown=markdown)

    def field(self, indent: str, name: str, word: str) -> None:
        slot, length = word.split(" ")
        self.lines.append(f"{indent}{slot} {name} {length}")

    def href(self, value: str, *path: str | int) -> str:
        return self.add(Role.HREF, classify(value), [value], [path])

    def image(self, value: schema.Image, *path: str | int) -> str:
        return self.add(Role.IMAGE, "image", [value.src], [path], image=value)

    def links(self, name: str, links: Sequence[schema.Link]) -> None:
        if links:
            self.lines.append(f"{name}:")
        for index, link in enumerate(links):
            self.field("- ", "text", self.text(Role.LABEL, link.text, name, index, "text"))
            self.field("  ", "href", self.href(link.href, name, index, "href"))

    def items(self, count: int) -> Iterator[tuple[int, _Item]]:
        self.lines.append("items:")
        for index in range(count):
            yield index, _Item(self, index)

    def structure(self, brief: str | None = None) -> Structure:
        return Structure(self.kind, tuple(self.lines), tuple(self.slots), brief)


class _Item:
    """Description lines of one item: the first begins with a dash."""

    def __init__(self, numbering: _Numbering, index: int) -> None:
        self._numbering = numbering
        self._path: Path = ("items", index)
        self._indent = "- "

    def _line(self, name: str, word: str) -> None:
        self._numbering.field(self._indent, name, word)
        self._indent = "  "

    def text(
        self, role: Role, name: str, value: str | None, *, length: str | None = None, markdown: bool = False
    ) -> None:
        if value is not None:
            path = (*self._path, name)
            self._line(name, self._numbering.text(role, value, *path, length=length, markdown=markdown))

    def href(self, value: str | None) -> None:
        if value is not None:
            self._line("href", self._numbering.href(value, *self._path, "href"))

    def image(self, value: schema.Image | None) -> None:
        if value is not None:
            self._line("image", self._numbering.image(value, *self._path, "image"))

    def points(self, values: Sequence[str]) -> None:
        if values:
            paths = [(*self._path, "points", index) for index in range(len(values))]
            length = longest_class(values)
            self._line("points", self._numbering.add(Role.TEXT, length, values, paths, repeat="points"))

    def action(self, link: schema.Link | None) -> None:
        if link is not None:
            self._line("action", self._numbering.text(Role.LABEL, link.text, *self._path, "action", "text"))
            self._line("href", self._numbering.href(link.href, *self._path, "action", "href"))


def longest_class(values: Sequence[str], *, markdown: bool = False) -> str:
    """The class of the longest of several texts; empty texts count as short."""
    counts = [count_words(plain_text(value) if markdown else value) for value in values]
    longest = max(counts, default=0)
    return "short" if longest <= SHORT_WORDS else "line" if longest <= LINE_WORDS else "long"


def nav_structure(nav: schema.Nav) -> Structure:
    numbering = _Numbering("nav", ("nav",))
    numbering.field("", "brand", numbering.text(Role.BRAND, nav.brand, "brand"))
    numbering.links("links", nav.links)
    return numbering.structure()


def hero_structure(hero: schema.Hero) -> Structure:
    numbering = _Numbering("hero", ("hero",))
    numbering.field("", "heading", numbering.text(Role.HEADING, hero.heading, "heading"))
    if hero.text is not None:
        numbering.field("", "text", numbering.text(Role.TEXT, hero.text, "text", markdown=True))
    numbering.links("actions", hero.actions)
    if hero.image is not None:
        numbering.field("", "image", numbering.image(hero.image, "image"))
    return numbering.structure(hero.brief)


def footer_structure(footer: schema.Footer) -> Structure:
    numbering = _Numbering("footer", ("footer",))
    if footer.text is not None:
        numbering.field("", "text", numbering.text(Role.TEXT, footer.text, "text"))
    numbering.links("links", footer.links)
    return numbering.structure()


def section_structure(section: schema.Section, index: int) -> Structure:
    """The structure of `sections[index]`. Fields come in the order in which they are read on the page."""
    numbering = _Numbering(section.kind, ("sections", index))
    numbering.field("", "heading", numbering.text(Role.HEADING, section.heading, "heading"))
    if section.intro is not None:
        numbering.field("", "intro", numbering.text(Role.TEXT, section.intro, "intro", markdown=True))
    _fill(section, numbering)
    return numbering.structure(getattr(section, "brief", None))


def _fill(section: schema.Section, numbering: _Numbering) -> None:
    match section:
        case schema.Features() | schema.Steps():
            if section.items:
                for index, item in numbering.items(len(section.items)):
                    entry = section.items[index]
                    item.image(entry.image)
                    item.text(Role.TITLE, "title", entry.title)
                    item.href(entry.href)
                    item.text(Role.TEXT, "text", entry.text, markdown=True)
        case schema.Prose():
            _repeated(numbering, "paragraphs", section.paragraphs, markdown=True)
        case schema.Stats():
            for index, item in numbering.items(len(section.items)):
                item.text(Role.TERM, "label", section.items[index].label)
                item.text(Role.VALUE, "value", section.items[index].value, length="number")
        case schema.Quotes():
            for index, item in numbering.items(len(section.items)):
                item.text(Role.QUOTE, "text", section.items[index].text)
                item.text(Role.TEXT, "by", section.items[index].by)
                item.text(Role.TEXT, "role", section.items[index].role)
        case schema.Faq():
            if section.items:
                for index, item in numbering.items(len(section.items)):
                    item.text(Role.QUESTION, "question", section.items[index].question)
                    item.text(Role.ANSWER, "answer", section.items[index].answer, markdown=True)
        case schema.Pricing():
            for index, item in numbering.items(len(section.items)):
                plan = section.items[index]
                item.text(Role.TITLE, "title", plan.title)
                item.text(Role.VALUE, "price", plan.price, length="price")
                item.text(Role.TEXT, "text", plan.text, markdown=True)
                item.points(plan.points)
                item.action(plan.action)
        case schema.Table():
            _table(section, numbering)
        case schema.Chart():
            for index, item in numbering.items(len(section.items)):
                item.text(Role.TERM, "label", section.items[index].label)
                item.text(Role.VALUE, "value", section.items[index].value, length="number")
                item.text(Role.TEXT, "unit", section.items[index].unit)
            _caption(numbering, section.caption)
        case schema.Schedule():
            for index, item in numbering.items(len(section.items)):
                session = section.items[index]
                item.text(Role.TEXT, "time", session.time)
                item.text(Role.TITLE, "title", session.title)
                item.text(Role.TEXT, "text", session.text)
                item.text(Role.TEXT, "by", session.by)
        case schema.People():
            for index, item in numbering.items(len(section.items)):
                person = section.items[index]
                item.image(person.image)
                item.text(Role.TITLE, "name", person.name)
                item.text(Role.TEXT, "role", person.role)
                item.text(Role.TEXT, "text", person.text)
        case schema.Code():
            numbering.field("", "code", numbering.text(Role.CODE, section.code, "code", length="long"))
            _caption(numbering, section.caption)
        case schema.Figure():
            numbering.field("", "image", numbering.image(section.image, "image"))
            _caption(numbering, section.caption)
        case schema.Cta():
            if section.text is not None:
                numbering.field("", "text", numbering.text(Role.TEXT, section.text, "text", markdown=True))
            numbering.links("actions", section.actions)


def _caption(numbering: _Numbering, caption: str | None) -> None:
    if caption is not None:
        numbering.field("", "caption", numbering.text(Role.CAPTION, caption, "caption"))


def _repeated(numbering: _Numbering, name: str, values: Sequence[str], *, markdown: bool) -> None:
    if values:
        length = longest_class(values, markdown=markdown)
        paths: list[Path] = [(name, index) for index in range(len(values))]
        word = numbering.add(Role.TEXT, length, values, paths, markdown=markdown, repeat=name)
        numbering.field("", name, word)


def _table(section: schema.Table, numbering: _Numbering) -> None:
    _caption(numbering, section.caption)
    numbering.lines.append("columns:")
    for index, column in enumerate(section.columns):
        numbering.lines.append(f"- {numbering.text(Role.COLUMN, column, 'columns', index)}")
    numbering.lines.append("rows:")
    for column_index in range(len(section.columns)):
        cells = [row[column_index] for row in section.rows]
        paths: list[Path] = [("rows", row, column_index) for row in range(len(section.rows))]
        word = numbering.add(Role.CELL, longest_class(cells), cells, paths, repeat="rows")
        numbering.lines.append(f"- {word}")
