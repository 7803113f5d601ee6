"""Linking: the spec's texts, links and images go into the numbered slots of a fragment, escaped for their place.

One pass over the parsed fragment; inserted text is never scanned again. A fragment that breaks a rule yields
diagnostics and no element. What was linked last is remembered: of a page that is built again few blocks are new.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString
from cachetools import LRUCache, cached

from pagecompiler import ids, schema
from pagecompiler.assets import Asset
from pagecompiler.briefs import check_own_words
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.highlight import highlight
from pagecompiler.inline import InlineElement, InlineNode, render_inline
from pagecompiler.numbers import parse_number
from pagecompiler.placement import Problem, check_placement, slot_name
from pagecompiler.plan import Block
from pagecompiler.serialise import serialise
from pagecompiler.slots import Path, Role, Slot
from pagecompiler.spec import LoadedSpec
from pagecompiler.trees import classes, common_ancestor, contains, follow, steps
from pagecompiler.validate import validate_fragment

REMEMBERED_CHARACTERS = 1_000_000
"""Of HTML: some twenty pages. What is kept beside it, the texts and their paths, is up to ten times as large."""

_ENTRY_CHARACTERS = 1000
"""What an answer that was refused weighs, too."""


@dataclass(frozen=True, slots=True)
class LinkContext:
    """What the linker must know of the page. `assets` maps an image's `src` to its file and size."""

    loaded: LoadedSpec
    assets: Mapping[str, Asset]
    labels: Mapping[str, str]


@dataclass(slots=True)
class LinkedBlock:
    """A block's finished element as HTML (None when `diagnostics` is not empty) and the bar shares that it uses."""

    block: Block
    html: str | None
    diagnostics: tuple[Diagnostic, ...] = ()
    shares: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All of the page that a block's element depends on.

    `images` are the files of its image slots by `src`, `navigation_label` the name of a nav, `code_language` what a
    code block is highlighted as; a block of another kind has None there.
    """

    images: tuple[tuple[str, Asset], ...]
    names_landmark: bool
    navigation_label: str | None
    code_language: str | None


@dataclass(frozen=True, slots=True)
class LinkedElement:
    """What a fragment became: HTML (None with problems), the bar shares in it, and the words that the model wrote."""

    html: str | None
    problems: tuple[Problem, ...] = ()
    shares: frozenset[int] = frozenset()
    own_words: tuple[str, ...] = ()


def link(block: Block, fragment: str, context: LinkContext) -> LinkedBlock:
    """Put the texts of a block into its fragment.

    Diagnostics point to the block or the text in the spec; their message says what the fragment does.
    """
    element = make_element(block, fragment, _surroundings(block, context))
    diagnostics = tuple(_diagnostics(block, element, context))
    return LinkedBlock(block, None if diagnostics else element.html, diagnostics, element.shares)


def link_partial(block: Block, fragment: str, context: LinkContext) -> str | None:
    """The HTML of a block that is still being written, as far as it goes: for the eye, never for a page.

    Only what the rules allow comes through, open elements are closed, and texts stand in the slots that are there.
    None when there is nothing to show yet, or something that is not allowed.
    """
    element = _Linker(block, _surroundings(block, context), partial=True).run(fragment)
    return None if any(_diagnostics(block, element, context)) else element.html


def _weight(element: LinkedElement) -> int:
    return _ENTRY_CHARACTERS + len(element.html or "")


@cached(LRUCache[Any, LinkedElement](REMEMBERED_CHARACTERS, getsizeof=_weight), lock=Lock(), info=True)
def make_element(block: Block, fragment: str, surroundings: Surroundings) -> LinkedElement:
    """The part of linking that depends on its arguments alone. The last results are remembered, and shared."""
    return _Linker(block, surroundings).run(fragment)


def _surroundings(block: Block, context: LinkContext) -> Surroundings:
    page = context.loaded.page
    section = page.sections[int(block.path[1])] if block.path[0] == "sections" else None
    sources = [slot.image.src for slot in block.structure.slots if slot.image is not None]
    return Surroundings(
        # A page whose images were not found is not written, but its draft may be asked for.
        tuple((src, context.assets[src]) for src in sources if src in context.assets),
        (section is not None or block.kind == "hero") and _is_unique(block.structure.slots[0].values[0], page),
        context.labels["main_navigation"] if block.kind == "nav" else None,
        section.language if isinstance(section, schema.Code) else None,
    )


def _is_unique(heading: str, page: schema.PageSpec) -> bool:
    """Whether the heading stands once on the page, so that it can name a landmark."""
    headings = [page.hero.heading, *(section.heading for section in page.sections)]
    # Names that differ only in case are one name for those who hear them.
    return [other.casefold() for other in headings].count(heading.casefold()) == 1


def _diagnostics(block: Block, element: LinkedElement, context: LinkContext) -> Iterator[Diagnostic]:
    problems = [(problem.code, problem.message, problem.path or block.path) for problem in element.problems]
    brief = block.structure.brief
    if brief is not None and not problems:
        found = check_own_words(element.own_words, block.structure.kind, brief, context.loaded.page)
        problems = [(problem.code, problem.message, (*block.path, "brief")) for problem in found]
    for code, message, path in problems:
        yield context.loaded.diagnostic(code, f"block `{block.name}`: {message}", path)


@dataclass(slots=True)
class _Linker:
    block: Block
    surroundings: Surroundings
    partial: bool = False
    problems: list[Problem] = field(default_factory=list)
    soup: BeautifulSoup = field(default_factory=lambda: BeautifulSoup("", "html.parser"))
    shares: set[int] = field(default_factory=set)
    placed: dict[int, list[Tag]] = field(default_factory=dict)
    inserted: set[int] = field(default_factory=set)

    def run(self, fragment: str) -> LinkedElement:
        if not fragment:
            self.error("E0401", "the model wrote no markup")
        for finding in validate_fragment(fragment) if not self.partial else ():
            where = f" (line {finding.span.line} of the fragment)" if finding.span else ""
            self.error("E0402", f"{finding.message}{where}")
        if self.problems:
            return self.refused()
        # A second parse: validate_fragment took the error list, this is the tree that browsers would build.
        self.soup = BeautifulSoup(fragment, "html5lib")
        placement = check_placement(self.block, self.soup.body or self.soup, partial=self.partial)
        self.problems += placement.problems
        root = placement.root
        if root is None or self.problems:
            return self.refused()
        self.placed = {number: [tag] for number, tag in placement.placed.items()}
        self.fill_bars(root)
        self.expand_repeats(root)
        self.fill()
        self.add_semantics(root)
        if self.problems:
            return self.refused()
        return LinkedElement(serialise(root), (), frozenset(self.shares), placement.own_words)

    def refused(self) -> LinkedElement:
        return LinkedElement(None, tuple(self.problems))

    def error(self, code: str, message: str, path: Path | None = None) -> None:
        self.problems.append(Problem(code, message, path))

    def fill_bars(self, root: Tag) -> None:
        """Give each bar of a chart the whole percent of the largest value as its class."""
        if self.block.kind != "chart" or self.partial:
            return
        values = [slot for slot in self.block.structure.slots if slot.length == "number"]
        numbers = [parse_number(slot.values[0]) or 0 for slot in values]
        bars = [tag for tag in root.find_all("span") if "bar" in classes(tag)]
        if len(bars) != len(values):
            self.error("E0416", f"the chart has {len(bars)} bars for {len(values)} values")
            return
        largest = max(numbers, default=0)
        for bar, slot, number in zip(bars, values, numbers, strict=True):
            shared = common_ancestor([bar, self.placed[slot.number][0]])
            if sum(1 for other in values if contains(shared, self.placed[other.number][0])) != 1:
                self.error("E0416", f"no bar stands beside {slot_name(slot)}", slot.paths[0])
                return
            share = round(100 * number / largest) if largest else 0
            bar["class"] = f"bar share-{share}"
            self.shares.add(share)

    def expand_repeats(self, root: Tag) -> None:
        """Copy each `data-each` element once for each value; copies get the slot's number and their own index."""
        for tag in root.select("[data-each]"):
            del tag["data-each"]
            numbers = [n for n, places in self.placed.items() if contains(tag, places[0])]
            if not numbers:  # of a partial fragment
                continue
            count = len(self.block.structure.slots[numbers[0] - 1].values)
            copies = [tag, *(copy.copy(tag) for _ in range(count - 1))]
            for number in numbers:
                place = self.placed[number][0]
                chain = steps(tag, place)
                self.placed[number] = [follow(one, chain) for one in copies]
            for before, after in itertools.pairwise(copies):
                before.insert_after("\n", after)

    def fill(self) -> None:
        for slot in self.block.structure.slots:
            for index, tag in enumerate(self.placed.get(slot.number, ())):
                if slot.role is Role.HREF:
                    tag["href"] = slot.values[index]
                elif slot.role is Role.IMAGE:
                    self.fill_image(slot, tag)
                else:
                    self.fill_text(slot, index, tag)

    def fill_text(self, slot: Slot, index: int, tag: Tag) -> None:
        for node in list(tag.find_all(string=True, recursive=False)):
            before, found, after = str(node).partition(f"{{{{{slot.number}}}}}")
            if found and id(node) not in self.inserted:
                nodes = self.nodes(slot, slot.values[index])
                pieces = [NavigableString(before), *nodes, NavigableString(after)]
                node.replace_with(*(piece for piece in pieces if not isinstance(piece, NavigableString) or piece))
                return

    def spec_text(self, text: str) -> NavigableString:
        """A text node of the spec, remembered by identity so that it is never scanned for slots."""
        node = NavigableString(text)
        self.inserted.add(id(node))
        return node

    def nodes(self, slot: Slot, value: str) -> list[Tag | NavigableString]:
        if slot.markdown:
            return [self.inline(node) for node in render_inline(value)]
        if slot.role is Role.CODE:
            return self.code_nodes(value)
        return [self.spec_text(value)]

    def inline(self, node: InlineNode) -> Tag | NavigableString:
        if not isinstance(node, InlineElement):
            return self.spec_text(node.text)
        tag = self.soup.new_tag(node.tag)
        if node.href is not None:
            tag["href"] = node.href
        if node.title is not None:
            tag["title"] = node.title
        for child in node.children:
            tag.append(self.inline(child))
        return tag

    def code_nodes(self, code: str) -> list[Tag | NavigableString]:
        nodes: list[Tag | NavigableString] = []
        for style, text in highlight(code, self.surroundings.code_language):
            if style:
                span = self.soup.new_tag("span", attrs={"class": style})
                span.append(self.spec_text(text))
                nodes.append(span)
            else:
                nodes.append(self.spec_text(text))
        return nodes

    def fill_image(self, slot: Slot, tag: Tag) -> None:
        if slot.image is None:
            return
        asset = dict(self.surroundings.images)[slot.image.src]
        tag["src"] = asset.src
        tag["alt"] = slot.image.alt
        width, height = _size(slot.image, asset)
        if width and height:
            tag["width"], tag["height"] = str(width), str(height)
        if self.block.kind != "hero":
            tag["loading"] = "lazy"

    def add_semantics(self, root: Tag) -> None:
        """Ids, names of landmarks, table scopes and keyboard access: what the model never writes."""
        label = self.surroundings.navigation_label
        if label is not None and root.name == "nav":
            root["aria-label"] = label
        if root.name == "section":
            root["id"] = self.block.name
            heading = root.find(["h1", "h2"])
            if isinstance(heading, Tag):
                heading["id"] = ids.heading_id(self.block.name)
                if self.surroundings.names_landmark:
                    root["aria-labelledby"] = heading["id"]
        for cell in root.select("th"):
            cell["scope"] = "col" if cell.find_parent("thead") else "row"
            if not cell.get_text(strip=True):  # a header without words is none
                cell.name = "td"
                del cell["scope"]
        for scrolling in [*root.select("div.scroll"), *root.find_all("pre")]:
            scrolling["tabindex"] = "0"


def _size(image: schema.Image, asset: Asset) -> tuple[int | None, int | None]:
    """The size to show: what the spec says, the other side in proportion, else that of the file."""
    if not asset.width or not asset.height:
        return image.width, image.height
    if image.width and not image.height:
        return image.width, max(1, round(image.width * asset.height / asset.width))
    if image.height and not image.width:
        return max(1, round(image.height * asset.width / asset.height)), image.height
    return image.width or asset.width, image.height or asset.height
