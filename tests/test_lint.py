"""What is said of a spec before anything is decoded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pagecompiler.lint import lint
from pagecompiler.spec import LoadedSpec


def test_an_image_for_other_sites_needs_the_address_of_the_page(
    load: Callable[[str], LoadedSpec], tmp_path: Path
) -> None:
    (tmp_path / "a.svg").write_text("<svg/>")
    [found] = lint(load("image: {src: a.svg, alt: A}"))
    assert (found.code, found.severity, found.span and found.span.line) == ("W0315", "warning", 2)
    assert not list(lint(load("image: {src: a.svg, alt: A}\nurl: https://example.org/")))
