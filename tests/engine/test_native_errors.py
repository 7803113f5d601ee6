"""What the codes of llama.cpp mean: whether the sequences are still what they were, above all."""

from __future__ import annotations

import pytest

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.native_errors import decode_error
from pagecompiler.engine.llama.target import LostStateError


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (1, DecodeError, "no room for the batch"),
        (-1, DecodeError, "refused the batch"),
        (2, LostStateError, "aborted"),
        (-3, LostStateError, "code -3"),
    ],
)
def test_what_a_failed_decode_leaves(code: int, kind: type[DecodeError], said: str) -> None:
    error = decode_error(code)
    assert type(error) is kind and said in error.message
