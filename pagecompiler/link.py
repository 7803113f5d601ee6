"""Linking: the spec's texts, links and images go into the numbered slots of a fragment, escaped for their place.

One pass over the parsed fragment; inserted text is never scanned again. A fragment that breaks a rule yields
diagnostics and no element.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString

from pagecompiler import ids, schema
from pagecompiler.assets import Asset
from pagecompiler.briefs import check_own_words
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.highlight import highlight
from pagecompiler.inline import InlineElement, InlineNode, render_inline
from pagecompiler.numbers import parse_number
from pagecompiler.placement import check_placement, slot_name
from pagecompiler.plan import Block
from pagecompiler.slots import Path, Role, Slot
from pagecompiler.spec import LoadedSpec
from pagecompiler.trees import classes, common_ancestor, contains, follow, steps
from pagecompiler.validate import validate_fragment


@dataclass(frozen=True, slots=True)
class LinkContext:
    """What the linker must know of the page. `assets` maps an image's `src` to its file and size."""

    loaded: LoadedSpec
    assets: Mapping[str, Asset]
    labels: Mapping[str, str]


@dataclass(slots=True)
class LinkedBlock:
    """A block's finished element (None when `diagnostics` is not empty) and the bar shares that it uses."""

    block: Block
    element: Tag | None
    diagnostics: tuple[Diagnostic, ...] = ()
    shares: frozenset[int] = frozenset()


def link(block: Block, fragment: str, context: LinkContext) -> LinkedBlock:
    """Put the texts of a block into its fragment.

    Diagnostics point to the block or the text in the spec; their message says what the fragment does.
    """
    linker = _Linker(block, context)
    linker.run(fragment)
    if linker.diagnostics:
        return LinkedBlock(block, None, tuple(linker.diagnostics))
    return LinkedBlock(block, linker.root, shares=frozenset(linker.shares))


def link_partial(block: Block, fragment: str, context: LinkContext) -> Tag | None:
    """The element of a block that is still being written, as far as it goes: for the eye, never for a page.

    Only what the rules allow comes through, open elements are closed, and texts stand in the slots that are there.
    None when there is nothing to show yet, or something that is not allowed.
    """
    linker = _Linker(block, context, partial=True)
    linker.run(fragment)
    return None if linker.diagnostics else linker.root


@dataclass(slots=True)
class _Linker:
    block: Block
    context: LinkContext
    partial: bool = False
    diagnostics: list[Diagnostic] = field(default_factory=list)
    root: Tag | None = None
    soup: BeautifulSoup = field(default_factory=lambda: BeautifulSoup("", "html.parser"))
    shares: set[int] = field(default_factory=set)
    placed: dict[int, list[Tag]] = field(default_factory=dict)
    inserted: set[int] = field(default_factory=set)

    def run(self, fragment: str) -> None:
        if not fragment:
            self.error("E0401", "the model wrote no markup")
        for finding in validate_fragment(fragment) if not self.partial else ():
            where = f" (line {finding.span.line} of the fragment)" if finding.span else ""
            self.error("E0402", f"{finding.message}{where}")
        if self.diagnostics:
            return
        # A second parse: validate_fragment took the error list, this is the tree that browsers would build.
        self.soup = BeautifulSoup(fragment, "html5lib")
        placement = check_placement(self.block, self.soup.body or self.soup, partial=self.partial)
        for problem in placement.problems:
            self.error(problem.code, problem.message, problem.path)
        self.check_brief(placement.own_words)
        if placement.root is None or self.diagnostics:
            return
        root = self.root = placement.root
        self.placed = {number: [tag] for number, tag in placement.placed.items()}
        self.fill_bars(root)
        self.expand_repeats(root)
        self.fill()
        self.add_semantics(root)

    def check_brief(self, own_words: tuple[str, ...]) -> None:
        structure = self.block.structure
        if structure.brief is not None and not self.diagnostics:
            page = self.context.loaded.page
            for found in check_own_words(own_words, structure.kind, structure.brief, page):
                self.error(found.code, found.message, (*self.block.path, "brief"))

    def error(self, code: str, message: str, path: Path | None = None) -> None:
        text = f"block `{self.block.name}`: {message}"
        self.diagnostics.append(self.context.loaded.diagnostic(code, text, path or self.block.path))

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
        section = self.context.loaded.page.sections[int(self.block.path[1])]
        language = section.language if isinstance(section, schema.Code) else None
        nodes: list[Tag | NavigableString] = []
        for style, text in highlight(code, language):
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
        asset = self.context.assets[slot.image.src]
        tag["src"] = asset.src
        tag["alt"] = slot.image.alt
        width, height = _size(slot.image, asset)
        if width and height:
            tag["width"], tag["height"] = str(width), str(height)
        if self.block.kind != "hero":
            tag["loading"] = "lazy"

    def add_semantics(self, root: Tag) -> None:
        """Ids, names of landmarks, table scopes and keyboard access: what the model never writes."""
        if self.block.kind == "nav" and root.name == "nav":
            root["aria-label"] = self.context.labels["main_navigation"]
        if root.name == "section":
            root["id"] = self.block.name
            heading = root.find(["h1", "h2"])
            if isinstance(heading, Tag):
                heading["id"] = ids.heading_id(self.block.name)
                if self.heading_is_unique():
                    root["aria-labelledby"] = heading["id"]
        for cell in root.select("th"):
            cell["scope"] = "col" if cell.find_parent("thead") else "row"
            if not cell.get_text(strip=True):  # a header without words is none
                cell.name = "td"
                del cell["scope"]
        for scrolling in [*root.select("div.scroll"), *root.find_all("pre")]:
            scrolling["tabindex"] = "0"

    def heading_is_unique(self) -> bool:
        page = self.context.loaded.page
        headings = [page.hero.heading, *(section.heading for section in page.sections)]
        heading = self.block.structure.slots[0].values[0]
        # Names that differ only in case are one name for those who hear them.
        return [other.casefold() for other in headings].count(heading.casefold()) == 1


def _size(image: schema.Image, asset: Asset) -> tuple[int | None, int | None]:
    """The size to show: what the spec says, the other side in proportion, else that of the file."""
    if not asset.width or not asset.height:
        return image.width, image.height
    if image.width and not image.height:
        return image.width, max(1, round(image.width * asset.height / asset.width))
    if image.height and not image.width:
        return max(1, round(image.height * asset.width / asset.height)), image.height
    return image.width or asset.width, image.height or asset.height
