"""A page as a list of blocks in reading order, and those blocks as at most five build groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pagecompiler import schema
from pagecompiler.briefs import word_limit
from pagecompiler.prompts import PromptStyle, style_structure
from pagecompiler.slots import (
    Path,
    Structure,
    footer_structure,
    hero_structure,
    nav_structure,
    section_structure,
)

STYLE = "style"
_BAND_NAMES = (
    (),
    ("top",),
    ("top", "bottom"),
    ("top", "upper", "bottom"),
    ("top", "upper", "lower", "bottom"),
)
MAX_BANDS = len(_BAND_NAMES) - 1

# Least-squares fit over 1,500 random blocks in pagec-mini's vocabulary; no block had more than 1.5 times this.
_TOKENS_PER_BLOCK = 12
_TOKENS_PER_SLOT = 11
_STYLE_TOKENS = 140
_TOKENS_PER_WORD = 2


@dataclass(frozen=True, slots=True)
class Block:
    """A compilation unit. `name` is unique on the page: nav, hero, footer, style or the id of the section."""

    name: str
    kind: str
    path: Path
    structure: Structure

    @property
    def expected_tokens(self) -> int:
        """About how many tokens the fragment has; a guess that only balances the groups."""
        if self.kind == STYLE:
            return _STYLE_TOKENS
        words = _TOKENS_PER_WORD * word_limit(self.kind) if self.structure.brief is not None else 0
        return _TOKENS_PER_BLOCK + _TOKENS_PER_SLOT * len(self.structure.slots) + words


@dataclass(frozen=True, slots=True)
class BuildGroup:
    """Blocks that one lane writes one after the other."""

    name: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """`blocks` are in reading order and do not hold the style, which is a group of its own."""

    blocks: tuple[Block, ...]
    style: Block
    groups: tuple[BuildGroup, ...]

    @property
    def all_blocks(self) -> tuple[Block, ...]:
        return (self.style, *self.blocks)


def list_blocks(page: schema.PageSpec, section_ids: Sequence[str]) -> tuple[Block, ...]:
    """The blocks of a page in reading order; `section_ids` has one id for each section."""
    blocks: list[Block] = []
    if page.nav is not None:
        blocks.append(Block("nav", "nav", ("nav",), nav_structure(page.nav)))
    blocks.append(Block("hero", "hero", ("hero",), hero_structure(page.hero)))
    for index, (section, name) in enumerate(zip(page.sections, section_ids, strict=True)):
        blocks.append(Block(name, section.kind, ("sections", index), section_structure(section, index)))
    if page.footer is not None:
        blocks.append(Block("footer", "footer", ("footer",), footer_structure(page.footer)))
    return tuple(blocks)


def make_plan(
    page: schema.PageSpec,
    section_ids: Sequence[str],
    *,
    prompts: PromptStyle = PromptStyle.COMPACT,
    is_cached: Callable[[Block], bool] = lambda block: False,
) -> Plan:
    """Split a page into its style and at most four contiguous bands of about equal expected length.

    A block that is cached, or whose description an earlier block has, costs nothing and so counts as 0.
    """
    blocks = list_blocks(page, section_ids)
    style = Block(STYLE, STYLE, ("theme",), style_structure(page.theme, prompts))
    lengths: list[int] = []
    seen: set[tuple[str, str | None]] = set()
    for block in blocks:
        description = (block.structure.description, block.structure.brief)
        lengths.append(0 if description in seen or is_cached(block) else block.expected_tokens)
        seen.add(description)
    bounds = split_evenly(lengths, min(MAX_BANDS, len(blocks)))
    names = _BAND_NAMES[len(bounds)]
    bands = [BuildGroup(name, blocks[start:end]) for name, (start, end) in zip(names, bounds, strict=True)]
    return Plan(blocks, style, (BuildGroup(STYLE, (style,)), *bands))


def split_evenly(lengths: Collection[int], parts: int) -> list[tuple[int, int]]:
    """Cut a list into `parts` contiguous non-empty ranges so that the longest one is as short as possible.

    >>> split_evenly([5, 1, 1, 1, 4], 3)
    [(0, 1), (1, 4), (4, 5)]
    """
    values = list(lengths)
    count = len(values)
    sums = [0]
    for value in values:
        sums.append(sums[-1] + value)
    # best[k][end]: the least possible maximum when the first `end` values make k ranges, and the last cut.
    best: list[list[tuple[int, int]]] = [[(0, 0)] * (count + 1) for _ in range(parts + 1)]
    for end in range(1, count + 1):
        best[1][end] = (sums[end], 0)
    for k in range(2, parts + 1):
        for end in range(k, count + 1):
            best[k][end] = min((max(best[k - 1][cut][0], sums[end] - sums[cut]), cut) for cut in range(k - 1, end))
    ranges: list[tuple[int, int]] = []
    end = count
    for k in range(parts, 0, -1):
        cut = best[k][end][1]
        ranges.append((cut, end))
        end = cut
    return ranges[::-1]
