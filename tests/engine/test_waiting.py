"""Threads spin only where nothing else computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.engine.llama.waiting import set_waiting

SHORT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "300"}


@pytest.fixture
def own_threads(tmp_path: Path) -> Path:
    """One thread runs, with an odd name; another one sleeps."""
    for number, stat in (("7", "7 (a) R (b) R 1 7 7"), ("8", "8 (c) S 1 7 7")):
        (tmp_path / "task" / number).mkdir(parents=True)
        (tmp_path / "task" / number / "stat").write_text(stat)
    return tmp_path / "task"


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
def test_what_runs_now_decides(tmp_path: Path, own_threads: Path, text: str, expected: dict[str, str]) -> None:
    load = tmp_path / "loadavg"
    load.write_text(text)
    environment: dict[str, str] = {}
    set_waiting(environment, load, own_threads)
    assert environment == expected


def test_threads_that_numpy_has_started_are_no_other_program(tmp_path: Path, own_threads: Path) -> None:
    (own_threads / "8" / "stat").write_text("8 (c) R 1 7 7")
    load = tmp_path / "loadavg"
    load.write_text("0.10 0.20 0.30 2/123 4567\n")
    environment: dict[str, str] = {}
    set_waiting(environment, load, own_threads)
    assert environment == {}


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    set_waiting(environment, tmp_path / "loadavg")
    assert environment == SHORT
    set_waiting(environment := {}, load=Path("/proc/loadavg"), own_threads=tmp_path / "task")
    assert environment == SHORT


def test_the_user_goes_first(tmp_path: Path) -> None:
    environment = {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "9"}
    set_waiting(environment, tmp_path / "loadavg")
    assert environment == {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "9"}
