"""Atomic writes: the old file or the new one, and nothing left over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pagecompiler.files import write_atomic


def test_writes_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a" / "page.html"
    assert write_atomic(path, b"one")
    assert path.read_bytes() == b"one"
    assert not write_atomic(path, b"one")
    assert write_atomic(path, b"two")
    assert [entry.name for entry in path.parent.iterdir()] == ["page.html"]


def test_equal_content_keeps_the_time(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_atomic(path, b"one")
    os.utime(path, (1, 1))
    write_atomic(path, b"one")
    assert path.stat().st_mtime == 1


def test_permissions_are_those_of_a_plain_new_file_or_stay(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    path = tmp_path / "page.html"
    write_atomic(path, b"one")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    write_atomic(path, b"two")
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_at_any_step_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, step: str
) -> None:
    path = tmp_path / "page.html"
    write_atomic(path, b"old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path if step == "replace" else os, step, fail)
    with pytest.raises(type(error)) as raised:
        write_atomic(path, b"new")
    if isinstance(raised.value, OSError):  # of the temporary file nobody has heard
        assert raised.value.filename == str(path) and raised.value.strerror == "No space left on device"
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_a_long_name_still_has_a_temporary_neighbour(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 240 + ".html")
    assert write_atomic(path, b"one")
