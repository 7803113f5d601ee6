"""The rules a fragment must keep: its outer element, its elements and attributes, and where each slot stands.

The tables say what may stand where; `check_placement` reads one fragment against them and changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bs4 import Tag
from bs4.element import NavigableString

from pagecompiler.briefs import ELEMENTS as WORD_ELEMENTS
from pagecompiler.plan import Block
from pagecompiler.slots import Path, Role, Slot
from pagecompiler.trees import classes, common_ancestor, contains, is_space, is_within

ELEMENTS = frozenset(
    [
        "section",
        "nav",
        "div",
        "p",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "a",
        "img",
        "span",
        "strong",
        "b",
        "em",
        "i",
        "small",
        "figure",
        "figcaption",
        "blockquote",
        "details",
        "summary",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "pre",
        "code",
    ]
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


SLOT = re.compile(r"\{\{([0-9]+)\}\}")
_CLASS = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_OWN_WORDS = re.compile(r"\w")
_DEBRIS = re.compile(r"[<>=\\]")  # of tags that a model did not write as such
_COMPILER_CLASSES = re.compile(r"share-|skip$")


@dataclass(frozen=True, slots=True)
class Problem:
    """A broken rule; `path` is the text of the spec that it is about, None for the block as a whole."""

    code: str
    message: str
    path: Path | None = None


@dataclass(slots=True)
class Placement:
    """Where the slots of a block stand: for each number its element, in document order. Empty with problems.

    `own_words` are the texts that the model wrote itself, in document order; only a brief allows them.
    """

    root: Tag | None
    placed: dict[int, Tag]
    problems: tuple[Problem, ...]
    own_words: tuple[str, ...]


def check_placement(block: Block, body: Tag, *, partial: bool = False) -> Placement:
    """Read a parsed fragment, the children of `body`, against all rules.

    `partial` is for one that is still being written: what is there must be allowed, what is missing is no problem.
    """
    checker = _Checker(block, body, partial)
    checker.run()
    return Placement(checker.root, checker.placed, tuple(checker.problems), tuple(checker.own_words))


@dataclass(slots=True)
class _Checker:
    block: Block
    body: Tag
    partial: bool = False
    problems: list[Problem] = field(default_factory=list)
    root: Tag | None = None
    placed: dict[int, Tag] = field(default_factory=dict)
    own_words: list[str] = field(default_factory=list)

    def run(self) -> None:
        root = self.root = self.find_root()
        if root is None:
            return
        for tag in [root, *root.find_all(True)]:
            self.check_element(tag)
        if not self.problems:
            self.find_slots(root)
        if self.partial:
            return
        if not self.problems:
            self.check_all_placed(root)
        # What follows takes for granted that each slot stands somewhere.
        if not self.problems:
            self.check_headings(root)
            self.check_items()
            self.check_link_pairs(root)
            self.check_empty(root)

    def error(self, code: str, message: str, path: Path | None = None) -> None:
        self.problems.append(Problem(code, message, path))

    def find_root(self) -> Tag | None:
        children = [node for node in self.body.contents if not is_space(node)]
        expected = ROOT_ELEMENTS.get(self.block.kind, "section")
        if self.block.kind == "nav" and len(self.block.structure.slots) == 1:
            expected = "p"
        if len(children) != 1 or not isinstance(children[0], Tag):
            self.error("E0403", f"a fragment is one element, this one has {len(children)} at its top")
        elif children[0].name != expected:
            self.error("E0403", f"the fragment must be a `{expected}`, not a `{children[0].name}`")
        elif self.block.kind not in classes(children[0]):
            self.error("E0403", f"the `{expected}` must have the class `{self.block.kind}`")
        else:
            return children[0]
        return None

    def check_element(self, tag: Tag) -> None:
        if tag.name not in ELEMENTS or (tag is not self.root and tag.name in ("section", "nav")):
            self.error("E0404", f"`{tag.name}` is not allowed in a block")
            return
        if tag.name in ("h1", "h2") and tag.name != ("h1" if self.block.kind == "hero" else "h2"):
            self.error("E0404", f"a `{tag.name}` does not belong in a block of kind {self.block.kind}")
        for name, value in tag.attrs.items():
            if name == "class":
                bad = [word for word in classes(tag) if not _CLASS.fullmatch(word) or _COMPILER_CLASSES.match(word)]
                if bad:
                    self.error("E0405", f"`{bad[0]}` is not a class that a block may use")
            elif (tag.name, name) not in (("a", "href"), ("img", "src")) and name != "data-each":
                self.error("E0405", f"the attribute `{name}` is not allowed on `{tag.name}`")
            elif name != "data-each" and not self.is_address(tag, str(value)):
                self.error("E0405", f"`{name}` must be a slot, not `{str(value)[:40]}`")

    def is_address(self, tag: Tag, value: str) -> bool:
        is_brand = self.block.kind == "nav" and "brand" in classes(tag)
        return SLOT.fullmatch(value) is not None or (is_brand and value == "#top")

    def find_slots(self, root: Tag) -> None:
        """Note where each slot stands, in document order, and check that it fits there."""
        for node in root.descendants:
            if isinstance(node, Tag):
                for name in ("href", "src"):
                    match = SLOT.fullmatch(str(node.get(name, "")))
                    if match:
                        self.note(int(match[1]), node, name)
            elif type(node) is not NavigableString:
                self.error("E0404", "comments and declarations are not allowed in a block")
            elif isinstance(node.parent, Tag):
                for match in SLOT.finditer(node):
                    self.note(int(match[1]), node.parent, None)
                rest = SLOT.sub("", node)
                if _OWN_WORDS.search(rest):
                    self.note_words(rest, str(node), node.parent)
                elif "{{" in rest or "}}" in rest:
                    self.error("E0407", f"a damaged slot: `{rest.strip()[:40]}`")
                elif _DEBRIS.search(rest):
                    self.error("E0406", f"the rest of a tag stands as text: `{rest.strip()[:40]}`")

    def note_words(self, words: str, text: str, tag: Tag) -> None:
        """Words of the model's own: with a brief they may stand in some elements, but in no text of the spec."""
        if self.block.structure.brief is None or words != text:
            self.error("E0406", f"words that are not in the spec: `{words.strip()[:40]}`")
        elif tag.name not in WORD_ELEMENTS:
            self.error("E0406", f"words of the model's own do not belong in `{tag.name}`: `{words.strip()[:40]}`")
        else:
            self.own_words.append(words)

    def note(self, number: int, tag: Tag, attribute: str | None) -> None:
        slots = self.block.structure.slots
        if not 1 <= number <= len(slots):
            self.error("E0407", f"slot {{{{{number}}}}} does not exist, the block has {len(slots)}")
            return
        slot = slots[number - 1]
        if number in self.placed:
            self.error("E0408", f"{slot_name(slot)} is placed twice", slot.paths[0])
            return
        self.placed[number] = tag
        if slot.role in ATTRIBUTE_PLACES:
            fits = (tag.name, attribute) == ATTRIBUTE_PLACES[slot.role]
        else:
            fits = attribute is None and TEXT_PLACES[slot.role].fits(tag)
        if not fits:
            place = f"the `{attribute}` of `{tag.name}`" if attribute else f"`{tag.name}`"
            self.error("E0409", f"{slot_name(slot)} does not belong in {place}", slot.paths[0])
        if slot.markdown and is_within(tag, NO_MARKDOWN_INSIDE):
            self.error("E0410", f"{slot_name(slot)} may hold Markdown and cannot stand in a link, summary or heading")
        each = tag.find_parent(attrs={"data-each": True}) if not tag.get("data-each") else tag
        if (str(each.get("data-each")) if each else None) != slot.repeat:
            wanted = f'inside `data-each="{slot.repeat}"`' if slot.repeat else "outside of any `data-each`"
            self.error("E0411", f"{slot_name(slot)} must stand {wanted}", slot.paths[0])

    def check_all_placed(self, root: Tag) -> None:
        for slot in self.block.structure.slots:
            if slot.number not in self.placed:
                self.error("E0412", f"{slot_name(slot)} is never placed", slot.paths[0])
        repeats = [str(tag["data-each"]) for tag in root.select("[data-each]")]
        groups = {(slot.repeat, slot.paths[0][:-2]) for slot in self.block.structure.slots if slot.repeat}
        wanted = sorted(str(name) for name, _ in groups)
        if sorted(repeats) != wanted:
            self.error("E0411", f"repeated elements are {repeats}, but the block has {wanted}")

    def check_headings(self, root: Tag) -> None:
        """Each heading holds the heading and no more, or a title of the spec; a brief may add titles of its own."""
        slots = self.block.structure.slots
        for tag in root.find_all(["h1", "h2", "h3"]):
            role = Role.TITLE if tag.name == "h3" else Role.HEADING
            held = [n for n, place in self.placed.items() if slots[n - 1].role is role and contains(tag, place)]
            own = tag.name == "h3" and self.block.structure.brief is not None and _OWN_WORDS.search(tag.get_text())
            if not held and not own:
                self.error("E0404", f"an `{tag.name}` without a {role.value} of the spec")
            # It names its section, and equal names are told by the spec's words.
            elif role is Role.HEADING and SLOT.sub("", tag.get_text()).strip():
                self.error("E0406", f"the `{tag.name}` holds more than the heading: `{tag.get_text()[:40]}`")

    def check_items(self) -> None:
        """Items keep their order, and what belongs to one item shares an element with no other item."""
        order = list(self.placed)
        slots = self.block.structure.slots
        runs: list[Path] = []
        for number in order:
            item = item_of(slots[number - 1], self.block)
            if item is not None and (not runs or runs[-1] != item):
                runs.append(item)
        if runs != sorted(set(runs), key=lambda path: (str(path[0]), path[1:])):
            self.error("E0413", "the items are not in the order of the spec")
            return
        in_order = [n for n in order if slots[n - 1].role in (Role.COLUMN, Role.CELL)]
        if in_order != sorted(in_order):
            self.error("E0413", "the columns are not in the order of the spec")
        for item in runs:
            members = [n for n in order if item_of(slots[n - 1], self.block) == item]
            shared = common_ancestor([self.placed[n] for n in members])
            others = [n for n in order if n not in members and contains(shared, self.placed[n])]
            if others and len(runs) > 1 and any(item_of(slots[n - 1], self.block) for n in others):
                self.error("E0413", f"{slot_name(slots[members[0] - 1])} shares its element with another item")

    def check_link_pairs(self, root: Tag) -> None:
        """The text of a link and its address are neighbours in number; they must be in the same `a`."""
        for slot in self.block.structure.slots:
            if slot.role is not Role.HREF:
                continue
            anchor = self.placed[slot.number]
            inside = [n for n, tag in self.placed.items() if n != slot.number and contains(anchor, tag)]
            if inside != [slot.number - 1]:
                self.error(
                    "E0414",
                    f"{slot_name(slot)} must be the address of {{{{{slot.number - 1}}}}}",
                    slot.paths[0],
                )
        for anchor in root.find_all("a"):
            if anchor.get("href") is None:
                self.error("E0414", "an `a` without an address")

    def check_empty(self, root: Tag) -> None:
        for tag in root.find_all(True):
            text = tag.get_text()
            holds_slot = SLOT.search(text) or _OWN_WORDS.search(text) or tag.find("img") or tag.name in MAY_BE_EMPTY
            is_bar = tag.name == "span" and "bar" in classes(tag) and not tag.contents
            if not holds_slot and not (is_bar and self.block.kind == "chart"):
                self.error("E0415", f"an empty `{tag.name}`")


def slot_name(slot: Slot) -> str:
    """A slot as messages call it: its number and its field."""
    path = ".".join(str(part) for part in slot.paths[0])
    return f"slot {{{{{slot.number}}}}} ({path})"


def item_of(slot: Slot, block: Block) -> Path | None:
    """The list entry that a slot belongs to: (list name, index), or None for a field of the block itself."""
    path = slot.paths[0][len(block.path) :]
    if len(path) > 2 and path[0] in ("items", "links", "actions"):
        return path[:2]
    return None
