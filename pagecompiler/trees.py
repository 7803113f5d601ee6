"""Small questions about parsed trees that the linker asks."""

from __future__ import annotations

from bs4 import Tag
from bs4.element import NavigableString


def is_space(node: object) -> bool:
    return isinstance(node, NavigableString) and not node.strip()


def classes(tag: Tag) -> list[str]:
    value = tag.get("class")
    return list(value) if isinstance(value, list) else str(value or "").split()


def is_within(tag: Tag, names: frozenset[str]) -> bool:
    return tag.name in names or any(parent.name in names for parent in tag.parents)


def contains(tag: Tag, other: Tag) -> bool:
    return tag is other or any(parent is tag for parent in other.parents)


def common_ancestor(tags: list[Tag]) -> Tag:
    """The innermost element that contains all of the given ones."""
    first, *rest = tags
    for ancestor in [first, *first.parents]:
        if all(contains(ancestor, tag) for tag in rest):
            return ancestor
    return first


def steps(root: Tag, tag: Tag) -> list[int]:
    """The child indices that lead from an element down to another."""
    steps: list[int] = []
    while tag is not root and isinstance(tag.parent, Tag):
        steps.append(next(index for index, node in enumerate(tag.parent.contents) if node is tag))
        tag = tag.parent
    return steps[::-1]


def follow(root: Tag, steps: list[int]) -> Tag:
    for step in steps:
        node = root.contents[step]
        if isinstance(node, Tag):
            root = node
    return root
