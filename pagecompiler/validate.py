"""Validation of fragments and finished pages: markup, content model, links, accessibility, safety.

What the Nu Html Checker or axe would report, this reports, and a dozen kinds of damage that both let pass;
colour contrast is computed where colours are made. Nothing here knows of models, plans or specs.
"""

from __future__ import annotations

from functools import lru_cache

from pagecompiler.checks.head import check_head
from pagecompiler.checks.links import check_links
from pagecompiler.checks.markup import (
    check_characters,
    check_fragment_leftovers,
    check_page_leftovers,
    check_parser_errors,
    check_void_slashes,
)
from pagecompiler.checks.outline import check_outline
from pagecompiler.checks.tree import Tree, parse
from pagecompiler.content_model import check_elements, check_nesting
from pagecompiler.diagnostics import Diagnostic, Span, diagnostic

MAX_FRAGMENT_CHARACTERS = 100_000
"""Longer fragments are refused unread; the longest legal block has about a tenth of it."""

REMEMBERED_FRAGMENTS = 512
"""A page has a dozen, and most have a few thousand characters."""


def validate_page(html: str, *, language: str | None = None) -> tuple[Diagnostic, ...]:
    """Every finding about a finished page, in order of line and column; none for a page as it should be.

    `language` is the BCP 47 tag that the page must have. Spans count in the page; a finding about the page as
    a whole has none. Never raises, whatever the text.

    >>> [d.code for d in validate_page("<!DOCTYPE html><title>Hi</title>", language="en")][:2]
    ['E0640', 'E0642']
    """
    tree = parse(html, fragment=False)
    check_parser_errors(tree)
    check_characters(tree)
    check_elements(tree, fragment=False)
    check_nesting(tree)
    check_page_leftovers(tree)
    check_void_slashes(tree)
    if tree.elements:
        check_head(tree, language)
        check_links(tree)
        check_outline(tree)
    return _in_order(tree)


@lru_cache(REMEMBERED_FRAGMENTS)
def validate_fragment(html: str) -> tuple[Diagnostic, ...]:
    """Every finding about one block as a model wrote it, slots and all; spans count in the fragment.

    The last ones are remembered: of the fragments of a page that is built again few are new.
    Take it before anything repairs the markup. Ids, alt texts and landmarks are added later and are not
    missed here. Never raises, whatever the text.

    >>> [d.code for d in validate_fragment('<section><ul><p>{{1}}</p></ul></section>')]
    ['E0607']
    """
    if len(html) > MAX_FRAGMENT_CHARACTERS:
        message = f"the fragment has more than {MAX_FRAGMENT_CHARACTERS} characters"
        return (diagnostic("E0609", message),)
    tree = parse(html, fragment=True)
    check_parser_errors(tree)
    check_characters(tree)
    check_elements(tree, fragment=True)
    check_nesting(tree)
    check_fragment_leftovers(tree)
    return _in_order(tree)


def _in_order(tree: Tree) -> tuple[Diagnostic, ...]:
    nowhere = Span(0, 0, 0, 0)
    return tuple(sorted(tree.found, key=lambda found: ((found.span or nowhere).line, (found.span or nowhere).column)))
