"""Numbers as people type them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.numbers import parse_number, read_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"), ("007", "7"), ("1.10", "1.10"), (" 7 ", "7"), ("+5", "5"), (".5", "0.5"), ("5.", "5"),
        ("1,200", "1200"), ("1.200,5", "1200.5"), ("1,200.50", "1200.50"), ("1.234.567", "1234567"), ("0,125", "0.125"),
        ("12,34", "12.34"), ("12,34,567", "1234567"), ("1 200", "1200"), ("1\u00a0200,5", "1200.5"),
        ("1\u202f234\u202f567", "1234567"), ("1'234.5", "1234.5"), ("1’234", "1234"), ("٣٫٥", "3.5"), ("١٬٢٣٤", "1234"),
        ("１２", "12"), ("−4", "-4"), ("–4", "-4"), ("-$3", "-3"), ("$-3", "-3"), ("€ 12", "12"), ("12 %", "12"),
        ("5 m²", "5"), ("3.5k", "3.5"),
    ],
)  # fmt: skip
def test_value(text: str, value: str) -> None:
    assert parse_number(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    ["", " ", "about", "1e3", "5-10", "3 of 4", "12:30", "1,2,3", "1.5.2", "1 20", "--5", "½", "1" * 101, "∞", "NaN"],
)
def test_no_number(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "unit"), [("12 kg", "kg"), ("€ 12", "€"), ("12", ""), ("$12 / day", "$ / day"), ("5 %", "%")]
)
def test_unit(text: str, unit: str) -> None:
    number = read_number(text)
    assert number is not None and number.unit == unit


@pytest.mark.parametrize(
    ("text", "expected"), [("1,200", True), ("1.200", True), ("0.125", False), ("1,200,000", False)]
)
def test_ambiguous(text: str, expected: bool) -> None:
    number = read_number(text)
    assert number is not None and number.ambiguous is expected


@given(st.text(max_size=30))
def test_anything(text: str) -> None:
    value = parse_number(text)
    assert value is None or value.is_finite()


@given(st.decimals(min_value=0, max_value=10**9, places=2))
def test_formats_are_read_back(value: Decimal) -> None:
    english = f"{value:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert parse_number(english) == parse_number(german) == value
