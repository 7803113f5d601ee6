"""What readers navigate by: headings, landmarks and their names, the skip link, focus, table headers."""

from __future__ import annotations

import re
from collections import Counter

from pagecompiler.checks.tree import Element, Text, Tree
from pagecompiler.content_model import HEADINGS, is_group

# Elements bring their roles along; only a generic box may be given one, and these are all a page needs.
_ROLES = frozenset({"group", "region"})
_TOP_LEVEL = frozenset({"header", "nav", "main", "footer"})


def check_outline(tree: Tree) -> None:
    """Headings, landmarks, regions, the skip link, roles, focus order and table headers."""
    _check_headings(tree)
    _check_landmarks(tree)
    _check_sections(tree)
    _check_names(tree)
    _check_skip_link(tree)
    for element in tree.elements:
        _check_role_and_focus(tree, element)
        if element.name == "th":
            _check_table_header(tree, element)
        elif element.name == "summary" and not element.name_text():
            tree.report("E0624", "this `<summary>` has no words", element)


def _check_headings(tree: Tree) -> None:
    headings = [element for element in tree.elements if element.name in HEADINGS]
    firsts = [heading for heading in headings if heading.name == "h1"]
    if len(firsts) != 1:
        at = firsts[1] if firsts else None
        tree.report("E0630", f"the page has {len(firsts)} `<h1>` instead of one", at)
    for first in firsts[:1]:
        if sum(around.name == "section" for around in first.ancestors()) > 1:
            tree.report("E0630", "the `<h1>` stands in a section of a section", first)
    level = 0
    for heading in headings:
        now = int(heading.name[1])
        if now > level + 1:
            after = f"an `<h{level}>`" if level else "nothing"
            tree.report("E0631", f"`<{heading.name}>` follows {after}: a heading level is skipped", heading)
        level = now
        if not heading.name_text():
            tree.report("E0624", f"this `<{heading.name}>` has no words", heading)


def _check_landmarks(tree: Tree) -> None:
    mains = tree.named("main")
    if len(mains) != 1:
        tree.report("E0632", f"the page has {len(mains)} `<main>` instead of one", mains[1] if mains else None)
    for name in ("header", "footer"):
        for extra in tree.named(name)[1:]:
            tree.report("E0632", f"the page has more than one `<{name}>`", extra)
    body = next(iter(tree.named("body")), None)
    if body is None:
        return
    skip = _skip_link(body)
    for child in body.childNodes:
        if type(child) is Text and not child.is_blank():
            tree.report("E0633", "words stand outside the landmarks header, nav, main and footer", body)
        elif isinstance(child, Element) and child.name not in _TOP_LEVEL and child is not skip:
            tree.report("E0633", f"`<{child.name}>` stands outside the landmarks", child)


def _skip_link(body: Element) -> Element | None:
    first = next(body.children, None)
    return first if first is not None and first.name == "a" and first.get("href")[:1] == "#" else None


def _check_skip_link(tree: Tree) -> None:
    body = next(iter(tree.named("body")), None)
    main = next(iter(tree.named("main")), None)
    if body is None or main is None:
        return
    skip = _skip_link(body)
    if skip is None:
        tree.report("E0645", "the page does not begin with a link to its `<main>`", body)
    elif not main.get("id") or skip.get("href") != "#" + main.get("id"):
        tree.report("E0645", "the skip link does not lead to `<main>`", skip)
    elif main.get("tabindex") != "-1":
        tree.report("E0645", '`<main>` needs `tabindex="-1"`, so that the skip link moves the focus', main)


def _check_names(tree: Tree) -> None:
    """Navigations need names; what has a name must not share it with another of its kind."""
    by_id = {element.get("id"): element for element in tree.elements if "id" in element.attributes}
    seen: set[tuple[str, str]] = set()
    for element in tree.elements:
        if element.name not in ("nav", "section") and element.get("role") != "region":
            continue
        labels = [by_id[word].name_text() for word in element.get("aria-labelledby").split() if word in by_id]
        name = " ".join(labels) or element.get("aria-label").strip()
        key = ("nav" if element.name == "nav" else "region", name.casefold())
        if not name:
            if element.name != "section":
                tree.report("E0634", f"this `<{element.name}>` has no `aria-label`", element)
        elif key in seen:
            tree.report("E0634", f"two landmarks have the name `{name}`", element)
        seen.add(key)


def _check_sections(tree: Tree) -> None:
    """A section is named by its heading, except where sections share one: equal names would only confuse."""
    sections = tree.named("section")
    headings = {id(section): _own_heading(section) for section in sections}
    names = Counter(heading.name_text().casefold() for heading in headings.values() if heading is not None)
    for section in sections:
        heading = headings[id(section)]
        if heading is None:
            tree.report("E0635", "this `<section>` has no heading", section)
        elif "aria-labelledby" not in section.attributes and names[heading.name_text().casefold()] == 1:
            tree.report("E0635", "this `<section>` is not named by its heading (`aria-labelledby`)", section)


def _own_heading(section: Element) -> Element | None:
    """The first heading that is not one of a section inside."""
    inner = {id(part) for nested in section.walk() if nested.name == "section" for part in nested.walk()}
    return next((part for part in section.walk() if part.name in HEADINGS and id(part) not in inner), None)


def _check_role_and_focus(tree: Tree, element: Element) -> None:
    role = element.attributes.get("role")
    if role is not None:
        if element.name != "div" or is_group(element):
            tree.report("E0637", f"`<{element.name}>` has its own role and may not be given another", element)
        elif role not in _ROLES:
            tree.report("E0637", f'the role "{role}" is not one that pages use', element)
    tabindex = element.attributes.get("tabindex")
    if tabindex is not None:
        if not re.fullmatch(r"-?\d{1,5}", tabindex, re.ASCII):
            tree.report("E0636", f'`tabindex="{tabindex}"` is not a number', element)
        elif int(tabindex) > 0:
            tree.report("E0636", f'`tabindex="{tabindex}"` changes the order of focus', element)
    if element.get("aria-hidden").lower() == "true" and (
        tabindex is not None or any(inner.name in ("a", "summary") for inner in [element, *element.walk()])
    ):
        tree.report("E0637", "something that takes the focus is hidden from assistive technology", element)


def _check_table_header(tree: Tree, header: Element) -> None:
    if "scope" not in header.attributes:
        tree.report("E0638", "this table header has no `scope`", header)
    if not header.name_text():
        tree.report("E0638", "this table header is empty; an empty cell is a `<td>`", header)
