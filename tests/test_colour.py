"""Colours and palettes: the arithmetic, and that every palette can be read."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagecompiler.colour import (
    Oklch,
    contrast,
    from_oklch,
    is_light,
    mix,
    move_until,
    parse_colour,
    reaches,
    to_oklch,
)
from pagecompiler.palette import PAIRS, TINT_MAX, Palette, declarations, make_palette, palettes, weak_pairs
from pagecompiler.resources import template_dir
from pagecompiler.schema import Theme

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")
MODES = st.sampled_from(["light", "dark", "auto"])


@pytest.mark.parametrize(
    ("text", "colour"),
    [
        ("#abc", "#aabbcc"),
        ("#A1B2C3", "#a1b2c3"),
        ("#abcd", None),
        ("abc", None),
        ("teal", None),
        ("rgb(1 2 3)", None),
        ("", None),
        ("#12345g", None),
    ],
)
def test_parse(text: str, colour: str | None) -> None:
    assert parse_colour(text) == colour


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [("#000000", "#ffffff", 21), ("#ffffff", "#ffffff", 1), ("#767676", "#ffffff", 4.54), ("#ff0000", "#ffffff", 4.0)],
)
def test_contrast_as_in_wcag(first: str, second: str, ratio: float) -> None:
    assert contrast(first, second) == pytest.approx(ratio, abs=0.005)
    assert contrast(first, second) == contrast(second, first)


@pytest.mark.parametrize(
    ("colour", "expected"),
    [
        ("#ff0000", (0.628, 0.2577, 29.23)),
        ("#0000ff", (0.452, 0.3132, 264.05)),
        ("#808080", (0.5999, 0.0, None)),
    ],
)
def test_oklch_as_in_css(colour: str, expected: tuple[float, float, float | None]) -> None:
    tone = to_oklch(colour)
    assert tone.lightness == pytest.approx(expected[0], abs=0.001)
    assert tone.chroma == pytest.approx(expected[1], abs=0.001)
    if expected[2] is not None:
        assert tone.hue == pytest.approx(expected[2], abs=0.1)


@given(COLOURS)
def test_there_and_back(colour: str) -> None:
    assert from_oklch(to_oklch(colour)) == colour


@given(st.floats(-1, 2), st.floats(0, 1), st.floats(-720, 720))
def test_any_oklch_has_a_hex(lightness: float, chroma: float, hue: float) -> None:
    assert re.fullmatch("#[0-9a-f]{6}", from_oklch(Oklch(lightness, chroma, hue)))


@given(COLOURS, COLOURS)
def test_mix_ends(first: str, second: str) -> None:
    assert mix(first, second, 0) == first
    assert mix(first, second, 1) == second


@given(COLOURS, COLOURS)
def test_move_until_reaches_and_keeps_what_is_good(colour: str, ground: str) -> None:
    moved = move_until(colour, {ground: 4.5})
    assert reaches(moved, {ground: 4.5})
    if reaches(colour, {ground: 4.5}):
        assert moved == colour


def test_move_without_an_answer_takes_the_better_end() -> None:
    assert move_until("#777777", {"#ffffff": 21.0, "#eeeeee": 21.0}) == "#000000"


# --- palettes


def check(palette: Palette) -> None:
    assert weak_pairs(palette) == []
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in palette.values())


@given(COLOURS, MODES)
def test_every_accent_gives_readable_palettes(accent: str, mode: Literal["light", "dark", "auto"]) -> None:
    made = palettes(Theme(accent=accent, mode=mode))
    check(made.main)
    check(made.paper)
    assert (made.dark is not None) == (mode == "auto")
    if made.dark is not None:
        check(made.dark)
        assert is_light(made.main["background"]) and not is_light(made.dark["background"])
    assert is_light(made.paper["background"])


@given(COLOURS, COLOURS, MODES)
def test_every_background_gives_readable_palettes(
    accent: str, background: str, mode: Literal["light", "dark", "auto"]
) -> None:
    made = palettes(Theme(accent=accent, background=background, mode=mode))
    assert made.main["background"] == background
    check(made.main)
    if made.dark is not None:
        check(made.dark)


@given(COLOURS, COLOURS, COLOURS, MODES)
def test_given_text_is_kept_and_judged(
    accent: str, background: str, text: str, mode: Literal["light", "dark", "auto"]
) -> None:
    made = palettes(Theme(accent=accent, background=background, text=text, mode=mode))
    assert (made.main["background"], made.main["text"]) == (background, text)
    wrong = [problem for problem in made.problems if problem.code == "E0501"]
    assert bool(wrong) == (contrast(text, background) < 4.5)
    if not wrong:
        check(made.main)


@given(COLOURS, st.floats(0, TINT_MAX))
def test_every_tint_is_readable(accent: str, share: float) -> None:
    for dark in (False, True):
        palette = make_palette(accent, None, None, dark=dark)
        palette["tinted"] = mix(palette["background"], palette["wash"], share)
        assert weak_pairs(palette) == []


def test_a_good_accent_stays() -> None:
    made = palettes(Theme(accent="#0b6e4f"))
    assert made.main["accent"] == "#0b6e4f"
    assert made.problems == ()


def test_a_weak_accent_is_moved_and_said() -> None:
    made = palettes(Theme(accent="#ffd400"))
    (note,) = made.problems
    assert (note.key, note.code) == ("accent", "N0502")
    assert made.main["accent"] in note.message and "1.4" in note.message
    hue = to_oklch("#ffd400").hue
    assert to_oklch(made.main["accent"]).hue == pytest.approx(hue, abs=3)


def test_a_text_that_cannot_be_read_is_an_error() -> None:
    made = palettes(Theme(text="#777777", background="#888888"))
    assert [problem.code for problem in made.problems] == ["E0501"]


def test_a_ratio_is_never_rounded_up_to_the_limit() -> None:
    made = palettes(Theme(text="#777777", background="#ffffff"))
    assert "4.47:1" in made.problems[0].message


def test_dark_mode_takes_the_colours_as_dark_ones() -> None:
    made = palettes(Theme(mode="dark", background="#101418", text="#dde3ea", accent="#7cc4ff"))
    assert made.dark is None
    assert (made.main["background"], made.main["text"], made.main["accent"]) == ("#101418", "#dde3ea", "#7cc4ff")
    assert made.problems == ()


def test_a_dark_background_in_mode_auto_serves_both() -> None:
    made = palettes(Theme(background="#101418"))
    assert made.dark == made.main


def test_declarations_are_sorted_and_leave_out_what_is_for_checking() -> None:
    lines = declarations(make_palette("#0b6e4f", None, None, dark=False))
    assert lines == sorted(lines)
    assert not any(line.startswith("--tinted") for line in lines)


def test_the_stylesheet_uses_only_colours_that_exist_and_all_of_them() -> None:
    css = (template_dir() / "base.css").read_text(encoding="utf-8")
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", css))
    made = set(make_palette("#0b6e4f", None, None, dark=False))
    defined = set(re.findall(r"^\s*--([a-z0-9-]+):", css, re.MULTILINE))
    assert used - defined <= made
    assert made <= used | defined
    assert {name for front, back, _ in PAIRS for name in (front, back)} <= made
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", css) == []
