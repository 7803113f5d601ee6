"""How many tokens of room the lanes get: what is to be written first decides, and any block must fit in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pagecompiler.engine.memory import KEEPER_SEQUENCES
from pagecompiler.engine.types import Message

BYTES_A_TOKEN = 2
"""Below what any prompt was seen to have: pagec-mini's vocabulary takes 2.06 bytes a token or more, Qwen3.5's 3.1."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Something to write: its prompt, and the most tokens of the answer."""

    messages: tuple[Message, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens: `lane` for a prompt and its answer, `kept` for the beginnings that prompts share, all together."""

    lane: int
    kept: int


def estimated_room(demands: Sequence[Demand]) -> Room:
    """What the largest demand and the shared beginnings take, rather too much, without a tokenizer."""
    sizes = [_estimated(demand.messages) + demand.max_tokens for demand in demands]
    return Room(max(sizes, default=0), kept_tokens({d.messages[:1]: _estimated(d.messages[:1]) for d in demands}))


def kept_tokens(beginnings: Mapping[tuple[Message, ...], int]) -> int:
    """The tokens of the largest beginnings, as many as there are sequences for them."""
    return sum(sorted(beginnings.values())[-KEEPER_SEQUENCES:])


def shared_room(needed: Room, lanes: int, block: int) -> Room:
    """The room to set aside for this need, where a block of the grammar needs no more than `block`.

    Lanes share their room: what is larger than a lane waits until others have finished. So a block of any size still
    fits when the engine stays loaded and a later page has larger ones. Without a need each lane gets a whole block.
    """
    if not needed.lane:
        return Room(block, block)
    return Room(min(block, max(needed.lane, -(-block // lanes))), needed.kept)


def _estimated(messages: tuple[Message, ...]) -> int:
    return -(-sum(len(message.content.encode()) for message in messages) // BYTES_A_TOKEN)
