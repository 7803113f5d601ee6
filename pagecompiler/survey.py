"""What is known of the pages of a folder before any is built: their ids, addresses and links to each other."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from pagecompiler import hrefs, ids
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.folder import FolderSpec
from pagecompiler.plan import list_blocks
from pagecompiler.raw_spec import SpecPath
from pagecompiler.spec import LoadedSpec
from pagecompiler.spec_rules import page_links


@dataclass(frozen=True, slots=True)
class PageFacts:
    """A few words about a page; not the page, since there may be thousands. `expected_tokens` is a guess, `links`
    are the addresses of other pages in it.
    """

    spec: FolderSpec
    title: str
    address: str | None
    section_ids: frozenset[str]
    expected_tokens: int
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What pages can link to. `pages` has what is known by the normalised output path, None for a page whose spec
    cannot be loaded; `root` is the folder of all pages, `gone` has pages that are there but will not be.
    """

    pages: Mapping[Path, PageFacts | None]
    root: Path
    gone: Collection[Path] = ()

    def dead(self, spec: FolderSpec, links: Iterable[str]) -> frozenset[str]:
        """Those links of a page that lead nowhere, or to no section."""
        return frozenset(href for href in links if self.lacks_page(spec, href) or self.lacks_section(spec, href))

    def lacks_page(self, spec: FolderSpec, href: str) -> bool:
        """Whether a link leads to a page that there is not."""
        target, _ = _target(href, spec.output, self.root)
        if target is None or target in self.pages or href.startswith("/"):
            return False
        return target in self.gone or not os.path.exists(target)

    def lacks_section(self, spec: FolderSpec, href: str) -> PageFacts | None:
        """The page that a link leads to, if it has no section of that id."""
        target, anchor = _target(href, spec.output, self.root)
        facts = self.pages.get(target) if target is not None else None
        return facts if facts is not None and anchor and not ids.defined(anchor, facts.section_ids) else None


def read_facts(spec: FolderSpec, loaded: LoadedSpec) -> PageFacts:
    """The facts of a loaded spec. Pages that search engines shall not show have no address here."""
    page = loaded.page
    section_ids = ids.section_ids(page)
    robots = (page.robots or "").lower()
    return PageFacts(
        spec,
        page.title,
        None if "noindex" in robots or "none" in robots else page.url,
        frozenset(section_ids),
        sum(block.expected_tokens for block in list_blocks(page, section_ids)),
        tuple(dict.fromkeys(href for _, href in _links(loaded))),
    )


def check_links(spec: FolderSpec, loaded: LoadedSpec, neighbours: Neighbours) -> Iterator[Diagnostic]:
    """Findings about links to other pages of the folder."""
    for path, href in _links(loaded):
        if neighbours.lacks_page(spec, href):
            yield loaded.diagnostic("W0312", f"`{href}` leads to no page of the folder", path)
        elif facts := neighbours.lacks_section(spec, href):
            known = ", ".join(sorted(facts.section_ids)[:12]) or "none"
            anchor = hrefs.anchor_target(_target(href, spec.output, neighbours.root)[1])
            message = f"`{facts.spec.name}` has no section with the id `{anchor}`"
            yield loaded.diagnostic("E0311", message, path, f"ids of that page: {known}")


def _links(loaded: LoadedSpec) -> Iterator[tuple[SpecPath, str]]:
    """The links of a page to other ones, with their places."""
    for path, href in page_links(loaded.page):
        if not hrefs.check(href) and hrefs.classify(href) == "path":
            yield path, href


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
