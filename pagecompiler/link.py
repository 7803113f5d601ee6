"""Linking: the spec's texts, links and images go into the numbered slots of a fragment, escaped for their place.

One pass over the parsed fragment; inserted text is never scanned again. A fragment that breaks a rule yields
diagnostics and no element.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, NavigableString, Tag

from pagecompiler import ids, schema
from pagecompiler.assets import Asset
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.highlight import highlight
from pagecompiler.inline import InlineElement, InlineNode, render_inline
from pagecompiler.numbers import parse_number
from pagecompiler.placement import (
    ATTRIBUTE_PLACES,
    ELEMENTS,
    MAY_BE_EMPTY,
    NO_MARKDOWN_INSIDE,
    ROOT_ELEMENTS,
    TEXT_PLACES,
)
from pagecompiler.plan import Block
from pagecompiler.slots import Path, Role, Slot
from pagecompiler.spec import LoadedSpec
from pagecompiler.validate import validate_fragment

_SLOT = re.compile(r"\{\{([0-9]+)\}\}")
_CLASS = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_OWN_WORDS = re.compile(r"\w")
_COMPILER_CLASSES = re.compile(r"share-|skip$")


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


@dataclass(slots=True)
class _Linker:
    block: Block
    context: LinkContext
    diagnostics: list[Diagnostic] = field(default_factory=list)
    root: Tag | None = None
    soup: BeautifulSoup = field(default_factory=lambda: BeautifulSoup("", "html.parser"))
    shares: set[int] = field(default_factory=set)
    placed: dict[int, list[Tag]] = field(default_factory=dict)

    def run(self, fragment: str) -> None:
        problems = validate_fragment(fragment)
        if not fragment:
            self.error("E0401", "the model wrote no markup")
        for problem in problems:
            where = f" (line {problem.span.line} of the fragment)" if problem.span else ""
            self.error("E0402", f"{problem.message}{where}")
        if self.diagnostics:
            return
        # html5lib twice: validate_fragment has its error list, this is the tree that browsers would build.
        self.soup = BeautifulSoup(fragment, "html5lib")
        self.check_root()
        if self.root is not None:
            for tag in [self.root, *self.root.find_all(True)]:
                self.check_element(tag)
        if self.root is None or self.diagnostics:
            return
        self.find_slots(self.root)
        self.check_all_placed()
        self.check_items()
        self.check_link_pairs()
        self.check_empty()
        if self.diagnostics:
            return
        self.fill_bars()
        self.expand_repeats()
        self.fill()
        self.add_semantics()

    def error(self, code: str, message: str, path: Path | None = None) -> None:
        text = f"block `{self.block.name}`: {message}"
        self.diagnostics.append(self.context.loaded.diagnostic(code, text, path or self.block.path))

    # -- checks before anything is changed ---------------------------------------------------------------

    def check_root(self) -> None:
        body = self.soup.body
        children = [node for node in body.contents if not _is_space(node)] if body else []
        expected = ROOT_ELEMENTS.get(self.block.kind, "section")
        if self.block.kind == "nav" and len(self.block.structure.slots) == 1:
            expected = "p"
        if len(children) != 1 or not isinstance(children[0], Tag):
            self.error("E0403", f"a fragment is one element, this one has {len(children)} at its top")
        elif children[0].name != expected:
            self.error("E0403", f"the fragment must be a `{expected}`, not a `{children[0].name}`")
        elif self.block.kind not in _classes(children[0]):
            self.error("E0403", f"the `{expected}` must have the class `{self.block.kind}`")
        else:
            self.root = children[0]

    def check_element(self, tag: Tag) -> None:
        if tag.name not in ELEMENTS or (tag is not self.root and tag.name in ("section", "nav")):
            self.error("E0404", f"`{tag.name}` is not allowed in a block")
            return
        if tag.name in ("h1", "h2") and tag.name != ("h1" if self.block.kind == "hero" else "h2"):
            self.error("E0404", f"a `{tag.name}` does not belong in a block of kind {self.block.kind}")
        for name, value in tag.attrs.items():
            if name == "class":
                bad = [word for word in _classes(tag) if not _CLASS.fullmatch(word) or _COMPILER_CLASSES.match(word)]
                if bad:
                    self.error("E0405", f"`{bad[0]}` is not a class that a block may use")
            elif (tag.name, name) not in (("a", "href"), ("img", "src")) and name != "data-each":
                self.error("E0405", f"the attribute `{name}` is not allowed on `{tag.name}`")
            elif name != "data-each" and not self.is_address(tag, str(value)):
                self.error("E0405", f"`{name}` must be a slot, not `{str(value)[:40]}`")

    def is_address(self, tag: Tag, value: str) -> bool:
        is_brand = self.block.kind == "nav" and "brand" in _classes(tag)
        return _SLOT.fullmatch(value) is not None or (is_brand and value == "#top")

    def find_slots(self, root: Tag) -> None:
        """Note where each slot stands, in document order, and check that it fits there."""
        for node in root.descendants:
            if isinstance(node, Tag):
                for name in ("href", "src"):
                    match = _SLOT.fullmatch(str(node.get(name, "")))
                    if match:
                        self.note(int(match[1]), node, name)
            elif type(node) is not NavigableString:
                self.error("E0404", "comments and declarations are not allowed in a block")
            elif isinstance(node.parent, Tag):
                for match in _SLOT.finditer(node):
                    self.note(int(match[1]), node.parent, None)
                rest = _SLOT.sub("", node)
                if _OWN_WORDS.search(rest):
                    self.error("E0406", f"words that are not in the spec: `{rest.strip()[:40]}`")
                elif "{{" in rest or "}}" in rest:
                    self.error("E0407", f"a damaged slot: `{rest.strip()[:40]}`")

    def note(self, number: int, tag: Tag, attribute: str | None) -> None:
        slots = self.block.structure.slots
        if not 1 <= number <= len(slots):
            self.error("E0407", f"slot {{{{{number}}}}} does not exist, the block has {len(slots)}")
            return
        slot = slots[number - 1]
        if number in self.placed:
            self.error("E0408", f"{_name(slot)} is placed twice", slot.paths[0])
            return
        self.placed[number] = [tag]
        if slot.role in ATTRIBUTE_PLACES:
            fits = (tag.name, attribute) == ATTRIBUTE_PLACES[slot.role]
        else:
            fits = attribute is None and TEXT_PLACES[slot.role].fits(tag)
        if not fits:
            place = f"the `{attribute}` of `{tag.name}`" if attribute else f"`{tag.name}`"
            self.error("E0409", f"{_name(slot)} does not belong in {place}", slot.paths[0])
        if slot.markdown and _within(tag, NO_MARKDOWN_INSIDE):
            self.error("E0410", f"{_name(slot)} may hold Markdown and cannot stand in a link, summary or heading")
        each = tag.find_parent(attrs={"data-each": True}) if not tag.get("data-each") else tag
        if (str(each.get("data-each")) if each else None) != slot.repeat:
            wanted = f"inside `data-each=\"{slot.repeat}\"`" if slot.repeat else "outside of any `data-each`"
            self.error("E0411", f"{_name(slot)} must stand {wanted}", slot.paths[0])

    def check_all_placed(self) -> None:
        for slot in self.block.structure.slots:
            if slot.number not in self.placed:
                self.error("E0412", f"{_name(slot)} is never placed", slot.paths[0])
        if self.root is None:
            return
        repeats = [str(tag["data-each"]) for tag in self.root.find_all(attrs={"data-each": True})]
        groups = {(slot.repeat, slot.paths[0][:-2]) for slot in self.block.structure.slots if slot.repeat}
        wanted = sorted(str(name) for name, _ in groups)
        if sorted(repeats) != wanted:
            self.error("E0411", f"repeated elements are {repeats}, but the block has {wanted}")

    def check_items(self) -> None:
        """Items keep their order, and what belongs to one item shares an element with no other item."""
        if self.diagnostics:
            return
        order = [number for number in self.placed]  # noqa: C416
        slots = self.block.structure.slots
        runs: list[Path] = []
        for number in order:
            item = _item_of(slots[number - 1], self.block)
            if item is not None and (not runs or runs[-1] != item):
                runs.append(item)
        if runs != sorted(set(runs), key=lambda path: (str(path[0]), path[1:])):
            self.error("E0413", "the items are not in the order of the spec")
            return
        in_order = [n for n in order if slots[n - 1].role in (Role.COLUMN, Role.CELL)]
        if in_order != sorted(in_order):
            self.error("E0413", "the columns are not in the order of the spec")
        for item in runs:
            members = [n for n in order if _item_of(slots[n - 1], self.block) == item]
            shared = _common_ancestor([self.placed[n][0] for n in members])
            others = [n for n in order if n not in members and _contains(shared, self.placed[n][0])]
            if others and len(runs) > 1 and any(_item_of(slots[n - 1], self.block) for n in others):
                self.error("E0413", f"{_name(slots[members[0] - 1])} shares its element with another item")

    def check_link_pairs(self) -> None:
        """The text of a link and its address are neighbours in number; they must be in the same `a`."""
        if self.diagnostics:
            return
        for slot in self.block.structure.slots:
            if slot.role is not Role.HREF:
                continue
            anchor = self.placed[slot.number][0]
            inside = [n for n, (tag,) in self.placed.items() if n != slot.number and _contains(anchor, tag)]
            if inside != [slot.number - 1]:
                self.error("E0414", f"{_name(slot)} must be the address of {{{{{slot.number - 1}}}}}", slot.paths[0])
        if self.root is not None:
            for anchor in self.root.find_all("a"):
                if anchor.get("href") is None:
                    self.error("E0414", "an `a` without an address")

    def check_empty(self) -> None:
        if self.root is None or self.diagnostics:
            return
        for tag in self.root.find_all(True):
            holds_slot = _SLOT.search(tag.get_text()) or tag.find("img") or tag.name in MAY_BE_EMPTY
            is_bar = tag.name == "span" and "bar" in _classes(tag) and not tag.contents
            if not holds_slot and not (is_bar and self.block.kind == "chart"):
                self.error("E0415", f"an empty `{tag.name}`")

    # -- changes ------------------------------------------------------------------------------------------

    def fill_bars(self) -> None:
        """Give each bar of a chart the whole percent of the largest value as its class."""
        if self.block.kind != "chart" or self.root is None:
            return
        values = [slot for slot in self.block.structure.slots if slot.length == "number"]
        numbers = [parse_number(slot.values[0]) or 0 for slot in values]
        bars = [tag for tag in self.root.find_all("span") if "bar" in _classes(tag)]
        if len(bars) != len(values):
            self.error("E0416", f"the chart has {len(bars)} bars for {len(values)} values")
            return
        largest = max(numbers, default=0)
        for bar, slot, number in zip(bars, values, numbers, strict=True):
            shared = _common_ancestor([bar, self.placed[slot.number][0]])
            if sum(1 for other in values if _contains(shared, self.placed[other.number][0])) != 1:
                self.error("E0416", f"no bar stands beside {_name(slot)}", slot.paths[0])
                return
            share = round(100 * number / largest) if largest else 0
            bar["class"] = f"bar share-{share}"
            self.shares.add(share)

    def expand_repeats(self) -> None:
        """Copy each `data-each` element once for each value; copies get the slot's number and their own index."""
        if self.root is None:
            return
        for tag in self.root.find_all(attrs={"data-each": True}):
            del tag["data-each"]
            numbers = [n for n, (place,) in self.placed.items() if _contains(tag, place)]
            count = len(self.block.structure.slots[numbers[0] - 1].values)
            copies = [tag, *(_copy(tag) for _ in range(count - 1))]
            for number in numbers:
                place = self.placed[number][0]
                chain = _steps(tag, place)
                self.placed[number] = [_follow(copy, chain) for copy in copies]
            for before, copy in zip(copies, copies[1:], strict=False):
                before.insert_after(copy)
                copy.insert_before("\n")

    def fill(self) -> None:
        for slot in self.block.structure.slots:
            for index, tag in enumerate(self.placed[slot.number]):
                if slot.role is Role.HREF:
                    tag["href"] = slot.values[index]
                elif slot.role is Role.IMAGE:
                    self.fill_image(slot, tag)
                else:
                    self.fill_text(slot, index, tag)

    def fill_text(self, slot: Slot, index: int, tag: Tag) -> None:
        for node in list(tag.find_all(string=True, recursive=False)):
            before, found, after = str(node).partition(f"{{{{{slot.number}}}}}")
            # A text that was put in already is no longer a plain NavigableString.
            if type(node) is NavigableString and found:
                nodes = self.nodes(slot, slot.values[index])
                pieces = [NavigableString(before), *nodes, NavigableString(after)]
                node.replace_with(*(piece for piece in pieces if not isinstance(piece, NavigableString) or piece))
                return

    def nodes(self, slot: Slot, value: str) -> list[Tag | NavigableString]:
        if slot.markdown:
            return [self.inline(node) for node in render_inline(value)]
        if slot.role is Role.CODE:
            return self.code_nodes(value)
        return [_SpecText(value)]

    def inline(self, node: InlineNode) -> Tag | NavigableString:
        if not isinstance(node, InlineElement):
            return _SpecText(node.text)
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
        # The parser drops a newline that opens a `pre`, so such a text begins with two.
        nodes: list[Tag | NavigableString] = [_SpecText("\n")] if code.startswith("\n") else []
        for style, text in highlight(code, language):
            if style:
                span = self.soup.new_tag("span", attrs={"class": style})
                span.append(_SpecText(text))
                nodes.append(span)
            else:
                nodes.append(_SpecText(text))
        return nodes

    def fill_image(self, slot: Slot, tag: Tag) -> None:
        if slot.image is None:
            return
        asset = self.context.assets[slot.image.src]
        tag["src"] = asset.src
        tag["alt"] = slot.image.alt
        tag["width"] = str(slot.image.width or asset.width)
        tag["height"] = str(slot.image.height or asset.height)
        if self.block.kind != "hero":
            tag["loading"] = "lazy"

    def add_semantics(self) -> None:
        """Ids, names of landmarks, table scopes and keyboard access: what the model never writes."""
        root = self.root
        if root is None:
            return
        if self.block.kind == "nav" and root.name == "nav":
            root["aria-label"] = self.context.labels["main_navigation"]
        if root.name == "section":
            root["id"] = self.block.name
            heading = root.find(["h1", "h2"])
            if isinstance(heading, Tag):
                heading["id"] = ids.heading_id(self.block.name)
                if self.heading_is_unique():
                    root["aria-labelledby"] = heading["id"]
        for cell in root.select("thead th"):
            cell["scope"] = "col"
        for scrolling in [*root.select("div.scroll"), *root.find_all("pre")]:
            scrolling["tabindex"] = "0"

    def heading_is_unique(self) -> bool:
        page = self.context.loaded.page
        headings = [page.hero.heading, *(section.heading for section in page.sections)]
        heading = self.block.structure.slots[0].values[0]
        return headings.count(heading) == 1


class _SpecText(NavigableString):
    """Text of the spec: never scanned for slots."""


def _is_space(node: object) -> bool:
    return isinstance(node, NavigableString) and not node.strip()


def _classes(tag: Tag) -> list[str]:
    value = tag.get("class")
    return list(value) if isinstance(value, list) else str(value or "").split()


def _name(slot: Slot) -> str:
    path = ".".join(str(part) for part in slot.paths[0])
    return f"slot {{{{{slot.number}}}}} ({path})"


def _item_of(slot: Slot, block: Block) -> Path | None:
    """The list entry that a slot belongs to: (list name, index), or None for a field of the block itself."""
    path = slot.paths[0][len(block.path) :]
    if len(path) > 2 and path[0] in ("items", "links", "actions"):
        return path[:2]
    return None


def _within(tag: Tag, names: frozenset[str]) -> bool:
    return tag.name in names or any(parent.name in names for parent in tag.parents)


def _contains(tag: Tag, other: Tag) -> bool:
    return tag is other or any(parent is tag for parent in other.parents)


def _common_ancestor(tags: list[Tag]) -> Tag:
    """The innermost element that contains all of the given ones."""
    first, *rest = tags
    for ancestor in [first, *first.parents]:
        if all(_contains(ancestor, tag) for tag in rest):
            return ancestor
    return first


def _steps(root: Tag, tag: Tag) -> list[int]:
    """The child indices that lead from an element down to another."""
    steps: list[int] = []
    while tag is not root and isinstance(tag.parent, Tag):
        steps.append(next(index for index, node in enumerate(tag.parent.contents) if node is tag))
        tag = tag.parent
    return steps[::-1]


def _follow(root: Tag, steps: list[int]) -> Tag:
    for step in steps:
        node = root.contents[step]
        if isinstance(node, Tag):
            root = node
    return root


def _copy(tag: Tag) -> Tag:
    return tag.__copy__()
