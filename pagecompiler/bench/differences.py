"""Texts of an arm that are not plain's, and what each such difference is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from pagecompiler.bench.figures import Difference
from pagecompiler.bench.run import Answer, Run
from pagecompiler.engine.types import FinishReason, Request

END = -1


@dataclass(frozen=True, slots=True)
class Parting:
    """Two answers to one request, and the first place (from 0) at which they are not the same."""

    block: str
    request: Request
    plain: tuple[int, ...]
    other: tuple[int, ...]
    token: int
    ended: bool = False  # the other one by the model's own end token


class Examiner(Protocol):
    """Evaluates a model anew; see `engine.llama.referee.Referee`."""

    def gap(self, requests: Sequence[Request], answers: Sequence[Sequence[int]]) -> float: ...

    def missing(self, request: Request, answer: Sequence[int], *, ended: bool = False) -> Iterable[float]: ...

    def distance(self, request: Request, prefix: Sequence[int], token: int, other: int) -> float: ...


OpenExaminer = Callable[[], AbstractContextManager[Examiner]]


class Texts:
    """What plain decoding wrote for each block: the text that all arms must write."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._answers: dict[str, Answer] = {}
        for run in runs:
            for answer in run.answers:
                self._answers.setdefault(answer.request.label, answer)

    def partings(self, runs: Iterable[Run]) -> list[Parting]:
        """Every way in which runs of an arm differ from it, each one once."""
        found: dict[tuple[str, tuple[int, ...]], Parting] = {}
        for run in runs:
            for answer in run.answers:
                own = answer.completion.tokens
                known = self._answers.get(answer.request.label)
                if known is None or known.request.sampling != answer.request.sampling or not own:
                    continue
                plain = known.completion.tokens
                if own != plain:
                    label = answer.request.label
                    ended = answer.completion.reason is FinishReason.END
                    place = _first_difference(plain, own)
                    found[label, own] = Parting(label, known.request, plain, own, place, ended)
        return list(found.values())

    def sample(self) -> tuple[list[Request], list[tuple[int, ...]]]:
        """Requests with their answers, to measure what rounding does."""
        answers = [answer for answer in self._answers.values() if answer.completion.tokens]
        return [answer.request for answer in answers], [answer.completion.tokens for answer in answers]


class Differences:
    """Says what differences are. The examiner is opened at the first one, and measures what rounding does here once."""

    def __init__(self, open_examiner: OpenExaminer) -> None:
        self._open = open_examiner
        self._context: AbstractContextManager[Examiner] | None = None
        self._examiner: Examiner | None = None
        self._allowed = 0.0
        self._known: dict[Parting, Difference] = {}

    def of(self, texts: Texts, runs: Sequence[Run]) -> tuple[Difference, ...]:
        """All differences of the runs of an arm, each one once."""
        return tuple(self._classified(parting, texts) for parting in texts.partings(runs))

    def close(self) -> None:
        """Free the examiner."""
        if self._context is not None:
            self._context.__exit__(None, None, None)
            self._context = None

    def _classified(self, parting: Parting, texts: Texts) -> Difference:
        if parting not in self._known:
            self._known[parting] = self._new(parting, texts)
        return self._known[parting]

    def _new(self, parting: Parting, texts: Texts) -> Difference:
        if parting.request.sampling.temperature > 0:
            return Difference(parting.block, "sampled", parting.token, 0.0, 0.0)
        if self._examiner is None:
            self._context = self._open()
            self._examiner = self._context.__enter__()
            self._allowed = self._examiner.gap(*texts.sample())
        return classify(parting, self._examiner, self._allowed)


def classify(parting: Parting, examiner: Examiner, allowed: float) -> Difference:
    """A near tie, when the tokens at which the answers part, and all that the arm chose behind them, are within what
    is `allowed`; else a defect, told at its first wrong token."""
    place = parting.token
    tokens = [answer[place] if place < len(answer) else END for answer in (parting.plain, parting.other)]
    gap = examiner.distance(parting.request, parting.plain[:place], tokens[0], tokens[1])
    if gap > allowed:
        return Difference(parting.block, "defect", place, gap, allowed)
    for index, missing in enumerate(examiner.missing(parting.request, parting.other, ended=parting.ended)):
        if missing > allowed:
            return Difference(parting.block, "defect", index, float(missing), allowed)
    return Difference(parting.block, "near tie", place, gap, allowed)


def _first_difference(one: Sequence[int], other: Sequence[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
