"""Operations that llama.cpp would carry out wrongly are refused."""

from __future__ import annotations

import pytest

from pagecompiler.engine.llama.rules import MemoryRuleError, SequenceRules
from pagecompiler.engine.llama.target import Batch


@pytest.fixture
def rules() -> SequenceRules:
    """Sequence 0 has eight tokens, four of them from the last decode."""
    rules = SequenceRules(rollback=3)
    decode(rules, 0, 4)
    decode(rules, 0, 4)
    return rules


def decode(rules: SequenceRules, sequence: int, rows: int, position: int | None = None) -> None:
    batch = Batch()
    start = rules.length(sequence) if position is None else position
    batch.add(sequence, [1] * rows, start, wanted=0)
    rules.check(batch)
    rules.decoded(batch)


def test_a_rollback_is_pending_until_the_next_decode(rules):
    rules.remove(0, 6)
    assert rules.length(0) == 6
    for operation in (lambda: rules.copy(0, 1), lambda: rules.remove(0, 5)):
        with pytest.raises(MemoryRuleError, match="pending"):
            operation()
    decode(rules, 0, 2)
    rules.copy(0, 1)


def test_a_rollback_is_bounded_by_snapshots_and_by_the_last_decode(rules):
    with pytest.raises(MemoryRuleError, match="at most 3"):
        rules.remove(0, 4)
    decode(rules, 0, 2)
    with pytest.raises(MemoryRuleError, match="at most 1"):
        rules.remove(0, 8)
    rules.remove(0, 9)


def test_without_a_recurrent_state_a_cut_has_no_bound():
    rules = SequenceRules(rollback=None)
    decode(rules, 0, 4)
    rules.remove(0, 1)
    rules.remove(0, 1)
    rules.copy(0, 1)


def test_a_shared_cell_is_left_by_decoding_or_removing(rules):
    rules.copy(0, 1)
    for operation in (lambda: rules.copy(0, 2), lambda: rules.copy(1, 2), lambda: rules.remove(0, 7)):
        with pytest.raises(MemoryRuleError, match="shares"):
            operation()
    decode(rules, 1, 1)
    rules.copy(0, 2)
    rules.remove(2, 0)
    rules.copy(0, 2)


def test_a_copy_needs_an_empty_destination(rules):
    decode(rules, 1, 1)
    with pytest.raises(MemoryRuleError, match="empty"):
        rules.copy(0, 1)


def test_rows_must_go_on_where_the_sequence_ends(rules):
    with pytest.raises(MemoryRuleError, match="begin at 9"):
        decode(rules, 0, 1, position=9)
    rules.clear()
    decode(rules, 0, 1, position=0)


def test_cutting_nothing_and_everything_is_always_allowed(rules):
    rules.remove(0, 8)
    rules.remove(0, 7)
    rules.remove(0, 0)
    assert rules.length(0) == 0
    rules.remove(5, 0)
