"""The slot mask: inside `{{` only numbers that exist in the block and are not yet placed can be written.

Vocabularies merge: a token may hold `}}</`, `12}}` or `{{`. So the mask looks at the bytes of tokens: allowed
is a token that continues an allowed `{{N}}`, whatever follows it in the token. Outside a slot nothing is
masked, and with no number left the mask is off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from pagecompiler.engine.llama.sampling import Ids

_PLACED = re.compile(rb"\{\{(\d{1,9})\}\}")
_OPEN = re.compile(rb"(?:\{\{(\d{0,9})(\}?)|\{)\Z")
_HEAD = re.compile(rb"\d*\}{0,2}")
_FIRST_BYTES = frozenset(b"0123456789}")
_NOTHING: Ids = np.empty(0, dtype=np.intp)


class SlotIndex:
    """The tokens that can stand inside a slot, by how they begin; made once for a vocabulary."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        """`pieces` are the bytes of all tokens in order of their ids."""
        whole: dict[bytes, list[int]] = {}
        headed: dict[bytes, list[int]] = {}
        for token, piece in enumerate(pieces):
            if not piece or piece[0] not in _FIRST_BYTES:
                continue
            head = piece[: _HEAD.match(piece).end()]  # type: ignore[union-attr]  # matches the empty string too
            headed.setdefault(head, []).append(token)
            if head == piece:
                whole.setdefault(piece, []).append(token)
        self._whole = {text: np.array(ids, dtype=np.intp) for text, ids in whole.items()}
        self._headed = {text: np.array(ids, dtype=np.intp) for text, ids in headed.items()}

    def continuing(self, rest: bytes) -> Ids:
        """Tokens that are a beginning of `rest`, or begin with `rest`; `rest` ends in the slot's last brace.

        >>> SlotIndex([b"1", b"2", b"}", b"}}</", b"1}}"]).continuing(b"1}}").tolist()
        [0, 4]
        """
        found = [self._whole.get(rest[:end], _NOTHING) for end in range(1, len(rest))]
        found.append(self._headed.get(rest, _NOTHING))
        if rest == b"}":
            found.append(self._headed.get(b"}}", _NOTHING))
        return np.concatenate(found)


class SlotMask:
    """Follows one request's text and says which tokens are allowed next."""

    def __init__(self, index: SlotIndex, slots: frozenset[int]) -> None:
        self._index = index
        self._left = {number: str(number).encode() for number in sorted(slots)}
        self._tail = b""

    def feed(self, piece: bytes) -> None:
        """Take the bytes of the token that was written."""
        if not self._tail and b"{" not in piece:
            return
        text = self._tail + piece
        for match in _PLACED.finditer(text):
            self._left.pop(int(match[1]), None)
        opened = _OPEN.search(text)
        self._tail = opened[0] if opened else b""

    def allowed(self) -> Ids | None:
        """The allowed tokens, ascending; None when nothing is masked."""
        if len(self._tail) < 2 or not self._left:
            return None
        opened = _OPEN.match(self._tail)
        assert opened is not None
        digits, brace = opened[1], opened[2]
        rests = [
            (number + b"}}")[len(digits) + len(brace) :]
            for number in self._left.values()
            if (number == digits if brace else number.startswith(digits))
        ]
        ids = [self._index.continuing(rest) for rest in rests]
        if not any(len(found) for found in ids):
            return None
        return np.unique(np.concatenate(ids))
