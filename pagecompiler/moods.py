"""The words of `theme.mood` that the embedded model knows."""

from __future__ import annotations

import re

MOOD_WORDS = (
    "calm",
    "bold",
    "playful",
    "technical",
    "elegant",
    "warm",
    "compact",
    "generous",
    "crisp",
    "soft",
    "editorial",
    "minimal",
)
MAX_MOOD_WORDS = 3


def split_mood(mood: str) -> tuple[list[str], list[str]]:
    """The known words of a mood in order, at most three, each once; and the words that are left out.

    >>> split_mood("calm, generous white space")
    (['calm', 'generous'], ['white', 'space'])
    """
    known: list[str] = []
    unknown: list[str] = []
    for word in re.findall(r"[^\s,;.]+", mood.lower()):
        if word in known:
            continue
        if word in MOOD_WORDS and len(known) < MAX_MOOD_WORDS:
            known.append(word)
        else:
            unknown.append(word)
    return known, unknown
