"""Five groups: contiguous, balanced, never empty."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.ids import section_ids
from pagecompiler.plan import make_plan, split_evenly
from pagecompiler.spec import LoadedSpec

Load = Callable[[str], LoadedSpec]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9), st.integers(1, 4))
def test_no_other_cut_has_a_shorter_longest_part(lengths: list[int], parts: int) -> None:
    parts = min(parts, len(lengths))
    ranges = split_evenly(lengths, parts)
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == len(lengths) and len(ranges) == parts and all(a < b for a, b in ranges)

    def longest(cuts: tuple[int, ...]) -> int:
        bounds = [0, *cuts, len(lengths)]
        return max(sum(lengths[a:b]) for a, b in pairwise(bounds))

    best = min(longest(cuts) for cuts in combinations(range(1, len(lengths)), parts - 1))
    assert max(sum(lengths[a:b]) for a, b in ranges) == best


def _sections(count: int) -> str:
    return "sections:\n" + "".join(f"- {{kind: prose, heading: H{n}, paragraphs: [t]}}\n" for n in range(count))


def test_a_page_has_five_groups(load: Load) -> None:
    page = load("nav: {brand: B}\nfooter: {text: F}\n" + _sections(6)).page
    plan = make_plan(page, section_ids(page))
    assert [group.name for group in plan.groups] == ["style", "top", "upper", "lower", "bottom"]
    assert [block.name for group in plan.groups[1:] for block in group.blocks] == [block.name for block in plan.blocks]
    assert [block.name for block in plan.blocks] == ["nav", "hero", "h0", "h1", "h2", "h3", "h4", "h5", "footer"]


def test_fewer_blocks_make_fewer_groups(load: Load) -> None:
    page = load("hero: {heading: H}").page
    plan = make_plan(page, section_ids(page))
    assert [group.name for group in plan.groups] == ["style", "top"]
    assert all(group.blocks for group in plan.groups)


def test_what_costs_nothing_weighs_nothing(load: Load) -> None:
    """Equal prompts count once and cached ones as 0, so the rest is what is balanced."""
    page = load(_sections(8)).page
    names = section_ids(page)
    plan = make_plan(page, names)
    # The hero and the first of eight equal sections are all there is to write.
    assert [block.name for block in plan.groups[1].blocks] == ["hero"]
    cached = make_plan(page, names, is_cached=lambda block: block.kind == "prose")
    assert [block.name for block in cached.groups[1].blocks] == ["hero"]
