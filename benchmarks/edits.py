"""Old answers that differ from the new one: the approval of `previous` is checked with all of them."""

from __future__ import annotations


def edits(answer: tuple[int, ...], odd: int) -> dict[str, tuple[int, ...]]:
    """Twenty ways in which an old answer differs from the new one; `odd` is a token that does not belong there."""
    middle, third = len(answer) // 2, len(answer) // 3
    return {
        "nothing": answer,
        "one token": (*answer[:middle], odd, *answer[middle + 1 :]),
        "the first token": (odd, *answer[1:]),
        "the last token": (*answer[:-1], odd),
        "one added": (*answer[:middle], odd, *answer[middle:]),
        "one missing": (*answer[:middle], *answer[middle + 1 :]),
        "ten added": (*answer[:middle], *[odd] * 10, *answer[middle:]),
        "ten missing": (*answer[:third], *answer[third + 10 :]),
        "a piece doubled": (*answer[:middle], *answer[third:middle], *answer[middle:]),
        "a piece moved": (*answer[middle:], *answer[:middle]),
        "the beginning missing": answer[third:],
        "the end missing": answer[:third],
        "an end added": (*answer, *[odd] * 20),
        "a beginning added": (*[odd] * 9, *answer),
        "every fifth token": tuple(odd if i % 5 == 4 else token for i, token in enumerate(answer)),
        "every other token": tuple(odd if i % 2 else token for i, token in enumerate(answer)),
        "all tokens": (odd,) * len(answer),
        "backwards": answer[::-1],
        "one token only": answer[:1],
        "much longer": answer * 6,
    }
