"""`_site.yaml`: what the pages of a site have in common.

The nearest one above a spec gives defaults for a few keys. Its relative paths are relative to its own folder
and are rewritten for the page, so that one navigation serves pages at any depth.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pagecompiler import hrefs
from pagecompiler.raw_spec import Found, RawSpec
from pagecompiler.spec_errors import close_match

SITE_NAME = "_site.yaml"
PROJECT_NAME = "pagec.toml"
KEYS = ("lang", "theme", "nav", "footer", "favicon", "url", "labels")
_MERGED = ("theme", "labels")


def find_site(folder: Path, root: Path | None) -> Path | None:
    """The nearest `_site.yaml` from `folder` up to `root`; without one, up to the folder with `pagec.toml`.

    >>> find_site(Path("/nowhere/at/all"), Path("/nowhere")) is None
    True
    """
    here = folder.resolve()
    last = root.resolve() if root is not None else None
    for place in (here, *here.parents):
        if (place / SITE_NAME).is_file():
            return place / SITE_NAME
        if place == last or (last is None and (place / PROJECT_NAME).exists()):
            return None
    return None


def unknown_keys(site: RawSpec) -> Iterator[Found]:
    """Findings for keys that belong to one page, which are then ignored."""
    for name in [name for name in site.value if name not in KEYS]:
        close = close_match(name, KEYS)
        hint = f"did you mean `{close}`?" if close else f"allowed here: {', '.join(KEYS)}"
        yield "E0203", f"`{SITE_NAME}` cannot have the key `{name}`", site.key((name,)), hint


def merge(raw: RawSpec, site: RawSpec, folder: Path, page: Path | None) -> None:
    """Add the site's values to the spec's, with their places. The spec's own keys win, one by one in
    `theme` and `labels`. `folder` is the site's; `page` is the spec's file, or None for stdin.
    """
    inside = "" if page is None else _relative(page.parent.resolve(), folder)
    for name in KEYS:
        if name not in site.value:
            continue
        value = site.value[name]
        if name == "url":
            value = _page_address(value, inside, page)
        elif name == "favicon":
            value = _moved(value, inside)
        elif name in ("nav", "footer") and isinstance(value, dict):
            value = _moved_links(value, inside)
        if name not in raw.value:
            raw.value[name] = value
            raw.adopt(site, (name,))
        elif name in _MERGED and isinstance(value, dict) and isinstance(raw.value[name], dict):
            for key in value:
                if key not in raw.value[name]:
                    raw.value[name][key] = value[key]
                    raw.adopt(site, (name, key))


def _relative(place: Path, folder: Path) -> str:
    return place.relative_to(folder.resolve()).as_posix() if place.is_relative_to(folder.resolve()) else ""


def _moved_links(block: dict[str, Any], inside: str) -> dict[str, Any]:
    links = block.get("links")
    if not isinstance(links, list):
        return block
    moved = [
        {**link, "href": _moved(link["href"], inside)} if isinstance(link, dict) and "href" in link else link
        for link in links
    ]
    return {**block, "links": moved}


def _moved(path: Any, inside: str) -> Any:
    """A path relative to the site as one relative to the page's folder; everything else is left alone."""
    if not isinstance(path, str) or hrefs.check(path) or hrefs.classify(path) != "path" or path.startswith("/"):
        return path
    match = re.match(r"[^?#]*", path)
    plain = match[0] if match else ""
    if not plain or inside in ("", "."):
        return path
    moved = posixpath.relpath(plain, inside)
    return moved + ("/" if plain.endswith("/") and moved != "." else "") + path[len(plain) :]


def _page_address(url: Any, inside: str, page: Path | None) -> Any:
    """The page's own address under the site's."""
    if not isinstance(url, str) or page is None:
        return url
    parts = [part for part in (inside, page.stem + ".html") if part not in ("", ".")]
    return "/".join([url.rstrip("/"), *(quote(os.fsencode(part)) for part in parts)])
