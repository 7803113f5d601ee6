"""Findings of the parser, in plain words; and characters and left-overs in the raw text."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import Any

from html5lib.constants import E as PARSER_MESSAGES

from pagecompiler.checks import names
from pagecompiler.checks.tree import Comment, Element, Tree
from pagecompiler.values import starts_combining

MAX_PARSER_ERRORS = 20

# Like the HTML standard: controls other than white space, noncharacters, lone surrogates.
_NOT_TEXT = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    + "".join(chr(plane << 16 | low) for plane in range(1, 17) for low in (0xFFFE, 0xFFFF))
    + "]"
)
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
_FENCE = re.compile(r"`{3,}|~{3,}")
_THINK = re.compile(r"</?think(?:ing)?\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"\blorem ipsum\b"
    r"|(?:\.\.\.|…)\s*(?:the\s+)?(?:rest|remaining|remainder)\b[^.<>]{0,60}\bhere\b"
    r"|\b(?:rest of (?:the )?|existing |keep |your )(?:\w+ ){0,3}(?:code|content|section|page|text)s?"
    r" (?:goes )?here\b",
    re.IGNORECASE,
)
_REST_COMMENT = re.compile(r"\.\.\.|…|\b(?:rest|remaining|existing|todo|omitted|continue|same as)\b", re.IGNORECASE)
_REFERENCE = re.compile(r"&[A-Za-z0-9]+;")
_BRACES = re.compile(r"\{\{\d{1,6}\}\}|\{\{|\}\}")

_STRUCTURE = names(
    "unexpected-doctype non-html-root two-heads-are-not-better-than-one unexpected-char-after-body "
    "unexpected-start-tag-after-body unexpected-start-tag-out-of-my-head unknown-doctype XXX-undefined-error"
)
_OWN_WORDS = {
    "too-deep": "the elements are nested more than 100 deep",
    "text-in-table": "text stands in a table outside its cells",
    "XXX-undefined-error": "`</body>` or `</html>` stands inside the content",
    "gave-up": "the markup is too broken to be read",
    "expected-closing-tag-but-got-eof": "the end is reached while an element is still open",
    "non-html-root": "`<html>` stands inside the document",
}


def check_parser_errors(tree: Tree) -> None:
    """One finding for each error of the parser, the first twenty; characters have a rule of their own."""
    errors = [error for error in tree.errors if not _is_harmless(tree, *error[:2])]
    for position, name, values in errors[:MAX_PARSER_ERRORS]:
        tree.report(_code(name), _words(name, values), tree.span_at(position))


def _is_harmless(tree: Tree, position: tuple[int, int], name: str) -> bool:
    if name == "expected-named-entity":
        # A lone ampersand is fine in HTML unless it looks like a reference; the parser makes no difference.
        end = tree.offset(position)
        return not _REFERENCE.match(tree.source, max(tree.source.rfind("&", 0, end), 0))
    return name in ("invalid-codepoint", "null-character")


def check_void_slashes(tree: Tree) -> None:
    """A slash that closes a void element means nothing in HTML; the Nu Html Checker remarks on it."""
    for element in tree.elements:
        if element.closed_itself:
            tree.report("E0601", f"the slash at the end of `<{element.name}>` has no effect", element)
            return


def _code(name: str) -> str:
    if name == "too-deep":
        return "E0609"
    if name.startswith(("expected-doctype", "expected-eof")) or name in _STRUCTURE:
        return "E0604"
    if "eof" in name:
        return "E0602"
    return "E0603" if "end-tag" in name or name.startswith("adoption-agency") else "E0601"


def _words(name: str, values: dict[str, Any]) -> str:
    if name in _OWN_WORDS:
        return _OWN_WORDS[name]
    if name == "unexpected-end-tag":
        # The parser says the same of a `</p>` whose paragraph a block has closed, the most common case.
        return f"`</{values.get('name')}>` closes nothing: its element is not open, or another one closed it"
    try:
        message = PARSER_MESSAGES.get(name, name) % values
    except (KeyError, TypeError, ValueError):
        message = PARSER_MESSAGES.get(name, name)
    return "markup: " + message[:1].lower() + message[1:].rstrip(".")


def check_characters(tree: Tree) -> None:
    """Characters that no page may have, and those that make text compare or display unreliably."""
    for found in islice(_NOT_TEXT.finditer(tree.source), MAX_PARSER_ERRORS):
        span = tree.span_of(found.start(), found.end())
        tree.report("E0660", f"the character U+{ord(found[0]):04X} may not stand in a page", span)
    if tree.source.isascii():
        return
    if match := _PRIVATE.search(tree.source):
        span = tree.span_of(*match.span())
        tree.report("W0661", f"the private-use character U+{ord(match[0]):04X} has no agreed meaning", span)
    if not unicodedata.is_normalized("NFC", tree.source):
        tree.report("W0661", "the text is not in Unicode normalisation form C")
    for text in tree.root.texts():
        if starts_combining(text.value):
            tree.report("W0661", "a text begins with a combining mark", text.parent)


def check_fragment_leftovers(tree: Tree) -> None:
    """What a model leaves besides the markup: fences, thoughts, broken slots, placeholders, words outside."""
    for braces in _BRACES.finditer(tree.source):
        if len(braces[0]) == 2:
            tree.report("E0662", f"`{braces[0]}` belongs to no slot", tree.span_of(*braces.span()))
    for pattern, what in ((_FENCE, "a code fence"), (_THINK, "a think tag")):
        if match := pattern.search(tree.source):
            tree.report("E0663", f"the model left {what}", tree.span_of(*match.span()))
    if match := _PLACEHOLDER.search(tree.source):
        tree.report("E0663", f"the model left a placeholder: {match[0]!r}", tree.span_of(match.start(), match.end()))
    elif any(_REST_COMMENT.search(comment.value) for comment in _comments(tree.root)):
        tree.report("E0663", "the model left a comment in the place of content")
    for node in tree.root.childNodes:
        if not isinstance(node, (Element, Comment)) and not node.is_blank():
            tree.report("E0663", "the model left words outside the block's element")
            break


def check_page_leftovers(tree: Tree) -> None:
    """The same for a page, as warnings, since a spec may contain such words; comments are never a spec's."""
    if any(True for _ in _comments(tree.root)):
        tree.report("E0664", "the page has a comment")
    for text in tree.root.texts():
        value = text.value
        if "`" not in value and "~" not in value and "<" not in value and not _PLACEHOLDER.search(value):
            continue
        around = [text.parent, *text.parent.ancestors()] if text.parent else []
        if any(element.name in ("pre", "code", "style") for element in around):
            continue
        for pattern in (_FENCE, _THINK, _PLACEHOLDER):
            if match := pattern.search(value):
                tree.report("W0665", f"{match[0]!r} looks left over from a model", text.parent)


def _comments(root: Element) -> list[Comment]:
    everywhere = [root, *root.walk()]
    return [node for element in everywhere for node in element.childNodes if isinstance(node, Comment)]
