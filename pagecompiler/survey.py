"""What is known of the pages of a folder before any is built: their ids, addresses and links to each other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from pagecompiler import hrefs, ids
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.folder import FolderSpec
from pagecompiler.plan import list_blocks
from pagecompiler.spec import LoadedSpec
from pagecompiler.spec_rules import page_links


@dataclass(frozen=True, slots=True)
class PageFacts:
    """A few words about a page; not the page, since there may be thousands. `expected_tokens` is a guess."""

    spec: FolderSpec
    title: str
    address: str | None
    section_ids: frozenset[str]
    expected_tokens: int


def read_facts(spec: FolderSpec, loaded: LoadedSpec) -> PageFacts:
    """The facts of a loaded spec. Pages that search engines shall not show have no address here."""
    page = loaded.page
    section_ids = ids.section_ids(page)
    hidden = page.robots is not None and ("noindex" in page.robots or "none" in page.robots)
    return PageFacts(
        spec,
        page.title,
        None if hidden else page.url,
        frozenset(section_ids),
        sum(block.expected_tokens for block in list_blocks(page, section_ids)),
    )


def check_links(
    spec: FolderSpec, loaded: LoadedSpec, pages: Mapping[Path, PageFacts | None], root: Path
) -> Iterator[Diagnostic]:
    """Findings about links to other pages of the folder. `pages` has what is known by the normalised output path,
    None for a page whose spec cannot be loaded; `root` is the folder of all pages.
    """
    for path, href in page_links(loaded.page):
        if hrefs.check(href) or hrefs.classify(href) != "path":
            continue
        target, anchor = _target(href, spec.output, root)
        if target is None:
            continue
        facts = pages.get(target)
        if target not in pages and not href.startswith("/") and not os.path.exists(target):
            yield loaded.diagnostic("W0312", f"`{href}` leads to no page of the folder", path)
        elif facts is not None and anchor and not ids.defined(anchor, facts.section_ids):
            known = ", ".join(sorted(facts.section_ids)[:12]) or "none"
            message = f"`{facts.spec.name}` has no section with the id `{hrefs.anchor_target(anchor)}`"
            yield loaded.diagnostic("E0311", message, path, f"ids of that page: {known}")


def _target(href: str, output: Path, root: Path) -> tuple[Path | None, str]:
    """The page that a path leads to, None if it is no page, and the anchor with its `#`."""
    plain, mark, fragment = href.partition("#")
    plain = unquote(plain.partition("?")[0])
    if plain.endswith("/"):
        plain += "index.html"
    if not plain.lower().endswith((".html", ".htm")):
        return None, ""
    start = root / plain.lstrip("/") if plain.startswith("/") else output.parent / plain
    return normal(start), mark + fragment


def normal(path: Path) -> Path:
    """One spelling of a path, without following links."""
    return Path(os.path.abspath(path))
