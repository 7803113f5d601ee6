"""Ids, what points to them, addresses of links and images, and the empty link."""

from __future__ import annotations

import re

from pagecompiler import hrefs
from pagecompiler.checks import names
from pagecompiler.checks.tree import Element, Tree

_REFERENCES = names(
    "for headers list form aria-labelledby aria-describedby aria-controls aria-owns aria-details aria-flowto "
    "aria-errormessage aria-activedescendant"
)
_DATA_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,]", re.IGNORECASE)
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|/|\\", re.IGNORECASE)
_NO_REQUEST = frozenset({"canonical", "alternate", "author", "license", "next", "prev", "help"})


def check_links(tree: Tree) -> None:
    """Everything about ids and addresses."""
    targets = _check_ids(tree)
    for element in tree.elements:
        _check_references(tree, element, targets)
        if element.name == "a":
            _check_link(tree, element, targets)
        elif element.name == "img":
            _check_image(tree, element)
        elif element.name == "link":
            _check_resource(tree, element)


def _check_ids(tree: Tree) -> set[str]:
    seen: set[str] = set()
    for element in tree.elements:
        identifier = element.attributes.get("id")
        if identifier is None:
            continue
        if not identifier or any(char.isspace() for char in identifier):
            tree.report("E0611", f'`id="{identifier}"` is empty or has white space', element)
        if identifier in seen:
            tree.report("E0610", f"the id `{identifier}` stands twice on the page", element)
        seen.add(identifier)
    return seen


def _check_references(tree: Tree, element: Element, targets: set[str]) -> None:
    for name in _REFERENCES & element.attributes.keys():
        wanted = element.get(name).split()
        for missing in [word for word in wanted if word not in targets]:
            tree.report("E0613", f"`{name}` names `{missing}`, but nothing has this id", element)
        if not wanted:
            tree.report("E0613", f"`{name}` names nothing", element)


def _check_link(tree: Tree, link: Element, targets: set[str]) -> None:
    href = link.attributes.get("href")
    if href is None:
        tree.report("E0614", "this link has no `href`", link)
    else:
        _check_href(tree, link, href, targets)
    if not link.name_text() and not link.get("aria-label").strip() and "aria-labelledby" not in link.attributes:
        tree.report("E0623", "this link has no words", link)


def _check_href(tree: Tree, element: Element, href: str, targets: set[str]) -> None:
    if problem := hrefs.check(href):
        tree.report("E0615" if hrefs.refused(href) else "E0614", problem, element)
    elif href.startswith("#"):
        target = hrefs.anchor_target(href)
        # Browsers scroll to the top for these two, whether or not an element has the id.
        if target not in targets and target.lower() not in ("", "top"):
            tree.report("E0612", f"`{href}` leads nowhere: nothing on the page has this id", element)


def _check_image(tree: Tree, image: Element) -> None:
    if "alt" not in image.attributes:
        tree.report("E0620", "this image has no `alt`; an empty one says that it is decoration", image)
    for name in ("width", "height"):
        value = image.get(name)
        if not re.fullmatch(r"[1-9]\d{0,5}", value, re.ASCII):
            tree.report("E0621", f'`{name}="{value}"` of this image is not a whole number of pixels', image)
    source = image.get("src")
    if not source:
        tree.report("E0622", "this image has no `src`", image)
    elif _ABSOLUTE.match(source) and not _DATA_IMAGE.match(source):
        tree.report("E0622", f"images come from files beside the page, not from `{source[:80]}`", image)
    elif problem := None if source[:5].lower() == "data:" else hrefs.check(source):
        tree.report("E0622", problem, image)
    elif re.search(r"[\s<>\"\\^`{|}]|%(?![0-9A-Fa-f]{2})", source):
        tree.report("E0622", "the `data:` address of this image has characters that must be percent-encoded", image)


def _check_resource(tree: Tree, link: Element) -> None:
    relations = frozenset(link.get("rel").lower().split())
    href = link.get("href")
    if not relations or not href:
        tree.report("E0614", "`<link>` needs `rel` and `href`", link)
    elif relations <= _NO_REQUEST:
        if problem := hrefs.check(href):
            tree.report("E0614", problem, link)
    elif "icon" not in relations or len(relations) > 1:
        tree.report("E0616", f'`<link rel="{link.get("rel")}">` asks for a file outside the page', link)
    elif _ABSOLUTE.match(href) and href[:5].lower() != "data:":
        tree.report("E0616", f"the icon comes from a file beside the page, not from `{href[:80]}`", link)
    elif problem := None if href[:5].lower() == "data:" else hrefs.check(href):
        tree.report("E0614", problem, link)
