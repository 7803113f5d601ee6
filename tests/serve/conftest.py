"""A spec to watch, and studios that are stopped after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.studio import Studio, spec_text


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "site" / "page.yaml"
    path.parent.mkdir()
    path.write_text(spec_text("first"), encoding="utf-8")
    return path


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Callable[..., Studio]]:
    """Starts a studio for a spec or folder."""
    started: list[Studio] = []

    def start(target: Path, **options: Any) -> Studio:
        started.append(Studio(target, tmp_path / "out", **options))
        return started[-1]

    yield start
    for one in started:
        one.stop()
