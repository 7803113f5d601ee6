"""A parsed page with the parser's own errors and the place of every element.

BeautifulSoup on html5lib builds the same tree, but it drops the parser's error list, which is half of what
validation is about, and records where a tag ends rather than where it begins.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from html5lib import HTMLParser
from html5lib.constants import tableInsertModeElements
from html5lib.treebuilders import base

from pagecompiler.diagnostics import Diagnostic, Span, diagnostic

HTML_NAMESPACE = "http://www.w3.org/1999/xhtml"
MAX_DEPTH = 100
WHITE_SPACE = " \t\n\f\r"
"""What HTML calls white space; a no-break space is text."""


class Text:
    """A run of text in the tree."""

    __slots__ = ("parent", "value")

    def __init__(self, value: str) -> None:
        self.parent: Element | None = None
        self.value = value

    def is_blank(self) -> bool:
        """Whether it is only white space between elements."""
        return not self.value.strip(WHITE_SPACE)


class Comment(Text):
    """A comment; `value` is what stands between its dashes."""

    __slots__ = ()

    # html5lib asks these of whatever it appends.
    name = "#comment"


class Element(base.Node):
    """An element; `end` is the line and column behind its start tag, None for an implied one."""

    def __init__(self, name: str, namespace: str | None = None) -> None:
        self.name = name
        self.namespace = namespace
        self.nameTuple = (namespace or HTML_NAMESPACE, name)
        self.parent: Element | None = None
        self.attributes: dict[Any, str] = {}
        self.childNodes: list[Element | Text] = []
        self._flags: list[Any] = []
        self.value = None
        self.end: tuple[int, int] | None = None
        self.closed_itself = False

    # What html5lib's tree builder calls.

    def appendChild(self, node: Any) -> None:  # noqa: N802
        self.childNodes.append(node)
        node.parent = self

    def insertText(self, data: str, insertBefore: Any = None) -> None:  # noqa: N802, N803
        at = len(self.childNodes) if insertBefore is None else self.childNodes.index(insertBefore)
        before = self.childNodes[at - 1] if at else None
        if type(before) is Text:
            before.value += data
        else:
            text = Text(data)
            text.parent = self
            self.childNodes.insert(at, text)

    def insertBefore(self, node: Any, refNode: Any) -> None:  # noqa: N802, N803
        self.childNodes.insert(self.childNodes.index(refNode), node)
        node.parent = self

    def removeChild(self, node: Any) -> None:  # noqa: N802
        self.childNodes.remove(node)
        node.parent = None

    def cloneNode(self) -> Element:  # type: ignore[override]  # noqa: N802
        clone = Element(self.name, self.namespace)
        clone.attributes = dict(self.attributes)
        clone.end = self.end
        return clone

    def hasContent(self) -> bool:  # type: ignore[override]  # noqa: N802
        return bool(self.childNodes)

    # What the checks call.

    @property
    def children(self) -> Iterator[Element]:
        """The child elements."""
        return (child for child in self.childNodes if isinstance(child, Element))

    def get(self, name: str, default: str = "") -> str:
        """The value of an attribute."""
        return self.attributes.get(name, default)

    def walk(self) -> Iterator[Element]:
        """The descendants in document order, without the element itself."""
        pending = list(self.children)[::-1]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(list(element.children)[::-1])

    def texts(self) -> Iterator[Text]:
        """The runs of text inside, in document order; comments are none."""
        pending: list[Element | Text] = self.childNodes[::-1]
        while pending:
            node = pending.pop()
            if isinstance(node, Element):
                pending.extend(node.childNodes[::-1])
            elif type(node) is Text:
                yield node

    def text(self) -> str:
        """All text inside, with runs of white space as one space."""
        return " ".join("".join(text.value for text in self.texts()).split())

    def name_text(self) -> str:
        """What assistive technology reads for the element: its text and the alt texts inside."""
        alts = [image.get("alt") for image in self.walk() if image.name == "img"]
        return " ".join([self.text(), *alts]).strip()

    def ancestors(self) -> Iterator[Element]:
        """The elements around it, the nearest first."""
        parent = self.parent
        while parent is not None:
            yield parent
            parent = parent.parent


class _Doctype:
    parent: Element | None = None

    def __init__(self, name: str, public_id: str, system_id: str) -> None:
        self.name = name


class _TooDeepError(Exception):
    pass


class _TreeBuilder(base.TreeBuilder):
    documentClass = staticmethod(lambda: Element("#document"))  # noqa: N815
    fragmentClass = staticmethod(lambda: Element("#fragment"))  # noqa: N815
    elementClass = Element  # noqa: N815
    commentClass = Comment  # noqa: N815
    doctypeClass = _Doctype  # noqa: N815
    parser: Any = None

    def createElement(self, token: Any) -> Any:  # noqa: N802
        return self._placed(super().createElement(token), token)  # type: ignore[no-untyped-call]

    def insertElementNormal(self, token: Any) -> Any:  # noqa: N802
        # Deep nesting makes each further tag slow, so a bound on the depth bounds the time.
        if len(self.openElements) > MAX_DEPTH:
            raise _TooDeepError
        return self._placed(super().insertElementNormal(token), token)  # type: ignore[no-untyped-call]

    def _placed(self, element: Any, token: Any) -> Any:
        # An implied tag has no position of its own; neither has the copy of a formatting element.
        if "selfClosingAcknowledged" in token:
            element.end = self.parser.tokenizer.stream.position()
            element.closed_itself = token["selfClosing"]
        return element

    def insertText(self, data: Any, parent: Any = None) -> None:  # noqa: N802
        if self.insertFromTable and data.strip(WHITE_SPACE) and self.openElements[-1].name in tableInsertModeElements:
            # The standard calls this an error, the parser moves the text before the table without a word.
            self.parser.parseError("text-in-table")
        super().insertText(data, parent)


class _Parser(HTMLParser):
    def reset(self) -> None:
        self.tree.parser = self
        super().reset()


@dataclass
class Tree:
    """A parsed page or fragment. `root` holds the top elements; `errors` are the parser's, in order."""

    source: str
    root: Element
    errors: list[tuple[tuple[int, int], str, dict[str, Any]]]
    elements: list[Element] = field(init=False)
    found: list[Diagnostic] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.elements = list(self.root.walk())
        self._lines = [0, *(match.end() for match in re.finditer("\n", self.source))]

    def named(self, *names: str) -> list[Element]:
        """The elements of these names in document order."""
        return [element for element in self.elements if element.name in names]

    def report(self, code: str, message: str, at: Element | Span | None = None, *, hint: str = "") -> None:
        """Adds one finding at an element or a span."""
        span = self.span(at) if isinstance(at, Element) else at
        self.found.append(diagnostic(code, message, span=span, hint=hint))

    def span(self, element: Element) -> Span | None:
        """Where the start tag of an element stands; None for an implied one."""
        if element.end is None:
            return None
        end = self.offset(element.end)
        start = end
        while (start := self.source.rfind("<", 0, start)) > 0:
            if self.source[start + 1 : start + 1 + len(element.name)].lower() == element.name:
                break
        return self.span_of(max(start, 0), end)

    def source_before(self, element: Element) -> str:
        """The source up to the end of an element's start tag."""
        return self.source[: self.offset(element.end)] if element.end else ""

    def span_at(self, position: tuple[int, int]) -> Span:
        """The span of the one character that the parser read last."""
        end = self.offset(position)
        return self.span_of(max(end - 1, 0), max(end, 1))

    def span_of(self, start: int, end: int) -> Span:
        """The span of a range of offsets in `source`."""
        first = bisect_right(self._lines, start)
        last = bisect_right(self._lines, end)
        return Span(first, start - self._lines[first - 1] + 1, last, end - self._lines[last - 1] + 1)

    def offset(self, position: tuple[int, int]) -> int:
        """The offset in `source` of a line and column as the parser counts them."""
        line, column = position
        return min(self._lines[min(line, len(self._lines)) - 1] + column, len(self.source))


def parse(html: str, *, fragment: bool) -> Tree:
    """Parses as a browser does. Never raises: where the parser gives up, there is an error and no element."""
    source = html.replace("\r\n", "\n").replace("\r", "\n")
    parser = _Parser(tree=_TreeBuilder)
    try:
        root = parser.parseFragment(source, container="div") if fragment else parser.parse(source)
    except _TooDeepError:
        position = parser.tokenizer.stream.position()
        return Tree(source, Element("#document"), [*parser.errors, (position, "too-deep", {})])
    except Exception:  # html5lib has asserts that some malformed markup breaks
        position = parser.tokenizer.stream.position()
        return Tree(source, Element("#document"), [*parser.errors, (position, "gave-up", {})])
    return Tree(source, root, list(parser.errors))
