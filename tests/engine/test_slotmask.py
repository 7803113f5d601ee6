"""The slot mask against its definition, on vocabularies that merge."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.engine.llama.slotmask import SlotIndex, SlotMask

NUMBERS = ["0", "1", "2", "3", "9", "10", "12", "123", "1a"]
BRACES = ["{", "{{", "{{1", "{{1}}", "}", "}}", "}}}", "}}</", "}}{{", "}<", "2}}", "12}}", "1}}</p>"]
PIECES = [*(text.encode() for text in (*NUMBERS, *BRACES, "<p>", "x", " ", "")), b"}}\xc3", b"\xa9", b"\xd9\xa1"]
INDEX = SlotIndex(PIECES)


def mask_after(text: bytes, slots) -> SlotMask:
    mask = SlotMask(INDEX, frozenset(slots))
    mask.feed(text)
    return mask


def allowed(text: str, slots) -> set[str] | None:
    ids = mask_after(text.encode(), slots).allowed()
    return None if ids is None else {PIECES[i].decode("utf-8", "replace") for i in ids}


def by_definition(text: bytes, slots: set[int]) -> set[int] | None:
    """Token by token: the text goes on to an allowed `{{N}}`, or already holds it."""
    opened = re.search(rb"\{\{(\d*\}?)\Z", text)
    left = slots - {int(number) for number in re.findall(rb"\{\{(\d+)\}\}", text)}
    if not opened or not left:
        return None
    wanted = [b"%d}}" % number for number in left]
    found = {
        i
        for i, piece in enumerate(PIECES)
        if piece
        and any(w.startswith(opened[1] + piece) or (opened[1] + piece).startswith(w) for w in wanted)
        and any(w.startswith(opened[1]) for w in wanted)
    }
    return found or None


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sets(st.integers(0, 130), max_size=6))
def test_the_mask_is_what_it_is_defined_to_be(pieces, slots):
    mask = SlotMask(INDEX, frozenset(slots))
    for piece in pieces:
        mask.feed(piece)
    ids = mask.allowed()
    found = None if ids is None else set(ids.tolist())
    assert found == by_definition(b"".join(pieces), slots)
    assert ids is None or ids.tolist() == sorted(set(ids.tolist()))


@settings(deadline=None)
@given(st.sets(st.integers(0, 130), min_size=1, max_size=6), st.data())
def test_a_masked_writer_places_each_number_once_and_then_is_free(slots, data):
    mask = SlotMask(INDEX, frozenset(slots))
    text = b""
    for _ in range(60):
        ids = mask.allowed()
        token = data.draw(st.sampled_from(ids.tolist())) if ids is not None else PIECES.index(b"{{")
        text += PIECES[token]
        mask.feed(PIECES[token])
        if ids is None and text.endswith(b"{{{{"):
            break
    written = [int(number) for number in re.findall(rb"\{\{(\d+)\}\}", text)]
    assert set(written) <= slots
    assert len(written) == len(set(written))


def test_outside_a_slot_nothing_is_masked():
    for text in ("", "<p>", "{", "{{1}}", "{ {", "{{x", "{{ "):
        assert allowed(text, {1, 2}) is None, text


def test_numbers_that_are_left():
    assert allowed("{{", {1, 12}) == {"1", "12", "12}}", "1}}</p>"}
    assert allowed("{{1}} {{", {1, 2}) == {"2", "2}}"}
    assert allowed("{{1", {1, 12}) == {"}", "}}", "}}}", "}}</", "}}{{", "}}\ufffd", "2", "2}}"}
    assert allowed("{{1", {12}) == {"2", "2}}"}


def test_between_the_closing_braces():
    assert allowed("{{1}", {1, 12}) == {"}", "}}", "}}}", "}}</", "}}{{", "}}\ufffd", "}<"}
    assert allowed("{{2}", {1, 12}) is None


def test_with_no_number_left_the_mask_is_off():
    assert allowed("{{1}}{{", {1}) is None
    assert allowed("{{", set()) is None


def test_a_number_without_a_token_leaves_the_mask_off():
    assert SlotIndex([b"x", b"}}"]).continuing(b"7}}").tolist() == []
    mask = SlotMask(SlotIndex([b"{{", b"x"]), frozenset({7}))
    mask.feed(b"{{")
    assert mask.allowed() is None


@pytest.mark.parametrize("split", range(1, 6))
def test_slots_are_seen_across_pieces(split):
    text = b"{{12}}"
    mask = SlotMask(INDEX, frozenset({1, 12}))
    mask.feed(b"<p>" + text[:split])
    mask.feed(text[split:] + b"{{")
    ids = mask.allowed()
    assert ids is not None
    assert {PIECES[i] for i in ids} == {b"1", b"1}}</p>"}
