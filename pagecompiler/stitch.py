"""Linked blocks → one page: the skeleton around them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from urllib.parse import quote, urljoin

from pagecompiler import schema
from pagecompiler.languages import direction, labels
from pagecompiler.link import LinkedBlock
from pagecompiler.resources import template_dir
from pagecompiler.templating import Templates

NO_ICON = "data:,"
"""Keeps browsers from asking for /favicon.ico."""

_COLOR_SCHEMES = {"light": "light", "dark": "dark", "auto": "light dark"}


def content_security_policy(css: str) -> str:
    """The policy of a page: one style element, its own images, nothing else."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src 'self' data:; base-uri 'none'; form-action 'none'"


def stitch(page: schema.PageSpec, linked: Sequence[LinkedBlock], css: str) -> str:
    """The page as text. `linked` are its blocks in reading order, all with HTML; `css` is the whole style.

    Raises CompileError when the template cannot be used.
    """
    blocks = [(block.block.kind, block.html) for block in linked if block.html is not None]
    return _templates().render(
        "page.html.j2",
        lang=page.lang,
        dir=direction(page.lang),
        policy=content_security_policy(css),
        title=page.title,
        description=page.description,
        robots=page.robots,
        url=page.url,
        open_graph=list(_open_graph(page)),
        icon=page.favicon or NO_ICON,
        color_scheme=_COLOR_SCHEMES[page.theme.mode],
        css=css,
        labels=labels(page.lang, page.labels),
        header="".join(text for kind, text in blocks if kind == "nav"),
        main=[text for kind, text in blocks if kind not in ("nav", "footer")],
        footer="".join(text for kind, text in blocks if kind == "footer"),
    )


def _open_graph(page: schema.PageSpec) -> Iterator[tuple[str, str]]:
    """What other sites show of a page that is linked there; nothing for a page without address and image."""
    if page.url is None and page.image is None:
        return
    yield "type", "website"
    yield "title", page.title
    if page.description is not None:
        yield "description", page.description
    if page.url is not None:
        yield "url", page.url
    if page.image is not None:
        # Readers of Open Graph want whole addresses; without `url` the relative one is all there is.
        yield "image", urljoin(page.url or "", quote(page.image.src))
        if page.image.alt:
            yield "image:alt", page.image.alt


def share_rules(linked: Sequence[LinkedBlock]) -> list[str]:
    """The CSS rules of the bar lengths that a page uses."""
    shares = sorted(set().union(*(block.shares for block in linked)))
    return [f".share-{share} {{ inline-size: {share}%; }}" for share in shares]


@cache
def _templates() -> Templates:
    return Templates(template_dir(), autoescape=True, keep_trailing_newline=True)
