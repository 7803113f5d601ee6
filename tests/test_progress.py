"""What stderr shows while a page is written."""

from __future__ import annotations

import pytest

from pagecompiler.generate import Progress
from pagecompiler.progress import LiveProgress, PlainProgress, QuietProgress

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


def test_nothing_is_drawn_when_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveProgress(color=True):
        pass
    assert capsys.readouterr().err == ""
