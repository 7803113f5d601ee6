"""Images: inside the folder, measured, copied whole."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest

from pagecompiler.assets import Asset, AssetError, copy_assets, resolve
from pagecompiler.spec import load_spec


def png(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\0" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "spec"
    (folder / "img").mkdir(parents=True)
    (folder / "a.png").write_bytes(png(30, 20))
    (folder / "img" / "b.png").write_bytes(png(3, 2))
    (tmp_path / "outside.png").write_bytes(png(1, 1))
    return folder


def test_sizes_come_from_the_file(folder: Path) -> None:
    assert resolve("a.png", folder) == Asset("a.png", (folder / "a.png").resolve(), 30, 20)
    assert resolve("img/../img/./b.png", folder).width == 3


@pytest.mark.parametrize(
    ("svg", "size"),
    [
        ('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30px"/>', (40, 30)),
        ("<?xml version='1.0'?>\n<!-- x -->\n<!DOCTYPE svg>\n<svg viewBox='0 0 120 60'></svg>", (120, 60)),
        ('<svg width="50%" viewBox="0,0,8,4"/>', (8, 4)),
        ('<svg width="100" viewBox="0 0 8 4"/>', (100, 50)),
        ("<svg/>", (None, None)),
        ('<svg width="1e400" height="nan"/>', (None, None)),
    ],
)
def test_svg_sizes(svg: str, size: tuple[int | None, int | None], folder: Path) -> None:
    (folder / "a.svg").write_text(svg)
    asset = resolve("a.svg", folder)
    assert (asset.width, asset.height) == size


@pytest.mark.parametrize(
    ("src", "code"),
    [
        ("../outside.png", "E0307"),
        ("img/../../outside.png", "E0307"),
        ("img/../../spec/a.png", "E0307"),
        ("/etc/passwd", "E0307"),
        ("https://example.org/a.png", "E0307"),
        ("C:/a.png", "E0307"),
        ("link.png", "E0307"),
        ("linked/outside.png", "E0307"),
        ("nope.png", "E0308"),
        ("a.png/x", "E0308"),
        ("loop.png", "E0308"),
        ("a\0.png", "E0308"),
        ("img", "E0309"),
        ("text.png", "E0309"),
        ("empty.png", "E0309"),
        ("cut.png", "E0309"),
        ("two.html", "E0309"),
        ("page.HTM", "E0309"),
    ],
)
def test_refused(src: str, code: str, folder: Path) -> None:
    (folder / "text.png").write_text("hello")
    (folder / "empty.png").write_bytes(b"")
    (folder / "cut.png").write_bytes(png(3, 3)[:12])
    (folder / "two.html").write_text("<svg/>")
    (folder / "page.HTM").symlink_to("a.png")
    (folder / "link.png").symlink_to("../outside.png")
    (folder / "linked").symlink_to("..")
    (folder / "loop.png").symlink_to("loop.png")
    with pytest.raises(AssetError) as error:
        resolve(src, folder)
    assert error.value.code == code


def test_an_image_that_is_only_called_image_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text('<svg width="8" height="8"/>')
    for alt, codes in (("Photo", ["W0313"]), ("A kettle", []), ("", [])):
        text = f'title: T\nhero: {{heading: H, image: {{src: a.svg, alt: "{alt}"}}}}\n'
        loaded = load_spec(tmp_path / "page.yaml", data=text.encode())
        assert [finding.code for finding in loaded.warnings] == codes


def test_a_batch_folder_may_hold_the_images(folder: Path) -> None:
    assert resolve("../outside.png", folder, folder.parent).width == 1


def test_a_missing_image_has_a_suggestion(folder: Path) -> None:
    with pytest.raises(AssetError) as error:
        resolve("b.png", folder)
    assert error.value.hint == "did you mean `a.png`?"


def test_a_missing_image_may_only_be_spelled_in_capitals(folder: Path) -> None:
    (folder / "loaf.png").write_bytes((folder / "a.png").read_bytes())
    if (folder / "LOAF.PNG").exists():
        pytest.skip("this file system does not tell capitals apart")
    with pytest.raises(AssetError) as error:
        resolve("LOAF.PNG", folder)
    assert error.value.hint == "did you mean `loaf.png`?"


def test_copies(folder: Path, tmp_path: Path) -> None:
    found = [resolve("a.png", folder), resolve("img/b.png", folder), resolve("a.png", folder)]
    output = tmp_path / "out"
    assert copy_assets(found, output) == [output / "a.png", output / "img" / "b.png"]
    assert (output / "img" / "b.png").read_bytes() == png(3, 2)
    assert copy_assets(found, output) == []
    assert copy_assets(found, folder) == []
    (folder / "a.png").write_bytes(png(31, 20))
    assert copy_assets(found, output) == [output / "a.png"]
    assert sorted(path.name for path in output.iterdir()) == ["a.png", "img"]


def test_no_copy_leaves_the_folder_of_the_pages(folder: Path, tmp_path: Path) -> None:
    found = [resolve("../outside.png", folder, tmp_path)]
    with pytest.raises(AssetError):
        copy_assets(found, tmp_path / "out" / "sub")
    assert copy_assets(found, tmp_path / "out" / "sub", tmp_path / "out") == [tmp_path / "out" / "outside.png"]


def test_a_failed_copy_leaves_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        copy_assets([resolve("a.png", folder)], tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
