"""What a source of guesses is: asked for tokens, told what became of every lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pagecompiler.engine.llama.target import Rows

if TYPE_CHECKING:
    from pagecompiler.engine.llama.lane import Lane

Guess = Sequence[int]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Rows of one sequence that the target has decoded and keeps: of a prompt, of a keeper, or approved ones.

    `tokens[i]` stands at position `position + i`; `hidden[tap][i]` is its row of each tap that was asked for, a
    view that is valid during the call only. Rejected rows and padding are never shown, and no row twice.
    """

    sequence: int
    position: int
    tokens: Sequence[int]
    hidden: Mapping[int, Rows]


class Drafter:
    """A source of guesses for all lanes together. Guesses change the speed, never the text.

    `name` is what traces call it. `wanted` says whether it is being asked for guesses: if not, what it must do to keep
    up may wait. `taps` are the hidden rows of the target that it reads: NEXTN, or numbers of
    inner layers. `passes` and `seconds` count its own decodes. Everything but `propose` may be left as it is.
    """

    name = "guess"
    taps: tuple[int, ...] = ()

    def __init__(self) -> None:
        self.wanted = True
        self.passes = 0
        self.seconds = 0.0

    def propose(self, lanes: Sequence[Lane], depth: int) -> list[Guess]:
        """For each lane at most `depth` tokens that may follow its pending token; empty where it knows none.

        A drafter never raises for a lane that it cannot serve: it has no guess for it.
        """
        raise NotImplementedError

    def admitted(self, lane: Lane) -> None:
        """A request got the lane; nothing of it is decoded yet."""

    def copied(self, source: int, destination: int) -> None:
        """The target made the empty sequence `destination` equal to `source`."""

    def decoded(self, rows: Decoded) -> None:
        """The target has decoded these rows and keeps them."""

    def verified(self, lane: Lane, drafted: int, accepted: int) -> None:
        """Of this drafter's last guess for the lane `drafted` tokens were tried and the first `accepted` approved.

        The target has been rolled back, or will be before its next decode; `decoded` was called for what stays.
        """

    def finished(self, sequence: int) -> None:
        """The sequence is empty again: its lane ended, or its keeper changes hands."""

    def cleared(self) -> None:
        """All sequences are empty again."""

    def close(self) -> None:
        """Free what it holds."""
