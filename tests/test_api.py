"""The public names."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagecompiler
from pagecompiler import compile_page, load_spec
from pagecompiler.engine.reference import ReferenceEngine

SPEC = "title: T\nhero: {heading: H}\n"


def test_three_names_and_no_more() -> None:
    assert pagecompiler.__all__ == ["Engine", "compile_page", "load_spec"]
    assert all(getattr(pagecompiler, name) for name in pagecompiler.__all__)
    with pytest.raises(AttributeError):
        _ = pagecompiler.compile_site  # type: ignore[attr-defined]


def test_a_page_from_python(tmp_path: Path) -> None:
    path = tmp_path / "page.yaml"
    path.write_text(SPEC, encoding="utf-8")
    result = compile_page(load_spec(path), output=tmp_path / "page.html", model="reference")
    assert result.ok
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == result.html
    assert compile_page(path, model="reference").html == result.html


class _Counting(ReferenceEngine):
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_given_engine_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "page.yaml"
    path.write_text(SPEC, encoding="utf-8")
    engine = _Counting()
    assert compile_page(path, model="reference", engine=engine).ok
    assert engine.closed == 0
