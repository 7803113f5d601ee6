"""The edit before a rebuild."""

from __future__ import annotations

from pagecompiler.bench.edit import longest_group, one_item_more
from pagecompiler.spec import LoadedSpec


def test_the_edit_duplicates_an_item_in_the_middle(loaded: LoadedSpec) -> None:
    edit = one_item_more(loaded)
    assert edit is not None and edit.block == "why" and edit.items == 4
    titles = [item.title for item in edit.loaded.page.sections[0].items]  # type: ignore[union-attr]
    assert titles == ["One", "Two", "Two", "Three"]
    assert [item.title for item in loaded.page.sections[0].items] == ["One", "Two", "Three"]  # type: ignore[union-attr]
    assert longest_group(loaded) in ("top", "upper", "lower", "bottom")
