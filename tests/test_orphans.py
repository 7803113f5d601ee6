"""`--prune` removes what pagec wrote and nobody needs: whatever links, folders and caches are between."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pagecompiler import cli

Call = Callable[..., str]


@pytest.fixture
def pagec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            cli.main([*arguments, "--model", "reference"])
        err = capsys.readouterr().err
        assert (ended.value.code or 0) == code, err
        return err

    return call


def write(path: str, image: str | None = None, heading: str = "H") -> Path:
    """A spec, with an image that is made where it is missing."""
    spec = Path(path)
    spec.parent.mkdir(parents=True, exist_ok=True)
    figure = f"\nsections: [{{kind: figure, heading: F, image: {{src: {image}, alt: A}}}}]" if image else ""
    spec.write_text(f"title: T\nhero: {{heading: {heading}}}{figure}\n", encoding="utf-8")
    if image is not None and not (spec.parent / image).exists():
        draw(spec.parent / image)
    return spec


def draw(path: Path, width: int = 4) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="3"/>', encoding="utf-8")


def test_a_source_behind_a_link_stays(pagec: Call) -> None:
    draw(Path("site/media/x.svg"))
    Path("site/img").symlink_to("media")
    Path("out").mkdir()
    Path("out/img").symlink_to("../site/img")
    write("site/keep.yaml")
    for output in ("site", "out"):
        gone = write("site/a.yaml", "img/x.svg")
        pagec("batch", "site", "-o", output)
        gone.unlink()
        pagec("batch", "site", "-o", output, "--prune")
        assert not Path(output, "a.html").exists() and Path("site/media/x.svg").exists()


def test_an_image_that_has_become_a_source_stays(pagec: Call) -> None:
    Path("site").mkdir()
    Path("site/_site.yaml").write_text("lang: en\n", encoding="utf-8")
    gone = write("site/specs/a.yaml", "img/x.svg")
    pagec("compile", "site/specs/a.yaml", "-o", "site")
    write("site/b.yaml", "img/x.svg")
    pagec("batch", "site", "-o", "site")
    gone.unlink()
    pagec("batch", "site", "-o", "site", "--prune")
    assert not Path("site/a.html").exists() and Path("site/img/x.svg").exists()
    pagec("batch", "site", "-o", "site", "--force")


def test_a_page_that_another_spec_has_made_since_stays(pagec: Call) -> None:
    write("site/keep.yaml")
    write("site/b.yaml")
    pagec("batch", "site", "-o", "out")
    Path("site/sub").mkdir()
    Path("site/b.yaml").rename("site/sub/b.yaml")
    pagec("compile", "site/sub/b.yaml", "-o", "out")
    pagec("batch", "site", "-o", "out", "--prune")
    assert Path("out/b.html").exists()


@pytest.mark.parametrize("cached", [True, False], ids=["in another cache", "in no cache"])
def test_an_image_that_a_page_of_elsewhere_shows_stays(pagec: Call, cached: bool) -> None:
    gone, _ = write("one/a.yaml", "ä&b.svg"), write("one/keep.yaml")
    write("two/b.yaml", "ä&b.svg")
    pagec("batch", "one", "-o", "out")
    pagec("batch", "two", "-o", "out", *([] if cached else ["--no-cache"]))
    gone.unlink()
    assert "ä&b.svg" not in pagec("batch", "one", "-o", "out", "--prune")
    assert sorted(path.name for path in Path("out").iterdir()) == ["b.html", "keep.html", "ä&b.svg"]


def test_the_image_of_a_page_that_stays_stays(pagec: Call) -> None:
    for name in ("a", "b"):
        write(f"site/{name}.yaml", "x.svg")
    write("site/keep.yaml")
    pagec("batch", "site", "-o", "out")
    with Path("out/a.html").open("a", encoding="utf-8") as page:
        page.write("<!-- mine -->")
    for name in ("a", "b"):
        Path(f"site/{name}.yaml").unlink()
    said = pagec("batch", "site", "-o", "out", "--prune")
    assert "a.html stays" in said and Path("out/x.svg").exists() and not Path("out/b.html").exists()


def test_an_image_that_was_there_before_stays(pagec: Call) -> None:
    gone, _ = write("site/a.yaml", "x.svg"), write("site/keep.yaml")
    draw(Path("out/x.svg"))
    pagec("batch", "site", "-o", "out")
    gone.unlink()
    pagec("batch", "site", "-o", "out", "--prune")
    assert sorted(path.name for path in Path("out").iterdir()) == ["keep.html", "x.svg"]


def test_an_image_outside_of_the_output_stays(pagec: Call) -> None:
    Path("site").mkdir()
    Path("site/_site.yaml").write_text("lang: en\n", encoding="utf-8")
    draw(Path("site/img/x.svg"))
    gone, _ = write("site/sub/a.yaml", "../img/x.svg"), write("site/sub/keep.yaml")
    pagec("batch", "site", "-o", "out")
    gone.unlink()
    pagec("batch", "site/sub", "-o", "out/sub", "--prune")
    assert not Path("out/sub/a.html").exists() and Path("out/img/x.svg").exists()


def test_two_records_of_one_page_that_has_gone(pagec: Call) -> None:
    write("site/a.yaml", "x.svg")
    write("site/keep.yaml")
    pagec("batch", "site", "-o", "out")
    Path("site/a.yaml").rename("site/a.yml")
    pagec("batch", "site", "-o", "out")
    Path("site/a.yml").unlink()
    said = pagec("batch", "site", "-o", "out", "--prune")
    assert said.count("removed") == 2 and "stays" not in said
    assert [path.name for path in Path("out").iterdir()] == ["keep.html"]


def test_an_output_folder_behind_a_link(pagec: Call) -> None:
    draw(Path("site/img/x.svg"))
    gone, _ = write("site/sub/a.yaml", "../img/x.svg"), write("site/keep.yaml")
    Path("out/real/deep").mkdir(parents=True)
    Path("out/sub").symlink_to("real/deep")
    pagec("batch", "site", "-o", "out")
    assert Path("out/img/x.svg").exists(), "browsers know of no links"
    shutil.rmtree(gone.parent)
    pagec("batch", "site", "-o", "out", "--prune")
    assert [path.name for path in Path("out").rglob("*") if path.is_file()] == ["keep.html"]


def test_an_icon_with_a_strange_name_stays(pagec: Call) -> None:
    for spec, name in (("site/a.yaml", "it's&b.svg"), ("site/b.yaml", "größe.svg")):
        write(spec)
        draw(Path("site/img", name))
        icon = name.replace("'", "''")
        with Path(spec).open("a", encoding="utf-8") as file:
            file.write(f"favicon: 'img/{icon}'\n")
    Path("here").symlink_to("out")
    for output in ("out", "here"):
        for _ in range(2):
            assert "removed" not in pagec("batch", "site", "-o", output, "--prune")
    assert len(list(Path("out/img").iterdir())) == 2


def test_an_image_that_a_page_above_shows_stays(pagec: Call) -> None:
    gone, _ = write("site/sub/a.yaml", "img/x.svg"), write("site/sub/keep.yaml")
    Path("site/pagec.toml").touch()
    write("site/t.yaml", "sub/img/x.svg")
    pagec("batch", "site/sub", "-o", "out/sub")
    pagec("batch", "site", "-o", "out")
    gone.unlink()
    pagec("batch", "site/sub", "-o", "out/sub", "--prune")
    assert Path("out/sub/img/x.svg").exists() and not Path("out/sub/a.html").exists()


def test_where_one_stands_makes_no_difference(pagec: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    write("site/a.yaml", "x.svg")
    pagec("batch", "site", "-o", "out")
    monkeypatch.chdir("site")
    assert "1 unchanged" in pagec("batch", ".", "-o", "../out")


def test_an_image_of_a_page_that_cannot_be_read_or_is_elsewhere_stays(pagec: Call) -> None:
    gone, _ = write("site/a.yaml", "x.svg"), write("site/keep.yaml")
    pagec("batch", "site", "-o", "out")
    gone.unlink()
    Path("old").mkdir()
    Path("old/page.html").write_text("<img src=../x&#46;svg>", encoding="utf-16")
    Path("out/old").symlink_to("../old")
    Path("out/around").symlink_to("..")
    os.mkfifo("out/pipe.html")
    assert "x.svg" not in pagec("batch", "site", "-o", "out", "--prune")
    assert Path("out/x.svg").exists() and not Path("out/a.html").exists()


def test_what_a_link_at_the_place_of_a_page_leads_to_stays(pagec: Call) -> None:
    gone, _ = write("site/b.yaml"), write("site/keep.yaml")
    pagec("batch", "site", "-o", "out")
    Path("out/b.html").rename("out/mine.html")
    Path("out/b.html").symlink_to("mine.html")
    pagec("batch", "site", "-o", "out")
    gone.unlink()
    pagec("batch", "site", "-o", "out", "--prune")
    assert Path("out/mine.html").exists()


def test_an_image_that_a_page_of_the_project_around_shows_stays(pagec: Call) -> None:
    dropped = write("site/sub/a.yaml", "img/x.svg")
    write("site/t.yaml", "sub/img/x.svg")
    Path("site/pagec.toml").touch()
    Path("site/sub/_site.yaml").write_text("lang: en\n", encoding="utf-8")
    pagec("batch", "site/sub", "-o", "out/sub")
    pagec("batch", "site", "-o", "out")
    write(str(dropped))
    pagec("batch", "site/sub", "-o", "out/sub", "--prune")
    assert Path("out/sub/img/x.svg").exists()


def test_a_sitemap_that_pagec_did_not_write_stays(pagec: Call) -> None:
    spec = write("site/a.yaml")
    Path("out").mkdir()
    Path("out/sitemap.xml").write_text("<mine/>", encoding="utf-8")
    assert "sitemap" not in pagec("batch", "site", "-o", "out"), "no page has an address"
    with spec.open("a", encoding="utf-8") as file:
        file.write("url: https://example.org/a.html\n")
    assert "sitemap.xml stays as it is" in pagec("batch", "site", "-o", "out")
    assert Path("out/sitemap.xml").read_text(encoding="utf-8") == "<mine/>"
    Path("out/sitemap.xml").unlink()
    pagec("batch", "site", "-o", "out")
    assert "https://example.org/a.html" in Path("out/sitemap.xml").read_text(encoding="utf-8")
