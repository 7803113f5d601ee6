"""The tokens of an answer as a report shows them: who guessed each, what was refused, and what else was likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pagecompiler.engine.types import Candidate, TracedToken
from pagecompiler.reporting.visible import visible

MOST_OF_AN_ANSWER = 2_000
MOST_OF_A_REPORT = 8_000
LONGEST_TOKEN = 60
LONGEST_CANDIDATE = 24


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """`share` is in whole percent, `percent` in words."""

    text: str
    share: int
    percent: str
    role: Literal["", "written", "refused"]


@dataclass(frozen=True, slots=True)
class ShownToken:
    """`refused` is the guess in whose place it was written; `story` says all that in words. `ends_line`: a line of the
    answer ends with it."""

    text: str
    kind: Literal["own", "approved", "instead"]
    source: str
    refused: str
    story: str
    candidates: tuple[ShownCandidate, ...]
    ends_line: bool


@dataclass(frozen=True, slots=True)
class TokenRun:
    """The shown tokens of one answer, and how many more there were."""

    tokens: tuple[ShownToken, ...]
    left_out: int


class TokenRoom:
    """Bounds the size of a report: each token takes some hundred bytes."""

    def __init__(self, of_an_answer: int = MOST_OF_AN_ANSWER, of_a_report: int = MOST_OF_A_REPORT) -> None:
        self._of_an_answer = of_an_answer
        self._left = of_a_report

    def show(self, tokens: Sequence[TracedToken]) -> TokenRun:
        """The first tokens of an answer, as many as there is room for."""
        count = min(len(tokens), self._of_an_answer, self._left)
        self._left -= count
        return TokenRun(tuple(_shown(token) for token in tokens[:count]), len(tokens) - count)


def _shown(token: TracedToken) -> ShownToken:
    refused = token.refused_rank > 0
    written = next((place for place, each in enumerate(token.candidates) if each.text == token.text), None)
    return ShownToken(
        visible(token.text, longest=LONGEST_TOKEN),
        "approved" if token.accepted else "instead" if refused else "own",
        token.source,
        visible(token.refused, longest=LONGEST_TOKEN) if refused else "",
        _story(token),
        tuple(
            _candidate(each, "written" if place == written else "refused" if place + 1 == token.refused_rank else "")
            for place, each in enumerate(token.candidates)
        ),
        "\n" in token.text,
    )


def _candidate(candidate: Candidate, role: Literal["", "written", "refused"]) -> ShownCandidate:
    text = visible(candidate.text, longest=LONGEST_CANDIDATE, spaces=True)
    return ShownCandidate(text, round(100 * candidate.probability), percent(candidate.probability), role)


def _story(token: TracedToken) -> str:
    if token.accepted:
        return f"guessed by {token.source}, approved"
    if token.refused_rank:
        refused = visible(token.refused, longest=LONGEST_CANDIDATE, spaces=True)
        return f"written by the model; {token.source} had guessed {refused}, the model’s no. {token.refused_rank}"
    return "written by the model, not guessed"


def percent(share: float) -> str:
    """A probability in words; what is not certain is never shown as 100 %.

    >>> percent(0.9997), percent(0.25), percent(0.0001)
    ('> 99.9 %', '25.0 %', '< 0.1 %')
    """
    if share < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if share > 0.999 else f"{100 * share:.1f} %"
