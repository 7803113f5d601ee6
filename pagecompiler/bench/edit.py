"""The edit of the rebuild: one item of the longest group's longest list is duplicated in its middle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pagecompiler.ids import section_ids
from pagecompiler.plan import STYLE, Plan, make_plan
from pagecompiler.spec import LoadedSpec


@dataclass(frozen=True, slots=True)
class Edit:
    """`loaded` is the spec after the edit; `block` got an item more and has `items` now."""

    loaded: LoadedSpec
    block: str
    items: int


def longest_group(loaded: LoadedSpec) -> str:
    """The group of blocks with most to write, by expectation: the page is finished when it is."""
    lengths = {
        group.name: sum(block.expected_tokens for block in group.blocks)
        for group in _plan(loaded).groups
        if group.name != STYLE
    }
    return max(lengths, key=lambda name: lengths[name])


def one_item_more(loaded: LoadedSpec) -> Edit | None:
    """The spec with one item more; None when the longest group has no list of items."""
    plan = _plan(loaded)
    group = next(group for group in plan.groups if group.name == longest_group(loaded))
    lists = [
        (len(items), block.name, block.path[1])
        for block in group.blocks
        if block.path[0] == "sections" and (items := _items(loaded, block.path[1]))
    ]
    if not lists:
        return None
    count, name, index = max(lists)
    section = loaded.page.sections[int(index)]
    items = _items(loaded, index)
    middle = count // 2
    longer = section.model_copy(update={"items": [*items[: middle + 1], *items[middle:]]})
    sections = [longer if place == index else each for place, each in enumerate(loaded.page.sections)]
    page = loaded.page.model_copy(update={"sections": sections})
    return Edit(replace(loaded, page=page), name, count + 1)


def _items(loaded: LoadedSpec, index: int | str) -> list[Any]:
    return list(getattr(loaded.page.sections[int(index)], "items", ()))


def _plan(loaded: LoadedSpec) -> Plan:
    return make_plan(loaded.page, section_ids(loaded.page))
