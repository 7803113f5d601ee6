"""Defaults of a site: merged into every page, with paths that still lead to the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.diagnostics import CompileError
from pagecompiler.site import find_site
from pagecompiler.spec import LoadedSpec, load_spec

SITE = """\
lang: de
url: https://example.org/
theme: {accent: "#036", mode: dark}
favicon: art/logo.svg
nav:
  brand: Acme
  links:
  - {text: Start, href: index.html}
  - {text: Blog, href: "blog/?x=1#y"}
  - {text: Root, href: /a}
  - {text: Top, href: "#top"}
  - {text: Web, href: "https://example.com/"}
footer: {text: Acme}
labels: {skip: Weiter}
"""
PAGE = "title: T\nhero: {heading: H}\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "_site.yaml").write_text(SITE)
    (tmp_path / "art").mkdir()
    (tmp_path / "art" / "logo.svg").write_text('<svg width="8" height="8"/>')
    (tmp_path / "a" / "b").mkdir(parents=True)
    return tmp_path


def page(folder: Path, text: str = PAGE, root: Path | None = None) -> LoadedSpec:
    path = folder / "page.yaml"
    path.write_text(text)
    return load_spec(path, root=root)


def test_paths_are_rewritten_for_the_page(site: Path) -> None:
    loaded = page(site / "a" / "b")
    assert loaded.page.nav is not None
    assert [link.href for link in loaded.page.nav.links] == [
        "../../index.html",
        "../../blog/?x=1#y",
        "/a",
        "#top",
        "https://example.com/",
    ]
    assert loaded.page.favicon == "../../art/logo.svg"
    assert loaded.page.url == "https://example.org/a/b/page.html"
    assert (loaded.page.lang, loaded.page.labels) == ("de", {"skip": "Weiter"})
    assert loaded.site == site / "_site.yaml"


def test_beside_the_site_nothing_changes(site: Path) -> None:
    loaded = page(site)
    assert loaded.page.nav is not None
    assert loaded.page.nav.links[0].href == "index.html"
    assert (loaded.page.favicon, loaded.page.url) == ("art/logo.svg", "https://example.org/page.html")


def test_the_specs_own_keys_win(site: Path) -> None:
    loaded = page(site, PAGE + "lang: en\ntheme: {mode: light}\nlabels: {skip: Skip}\nfooter: {text: mine}\n")
    assert (loaded.page.lang, loaded.page.labels) == ("en", {"skip": "Skip"})
    assert (loaded.page.theme.mode, loaded.page.theme.accent) == ("light", "#036")
    assert loaded.page.footer is not None and loaded.page.footer.text == "mine"


def test_the_batch_folder_bounds_the_search(site: Path) -> None:
    assert page(site / "a" / "b", root=site / "a").page.nav is None
    assert page(site / "a" / "b", root=site).page.nav is not None


def test_a_project_file_bounds_the_search(site: Path) -> None:
    (site / "a" / "pagec.toml").write_text("")
    assert find_site(site / "a" / "b", None) is None
    (site / "a" / "b" / "_site.yaml").write_text("lang: en")
    assert find_site(site / "a" / "b", None) == site / "a" / "b" / "_site.yaml"


def test_findings_point_into_the_right_file(site: Path) -> None:
    (site / "_site.yaml").write_text("lang: zz\nnav:\n  brand: B\n  links: [{text: x, href: '#no'}]\ntitle: x\n")
    with pytest.raises(CompileError) as error:
        page(site / "a", PAGE + "descripton: x\n")
    found = [(Path(item.file or "").name, item.code, item.span and item.span.line) for item in error.value.diagnostics]
    assert found == [
        ("page.yaml", "E0203", 3),
        ("_site.yaml", "E0211", 1),
        ("_site.yaml", "E0303", 4),
        ("_site.yaml", "E0203", 5),
    ]
    assert {Path(name).name for name in error.value.sources} == {"page.yaml", "_site.yaml"}


def test_a_site_that_is_no_yaml(site: Path) -> None:
    (site / "_site.yaml").write_text("lang: 'de\n")
    with pytest.raises(CompileError) as error:
        page(site)
    assert [item.code for item in error.value.diagnostics] == ["E0107"]
    (site / "_site.yaml").write_bytes(b"\xff")
    with pytest.raises(CompileError) as error:
        page(site)
    assert [item.code for item in error.value.diagnostics] == ["E0101"]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n"])
def test_a_site_without_keys_sets_no_defaults(text: str, tmp_path: Path) -> None:
    (tmp_path / "_site.yaml").write_text(text)
    loaded = page(tmp_path)
    assert (loaded.page.lang, loaded.page.nav, loaded.warnings) == ("en", None, ())


def test_a_later_finding_about_the_sites_values_names_the_site(site: Path) -> None:
    loaded = page(site)
    assert Path(loaded.diagnostic("E0303", "x", ("nav", "brand")).file or "").name == "_site.yaml"
    assert Path(loaded.diagnostic("E0303", "x", ("title",)).file or "").name == "page.yaml"
    assert loaded.at(("nav", "brand")).line == 6
    assert loaded.sources[loaded.file(("nav",))] == SITE
