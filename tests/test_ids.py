"""Ids: slugs, uniqueness, anchors."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.ids import RESERVED, allocate, defined, heading_id, problem, slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why this kettle?", "why-this-kettle"),
        ("  A -- B  ", "a-b"),
        ("snake_case", "snake-case"),
        ("価格 (税込)", "価格-税込"),
        ("مرحبا بالعالم", "مرحبا-بالعالم"),
        ("हिन्दी भाषा", "हिन्दी-भाषा"),
        ("Cafe\u0301", "café"),
        ("100 % more", "100-more"),
        ("🙂", ""),
        ("", ""),
    ],
)
def test_slug(text: str, expected: str) -> None:
    assert slug(text) == expected


def test_equal_headings_get_numbers_and_explicit_ids_stay() -> None:
    assert allocate([(None, "A"), (None, "a"), (None, "A!"), ("a-2", "x"), (None, "…")]) == [
        "a",
        "a-3",
        "a-4",
        "a-2",
        "section-5",
    ]


def test_a_slug_never_takes_a_reserved_id_or_the_id_of_a_heading() -> None:
    assert allocate([(None, "Main"), (None, "Price"), (None, "Price heading")]) == [
        "main-2",
        "price",
        "price-heading-2",
    ]


@pytest.mark.parametrize("identifier", ["a", "A1", "1st", "a-b_c.d", "価格", "हिन्दी"])
def test_usable(identifier: str) -> None:
    assert problem(identifier) is None


@pytest.mark.parametrize(
    ("identifier", "code"), [("a b", "E0305"), ("-a", "E0305"), ("a#b", "E0305"), ("TOP", "E0306")]
)
def test_not_usable(identifier: str, code: str) -> None:
    found = problem(identifier)
    assert found is not None and found[0] == code


def test_anchors() -> None:
    known = ["価格", "a"]
    assert all(defined(href, known) for href in ("#", "#top", "#main", "#a", "#価格", "#%E4%BE%A1%E6%A0%BC"))
    assert not any(defined(href, known) for href in ("#A", "#b", "#Top", "#nav"))


@given(st.lists(st.tuples(st.none() | st.sampled_from(["x", "a-2", "section-1"]), st.sampled_from("aA!x")), max_size=8))
def test_allocated_ids_are_unique_and_stable(sections: list[tuple[str | None, str]]) -> None:
    explicit = [name for name, _ in sections if name is not None]
    if len(set(explicit)) < len(explicit):
        return
    names = allocate(sections)
    everything = [name.casefold() for one in names for name in (one, heading_id(one))]
    assert len(set(everything)) == len(everything)
    assert not set(everything) & RESERVED
    assert names == allocate(sections)


@given(st.text(max_size=30))
def test_a_slug_is_a_usable_id(text: str) -> None:
    name = slug(text)
    assert name == unicodedata.normalize("NFC", name)
    found = problem(name) if name else None
    assert found is None or found[0] == "E0306"
