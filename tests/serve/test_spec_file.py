"""The only file that the build view writes keeps what an editor does not see, and is never written over blindly."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.serve.spec_file import SpecChangedError, SpecFile


def test_line_ends_and_bom_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbftitle: T\r\nlang: en\r\n")
    file = SpecFile(path)
    text, digest = file.read()
    assert text == "title: T\nlang: en\n"
    after = file.write(text + "url: u\n", digest)
    assert path.read_bytes() == b"\xef\xbb\xbftitle: T\r\nlang: en\r\nurl: u\r\n"
    assert after == file.digest() != digest


def test_a_file_that_has_changed_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("title: T\n", encoding="utf-8")
    file = SpecFile(path)
    _, digest = file.read()
    path.write_text("title: Other\n", encoding="utf-8")
    with pytest.raises(SpecChangedError):
        file.write("title: Mine\n", digest)
    assert path.read_text(encoding="utf-8") == "title: Other\n"


def test_a_file_that_is_gone_can_be_written_again(tmp_path: Path) -> None:
    file = SpecFile(tmp_path / "a.yaml")
    assert file.read() == ("", "") and file.digest() == ""
    file.write("title: T\n", "")
    assert file.read()[0] == "title: T\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "a.yaml", tmp_path / "link.yaml"
    path.write_text("title: T\n", encoding="utf-8")
    link.symlink_to(path)
    file = SpecFile(link)
    file.write("title: U\n", file.digest())
    assert link.is_symlink() and path.read_text(encoding="utf-8") == "title: U\n"


def test_what_is_not_utf8_cannot_be_edited(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"title: \xff\n")
    with pytest.raises(ValueError):
        SpecFile(path).read()
