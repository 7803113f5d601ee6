"""Inline Markdown of a spec's texts: emphasis, code, links and backslash escapes, nothing else.

Text that is none of these stays exactly as typed; HTML is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from cachetools import LRUCache, cached

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

REMEMBERED_BYTES = 20_000_000
"""Of rendered texts. One paragraph may fill a spec of 1 MiB: its nodes just fit."""

_NODE_BYTES = 80
# Without one of these no rule can match, and the parser need not be imported.
_MARKS = re.compile(r"[*_`\[\\]")


@dataclass(frozen=True, slots=True)
class InlineText:
    text: str


@dataclass(frozen=True, slots=True)
class InlineElement:
    """`href` is set for `a` only, as typed and unchecked. `code` holds one InlineText."""

    tag: Literal["em", "strong", "code", "a"]
    href: str | None
    children: tuple[InlineNode, ...]
    title: str | None = None


InlineNode = InlineText | InlineElement


def render_inline(text: str) -> tuple[InlineNode, ...]:
    """The nodes of a text.

    >>> render_inline("a *b*")
    (InlineText(text='a '), InlineElement(tag='em', href=None, children=(InlineText(text='b'),), title=None))
    """
    if not _MARKS.search(text):
        return (InlineText(text),) if text else ()
    return _render(text)


def _weight(nodes: Sequence[InlineNode]) -> int:
    """About the bytes that nodes take. Their text counts twice: what they were made from is kept beside them."""
    return sum(
        _NODE_BYTES + (2 * len(node.text) if isinstance(node, InlineText) else _weight(node.children)) for node in nodes
    )


@cached(LRUCache[Any, tuple[InlineNode, ...]](REMEMBERED_BYTES, getsizeof=_weight), lock=Lock())
def _render(text: str) -> tuple[InlineNode, ...]:
    return _joined(_nodes(iter(parse_inline(text))))


def parse_inline(text: str) -> Sequence[Token]:
    """The tokens of markdown-it. `render_inline` is easier to use."""
    return _parser().parseInline(text)[0].children or []


def plain_text(text: str) -> str:
    """What a reader sees: the text without its marks.

    >>> plain_text("one **two** [three](/x)")
    'one two three'
    """
    if not _MARKS.search(text):
        return text
    return words(render_inline(text))


def words(nodes: Sequence[InlineNode]) -> str:
    """The text of nodes, without their elements."""
    return "".join(_words(nodes))


def links(text: str) -> Iterator[InlineElement]:
    """The links of a text, in order."""
    if "[" not in text:
        return
    stack = list(reversed(render_inline(text)))
    while stack:
        node = stack.pop()
        if isinstance(node, InlineElement):
            if node.tag == "a":
                yield node
            stack.extend(reversed(node.children))


def text_runs(text: str) -> Iterator[str]:
    """The texts between tags, in order: what stands in one text node of the page."""
    yield from _words(render_inline(text))


def _words(nodes: Sequence[InlineNode]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, InlineText):
            yield node.text
        else:
            yield from _words(node.children)


def _nodes(tokens: Iterator[Token]) -> Iterator[InlineNode]:
    """Nodes up to the closing token of the element that is open."""
    for token in tokens:
        if token.nesting < 0:
            return
        if token.nesting > 0:
            children = _joined(_nodes(tokens))
            if token.tag == "a":
                title = token.attrs.get("title")
                yield InlineElement("a", str(token.attrs["href"]), children, None if title is None else str(title))
            else:
                yield InlineElement("strong" if token.tag == "strong" else "em", None, children)
        elif token.type == "code_inline":
            yield InlineElement("code", None, (InlineText(token.content),))
        elif token.type in ("hardbreak", "softbreak"):
            yield InlineText("\n")
        elif token.content:
            yield InlineText(token.content)


def _joined(nodes: Iterator[InlineNode]) -> tuple[InlineNode, ...]:
    """Neighbouring texts are one text."""
    result: list[InlineNode] = []
    for node in nodes:
        last = result[-1] if result else None
        if isinstance(node, InlineText) and isinstance(last, InlineText):
            result[-1] = InlineText(last.text + node.text)
        else:
            result.append(node)
    return tuple(result)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"maxNesting": 20}).enable(["emphasis", "backticks", "link", "escape"])
    # The library drops links that it thinks unsafe and rewrites the others: the address stays as typed
    # here, and hrefs.check says what is wrong with it.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser
