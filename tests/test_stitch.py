"""The skeleton around the blocks."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from bs4 import BeautifulSoup

from pagecompiler.api import compile_page
from pagecompiler.spec import LoadedSpec
from pagecompiler.stitch import content_security_policy
from pagecompiler.validate import validate_page

Load = Callable[[str], LoadedSpec]


def test_the_policy_hashes_the_one_style(load: Load) -> None:
    html = compile_page(load("lang: en"), model="reference").html or ""
    (css,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in content_security_policy(css)
    policy = BeautifulSoup(html, "html5lib").find("meta", attrs={"http-equiv": True})
    assert policy is not None and policy["content"] == content_security_policy(css)


def test_landmarks_and_their_words(load: Load) -> None:
    loaded = load("lang: de\nnav: {brand: B, links: [{text: x, href: /x}]}\nfooter: {text: F}")
    page = BeautifulSoup(compile_page(loaded, model="reference").html or "", "html5lib")
    assert [tag.name for tag in page.select("body > *")] == ["a", "header", "main", "footer"]
    assert page.select_one("a.skip").text == "Zum Inhalt springen"  # type: ignore[union-attr]
    assert page.nav["aria-label"] == "Hauptnavigation"  # type: ignore[index]
    loaded = load("lang: de\nlabels: {skip: Weiter}")
    assert ">Weiter</a>" in (compile_page(loaded, model="reference").html or "")


def test_right_to_left(load: Load) -> None:
    assert '<html lang="he" dir="rtl">' in (compile_page(load("lang: he"), model="reference").html or "")


def test_what_other_sites_show(load: Load, tmp_path: Path) -> None:
    (tmp_path / "ä.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="4"/>')
    loaded = load(
        "url: https://example.org/x/\nrobots: noindex\nfavicon: ä.svg\nimage: {src: ä.svg, alt: A}\ndescription: D & d"
    )
    result = compile_page(loaded, output=tmp_path / "out" / "page.html", model="reference")
    assert result.ok, [finding.message for finding in result.diagnostics]
    page = BeautifulSoup(result.html or "", "html5lib")
    found = {str(tag["property"]): str(tag["content"]) for tag in page.select("meta[property]")}
    assert found["og:image"] == "https://example.org/x/%C3%A4.svg"
    assert found["og:description"] == "D & d"
    assert page.select_one("link[rel=canonical]")["href"] == "https://example.org/x/"  # type: ignore[index]
    assert page.select_one("meta[name=robots]")["content"] == "noindex"  # type: ignore[index]
    assert (tmp_path / "out" / "ä.svg").is_file()
    assert validate_page(result.html or "") == ()
