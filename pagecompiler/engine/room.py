"""How many tokens of room the lanes get: what is to be written first decides, and any block must fit in the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pagecompiler.engine.types import Message

BYTES_A_TOKEN = 2
"""Below what any prompt was seen to have: pagec-mini's vocabulary takes 2.06 bytes a token or more, Qwen3.5's 3.1."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Something to write: its prompt, and the most tokens of the answer."""

    messages: tuple[Message, ...]
    max_tokens: int

    @property
    def prompt_bytes(self) -> int:
        """The size of the messages, without what a chat template puts around them."""
        return sum(len(message.content.encode()) for message in self.messages)


def estimated_tokens(demands: Iterable[Demand]) -> int:
    """The tokens of the largest demand, rather too many, without a tokenizer; 0 when there is none."""
    return max((-(-demand.prompt_bytes // BYTES_A_TOKEN) + demand.max_tokens for demand in demands), default=0)


def lane_tokens(needed: int, lanes: int, block: int) -> int:
    """The room of one lane where the largest demand needs so many tokens and a block never more than `block`.

    Lanes share their room: what is larger than a lane waits until others have finished. So a block of any size still
    fits when the engine stays loaded and a later page has larger ones.

    >>> lane_tokens(1800, 5, 6144), lane_tokens(1800, 1, 6144), lane_tokens(0, 5, 6144)
    (1800, 6144, 6144)
    """
    return min(block, max(needed, -(-block // lanes))) if needed else block
