"""A block's structure: numbers, roles, length classes, and no text at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler import schema
from pagecompiler.slots import (
    Role,
    count_words,
    footer_structure,
    hero_structure,
    length_class,
    longest_class,
    nav_structure,
    section_structure,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three", "short"),
        ("one two three four", "line"),
        ("1 2 3 4 5 6 7 8 9 10 11 12", "line"),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13", "long"),
        ("日本語文書", "short"),  # five characters are three words
        ("日本語の文書を作る", "line"),
        ("مرحبا بكم", "short"),
        ("Tokyo東京", "short"),
    ],
)
def test_length_classes(text: str, expected: str) -> None:
    assert length_class(text) == expected


def test_dense_scripts_count_two_characters_as_a_word() -> None:
    assert count_words("日本語文書") == 3
    assert count_words("Tokyo東京") == 2


def test_repeats_take_the_class_of_the_longest() -> None:
    assert longest_class(["a", "b c d e", ""]) == "line"


def test_the_example_of_the_design() -> None:
    section = schema.Features(
        kind="features",
        heading="Why this kettle is good",
        items=[schema.Entry(title="Fast", text="Boils one litre in 90 seconds.")],
    )
    assert section_structure(section, 0).description == (
        "kind: features\n{{1}} heading line\nitems:\n- {{2}} title short\n  {{3}} text line"
    )


def test_a_text_edit_inside_its_class_changes_nothing() -> None:
    one = hero_structure(schema.Hero(heading="A kettle", text="It boils water in ninety seconds."))
    two = hero_structure(schema.Hero(heading="No kettle", text="It boils *oil* in ninety seconds."))
    assert one.description == two.description


def test_rows_are_one_slot_a_column() -> None:
    def table(rows: list[list[str]]) -> schema.Table:
        return schema.Table(kind="table", heading="T", columns=["a", "b"], rows=rows)

    one, two = section_structure(table([["1", "2"]]), 0), section_structure(table([["1", "2"], ["3", ""]]), 0)
    assert one.description == two.description
    assert two.slots[-1].values == ("2", "")
    assert two.slots[-1].paths == (("sections", 0, "rows", 0, 1), ("sections", 0, "rows", 1, 1))


def test_links_have_their_kind_as_class() -> None:
    hrefs = ["#a", "https://example.org", "mailto:a@example.org", "tel:+491", "/a"]
    nav = schema.Nav(brand="B", links=[schema.Link(text="x", href=href) for href in hrefs])
    words = [slot.length for slot in nav_structure(nav).slots if slot.role is Role.HREF]
    assert words == ["anchor", "web", "mail", "tel", "path"]


def test_number_and_price_follow_the_field() -> None:
    stats = schema.Stats(kind="stats", heading="S", items=[schema.Stat(value="about nine of ten", label="x")])
    assert section_structure(stats, 0).slots[-1].length == "number"


TEXTS = st.text(min_size=1, max_size=80).filter(str.strip)


@given(TEXTS, TEXTS)
def test_no_text_is_in_a_description(text: str, label: str) -> None:
    footer = schema.Footer(text=text, links=[schema.Link(text=label, href="/a")])
    structure = footer_structure(footer)
    allowed = {
        "kind:",
        "footer",
        "text",
        "links:",
        "-",
        "href",
        "short",
        "line",
        "long",
        "path",
        "{{1}}",
        "{{2}}",
        "{{3}}",
    }
    assert set(structure.description.split()) <= allowed
    assert [slot.number for slot in structure.slots] == [1, 2, 3]
