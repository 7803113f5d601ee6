"""What stderr shows while a page is written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pagecompiler.engine.types import EngineStats, GenerationEvent
from pagecompiler.generate import Progress
from pagecompiler.progress import LiveProgress, PlainProgress, QuietProgress, spent_line

EVENTS = [
    Progress("top", "hero", "writing", 1, 5),
    Progress("top", "hero", "refused", 1, 9),
    Progress("top", "hero", "writing", 2, 4),
    Progress("top", "hero", "done", 2, 8),
]


def test_plain_lines_only_where_something_ended(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainProgress() as progress:
        for event in EVENTS:
            progress(event)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "top: hero refused, 9 tokens\ntop: hero done, 8 tokens, attempt 2\n"


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with QuietProgress() as progress:
        for event in EVENTS:
            progress(event)
    assert capsys.readouterr().err == ""


def test_live_lines_count_all_attempts(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveProgress(color=False) as progress:
        for event in EVENTS:
            progress(event)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "17 tokens" in captured.err and "done" in captured.err
    assert "\x1b[3" not in captured.err


def test_live_lines_tell_tokens_and_rows_a_pass(capsys: pytest.CaptureFixture[str]) -> None:
    def at(state, tokens, passes, rows):
        event = GenerationEvent(1, "text", tokens=tokens, passes=passes, rows=rows)
        return Progress("top", "hero", state, 1, tokens, event=event)

    with LiveProgress(color=False) as progress:
        for step in (at("writing", 4, 2, 6), at("refused", 10, 4, 12), at("writing", 6, 2, 6), at("done", 10, 4, 12)):
            progress(step)
    assert "2.5 tokens, 3.0 rows a pass" in capsys.readouterr().err


def test_the_last_line_says_where_the_time_went() -> None:
    plain = EngineStats(tokens=50, verify_passes=10, verify_rows=50, target_seconds=1.0, python_seconds=0.01)
    assert spent_line(plain) == "5.0 tokens and 5.0 rows a pass; model 1.00 s, Python 0.01 s"
    drafted = replace(plain, drafted=40, accepted=30, draft_passes=9, draft_seconds=0.5, draft_device="CUDA1")
    assert "75 % of guesses accepted" in spent_line(drafted)
    assert "drafts 0.50 s on CUDA1 (not hidden: the model waits for them)" in spent_line(drafted)


def test_nothing_is_drawn_when_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveProgress(color=True):
        pass
    assert capsys.readouterr().err == ""
