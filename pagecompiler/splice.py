"""An old fragment → a guess at the new one: slots renamed, items cut and copied, before it is tokenised.

A guess may be anything; the model approves every token of it. So nothing here has to be right, only likely:
old and new description are aligned with difflib on the roles of their slots, item by item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

_ENTRY = re.compile(
    r"(?P<indent>- |  )?(?:(?P<list>[a-z]+):|\{\{(?P<number>\d+)\}\}(?: (?P<name>[a-z]+))? (?P<length>\S+))$"
)
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]*)(?:\"[^\"]*\"|'[^']*'|[^>\"'])*>")
_SLOT = re.compile(r"\{\{(\d+)\}\}")
_LISTS = frozenset("ul ol dl table thead tbody tr".split())
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


def splice(old_description: str, old_fragment: str, new_description: str) -> str:
    """The old fragment as it may look for the new description.

    >>> old, new = "kind: steps\\nitems:\\n- {{1}} title short", "kind: steps\\nitems:\\n- {{1}} title short\\n- {{2}} title line"
    >>> splice(old, "<ol><li>{{1}}</li></ol>", new)
    '<ol><li>{{1}}</li><li>{{2}}</li></ol>'
    """  # noqa: E501
    if old_description == new_description:
        return old_fragment
    old, new = _parts(old_description), _parts(new_description)
    edits = _Edits(old_fragment)
    names: dict[int, int] = {}
    for name in {**old, **new}:
        _align(old.get(name, []), new.get(name, []), edits, names)
    return edits.apply(names)


@dataclass(frozen=True, slots=True)
class _Item:
    """Slots that belong together: the fields of an item, or one field of the block."""

    fields: tuple[str, ...]
    lengths: tuple[str, ...]
    numbers: tuple[int, ...]


def _parts(description: str) -> dict[str, list[_Item]]:
    """The lists of a description by name; fields of the block itself are the list with the empty name."""
    parts: dict[str, list[list[tuple[str, str, int]]]] = {}
    current = ""
    for line in description.splitlines():
        match = _ENTRY.match(line)
        if match is None:
            continue
        indent, name, number = match["indent"], match["name"] or "", match["number"]
        if number is None:
            current = match["list"] if indent is None else current
            continue
        entry = (name, match["length"], int(number))
        if indent is None:
            parts.setdefault("", []).append([entry])
        elif indent == "- " or not parts.get(current):
            parts.setdefault(current, []).append([entry])
        else:
            parts[current][-1].append(entry)
    return {
        name: [_Item(*(tuple(column) for column in zip(*item, strict=True))) for item in items]
        for name, items in parts.items()
    }


def _align(old: Sequence[_Item], new: Sequence[_Item], edits: _Edits, names: dict[int, int]) -> None:
    """Pair the items of one list; what is left over is cut or copied."""
    matcher = SequenceMatcher(None, [item.fields for item in old], [item.fields for item in new], autojunk=False)
    last: _Item | None = None  # the old item that stands before the place
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        paired = min(old_to - old_from, new_to - new_from) if tag == "replace" else 0
        if tag == "equal":
            paired = old_to - old_from
        for was, now in zip(old[old_from : old_from + paired], new[new_from : new_from + paired], strict=True):
            _rename(was, now, edits, names)
            last = was
        for gone in old[old_from + paired : old_to]:
            edits.cut(gone.numbers)
        for added in new[new_from + paired : new_to]:
            model = _nearest(old, added)
            # A block's own field has no neighbour that looks like it.
            if model is not None and (len(added.fields) > 1 or model.fields == added.fields):
                edits.copy(model.numbers, after=last or old[0], before=last is None, names=_pairs(model, added))


def _rename(was: _Item, now: _Item, edits: _Edits, names: dict[int, int]) -> None:
    pairs = _pairs(was, now)
    names.update(pairs)
    for number in was.numbers:
        if number not in pairs:
            edits.cut((number,))


def _pairs(was: _Item, now: _Item) -> dict[int, int]:
    """Old to new slot numbers of the fields that both have."""
    numbers = dict(zip(now.fields, now.numbers, strict=True))
    return {number: numbers[name] for name, number in zip(was.fields, was.numbers, strict=True) if name in numbers}


def _nearest(items: Sequence[_Item], like: _Item) -> _Item | None:
    """The item whose fields and lengths are most like those of another."""

    def likeness(item: _Item) -> float:
        fields = SequenceMatcher(None, item.fields, like.fields, autojunk=False).ratio()
        return fields + 0.1 * SequenceMatcher(None, item.lengths, like.lengths, autojunk=False).ratio()

    return max(items, key=likeness, default=None)


@dataclass(slots=True)
class _Element:
    """An element and where it stands: its content is between `opened` and `closed`.

    `slots` are all numbers inside it, `own` those in its attributes.
    """

    name: str
    start: int
    end: int
    opened: int = 0
    closed: int = 0
    children: list[_Element] = field(default_factory=list)
    slots: set[int] = field(default_factory=set)
    own: frozenset[int] = frozenset()

    def walk(self) -> Iterator[_Element]:
        yield self
        for child in self.children:
            yield from child.walk()


class _Edits:
    """What is to be changed in a fragment, by offsets of the old text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = _tree(text)
        self._cuts: list[tuple[int, int]] = []
        self._copies: list[tuple[int, int, int, dict[int, int]]] = []  # place, start, end, names

    def cut(self, numbers: Sequence[int]) -> None:
        """Take out the elements that hold nothing but these slots; a link around other slots is only unwrapped."""
        span = self._span(numbers)
        if span is not None:
            self._cuts.append((self._with_space(span[0]), span[1]))
            return
        for element in self._root.walk():
            if element.own and element.own <= set(numbers):
                self._cuts += [(element.start, element.opened), (element.closed, element.end)]

    def copy(self, numbers: Sequence[int], *, after: _Item, before: bool, names: dict[int, int]) -> None:
        """Repeat the elements of these slots, renamed, behind those of another item (or before it)."""
        span, place = self._span(numbers), self._span(after.numbers)
        if span is None or place is None:
            return
        # The white space in front of an element belongs to it.
        at = self._with_space(place[0]) if before else place[1]
        self._copies.append((at, self._with_space(span[0]), span[1], names))

    def apply(self, names: dict[int, int]) -> str:
        """The edited text; slots that are not renamed stay as they are."""
        cuts = sorted(self._cuts)
        places = sorted(range(len(self._copies)), key=lambda index: self._copies[index][0])
        pieces: list[str] = []
        at = 0
        for start, end, copied in sorted(
            [(start, end, -1) for start, end in cuts] + [(self._copies[i][0],) * 2 + (i,) for i in places],
            key=lambda edit: (edit[0], edit[2] >= 0 and edit[0] != edit[1], edit[2]),
        ):
            if start >= at:
                pieces.append(_renamed(self._text[at:start], names))
                at = start
            if copied >= 0:
                _, first, last, own = self._copies[copied]
                pieces.append(_renamed(self._text[first:last], own))
            at = max(at, end)
        pieces.append(_renamed(self._text[at:], names))
        return "".join(pieces)

    def _with_space(self, start: int) -> int:
        return len(self._text[:start].rstrip())

    def _span(self, numbers: Sequence[int]) -> tuple[int, int] | None:
        """Where the elements of these slots begin and end: the largest ones without foreign slots, side by side."""
        wanted = set(numbers)
        parent = self._root
        while True:
            # A list with one item holds no foreign slots, yet it is not the item.
            inner = next(
                (c for c in parent.children if c.slots & wanted and (c.slots - wanted or c.name in _LISTS)), None
            )
            if inner is None or not wanted & self._root.slots <= inner.slots:
                break
            parent = inner
        own = [child for child in parent.children if child.slots & wanted]
        if not own or any(child.slots - wanted for child in own):
            return None
        start, end = own[0].start, own[-1].end
        if any(child.slots - wanted for child in parent.children if start <= child.start < end):
            return None
        return start, end


def _tree(text: str) -> _Element:
    """The elements of a fragment by their tags; a tag that is never closed ends where its parent does."""
    root = _Element("", 0, len(text))
    open_elements: list[tuple[str, _Element]] = [("", root)]
    for match in re.finditer(f"{_TAG.pattern}|{_SLOT.pattern}", text):
        name = (match["name"] or "").lower()
        if name and match["close"]:
            at = next((i for i in range(len(open_elements) - 1, 0, -1) if open_elements[i][0] == name), None)
            if at is not None:
                for _, element in open_elements[at:]:
                    element.closed, element.end = match.start(), match.end()
                del open_elements[at:]
            continue
        slots = {int(number) for number in _SLOT.findall(match[0])}
        if name:
            start, end = match.span()
            element = _Element(name, start, end, end, end, [], set(slots), frozenset(slots))
            open_elements[-1][1].children.append(element)
            if name not in _VOID:
                element.closed = element.end = len(text)
                open_elements.append((name, element))
        for _, outer in open_elements:
            outer.slots |= slots
    return root


def _renamed(text: str, names: dict[int, int]) -> str:
    return _SLOT.sub(lambda match: f"{{{{{names.get(int(match[1]), int(match[1]))}}}}}", text)
