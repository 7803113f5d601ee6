"""Whether a file is named anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.mentions import SHOWING, unnamed


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.svg", '<img src="img/a.svg">'),
        ("a.svg", "url(a.svg)"),
        ("ä b.svg", '<img src="%C3%A4%20b.svg">'),
        ("it's.svg", '<link href="it&#39;s.svg">'),
        ("a&b.svg", '<img src="a&amp;b.svg">'),
        ("a.svg", "See img/a.svg."),
        ("a.svg", '<img src="/thumb?of=img%2Fa.svg">'),
        ("ü.svg", '<img src="%c3%bc.svg">'),
    ],
)
def test_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    (tmp_path / "notes.log").write_text("other.svg", encoding="utf-8")
    assert list(unnamed([Path(name), Path("other.svg")], [(tmp_path, SHOWING)])) == [Path("other.svg")]


def test_a_longer_name_is_another_one(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<img src="extra.svg"><img src="a.svgz">', encoding="utf-8")
    assert list(unnamed([Path("a.svg")], [(tmp_path, SHOWING)])) == [Path("a.svg")]


def test_what_cannot_be_read_may_name_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.html").touch()

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PermissionError):
        list(unnamed([Path("a.svg")], [(tmp_path, SHOWING)]))
