"""Threads spin only where nothing else computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.engine.llama.waiting import set_waiting

SHORT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "300"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.10 0.20 0.30 1/123 4567\n", {}),
        ("0.10 0.20 0.30 2/123 4567\n", SHORT),
        ("9.00 9.00 9.00 17/123 4567\n", SHORT),
        ("", SHORT),
        ("what is this", SHORT),
    ],
)
def test_what_runs_now_decides(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    load = tmp_path / "loadavg"
    load.write_text(text)
    environment: dict[str, str] = {}
    set_waiting(environment, load)
    assert environment == expected


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    set_waiting(environment, tmp_path / "loadavg")
    assert environment == SHORT


def test_the_user_goes_first(tmp_path: Path) -> None:
    environment = {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "9"}
    set_waiting(environment, tmp_path / "loadavg")
    assert environment == {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "9"}
