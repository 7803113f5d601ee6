"""Which elements and attributes a page may have, and what may stand inside what.

The parser accepts much that the HTML standard forbids: a paragraph straight in a list, an `a` in an `a`, an
element that nobody defined. The tables below are the part of the standard that finished pages use; anything
outside them is an error, so forms, scripts, frames and foreign content need no rules of their own.
"""

from __future__ import annotations

from pagecompiler.checks import names
from pagecompiler.checks.tree import Element, Text, Tree

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
VOID = frozenset({"br", "hr", "img", "link", "meta", "wbr"})
DOCUMENT = frozenset({"html", "head", "body", "title", "meta", "link", "style"})
LANDMARKS = frozenset({"header", "main", "footer"})

_PHRASING = names(
    "a abbr b bdi bdo br cite code del em i img ins kbd mark q s samp small span strong sub sup u var wbr"
)
_BLOCK = names("blockquote details div dl figure hr nav ol p pre section table ul") | HEADINGS | LANDMARKS
_FLOW = _PHRASING | _BLOCK

# Element → the children it may have; `a`, `ins` and `del` take what their parent takes.
_CHILDREN: dict[str, frozenset[str]] = {
    "html": frozenset({"head", "body"}),
    "head": frozenset({"title", "meta", "link", "style"}),
    "ul": frozenset({"li"}),
    "ol": frozenset({"li"}),
    "dl": frozenset({"dt", "dd", "div"}),
    "table": frozenset({"caption", "thead", "tbody", "tfoot", "tr"}),
    "thead": frozenset({"tr"}),
    "tbody": frozenset({"tr"}),
    "tfoot": frozenset({"tr"}),
    "tr": frozenset({"th", "td"}),
    "details": _FLOW | {"summary"},
    "figure": _FLOW | {"figcaption"},
    "summary": _PHRASING | HEADINGS,
    "caption": _FLOW - {"table"},
    **dict.fromkeys(("body", "div", "section", "nav", "li", "dd", "td", "blockquote", "figcaption"), _FLOW),
    **dict.fromkeys(("header", "main", "footer", "#fragment"), _FLOW),
    **dict.fromkeys(("dt", "th"), _FLOW - HEADINGS - LANDMARKS - {"section", "nav"}),
    **dict.fromkeys(("p", "pre"), _PHRASING),
    **dict.fromkeys(HEADINGS | (_PHRASING - {"a", "ins", "del"}), _PHRASING),
    **dict.fromkeys(VOID | {"title", "style"}, frozenset()),
}
_TRANSPARENT = frozenset({"a", "ins", "del"})
_PAIR = frozenset({"dt", "dd"})

# Nothing but elements may stand directly in these.
_NO_TEXT = frozenset({"html", "head", "ul", "ol", "dl", "table", "thead", "tbody", "tfoot", "tr"})

# Element → the only parents it may have.
_PARENTS: dict[str, frozenset[str]] = {
    "li": frozenset({"ul", "ol"}),
    "dt": frozenset({"dl", "div"}),
    "dd": frozenset({"dl", "div"}),
    "summary": frozenset({"details"}),
    "figcaption": frozenset({"figure"}),
    **dict.fromkeys(LANDMARKS, frozenset({"body"})),
}

# Element → what may not stand anywhere inside it.
_FORBIDDEN_INSIDE: dict[str, frozenset[str]] = {
    "a": frozenset({"a", "details", "summary"}),
    "summary": frozenset({"a", "details"}),
    "dt": HEADINGS | {"section", "nav"},
    "th": HEADINGS | {"section", "nav"},
    "caption": frozenset({"table"}),
}

ELEMENTS = frozenset(_CHILDREN) - {"#fragment"} | _TRANSPARENT
FRAGMENT_ELEMENTS = ELEMENTS - DOCUMENT - LANDMARKS

_GLOBAL = frozenset({"class", "id", "lang", "dir", "tabindex", "role", "aria-hidden", "aria-describedby"})
_NAMING = frozenset({"aria-label", "aria-labelledby"})
_NAMED = frozenset({"a", "blockquote", "details", "dl", "figure", "footer", "header", "img", "main", "nav"}) | {
    *("ol", "section", "table", "td", "th", "ul")
}
_ATTRIBUTES: dict[str, frozenset[str]] = {
    "a": frozenset({"href", "rel", "title", "aria-current"}),
    "img": frozenset({"src", "alt", "width", "height", "loading", "decoding"}),
    "th": frozenset({"scope"}),
    "details": frozenset({"open"}),
    "ol": frozenset({"start"}),
    "meta": frozenset({"charset", "name", "property", "http-equiv", "content", "media"}),
    "link": frozenset({"rel", "href", "type", "sizes", "media"}),
}
_FRAGMENT_ATTRIBUTES: dict[str, frozenset[str]] = {
    "a": frozenset({"href"}),
    "img": frozenset({"src", "alt", "width", "height", "loading"}),
    "th": frozenset({"scope"}),
    "details": frozenset({"open"}),
    **dict.fromkeys(("tr", "p", "li"), frozenset({"data-each"})),
}
_VALUES: dict[str, frozenset[str]] = {
    "aria-hidden": frozenset({"true", "false"}),
    "aria-current": frozenset({"page", "true"}),
    "dir": frozenset({"ltr", "rtl", "auto"}),
    "decoding": frozenset({"async", "sync", "auto"}),
    "loading": frozenset({"lazy", "eager"}),
    "open": frozenset({"", "open"}),
    "scope": frozenset({"col", "row", "colgroup", "rowgroup"}),
}


def check_elements(tree: Tree, *, fragment: bool) -> None:
    """Reports elements and attributes outside the tables; scripts and handlers have a code of their own."""
    allowed = FRAGMENT_ELEMENTS if fragment else ELEMENTS
    for element in tree.elements:
        name = element.name
        if name not in allowed or element.namespace not in (None, element.nameTuple[0]):
            code = "E0652" if name == "script" else "E0605"
            tree.report(code, f"`<{name}>` is not allowed{' in a fragment' if fragment else ''}", element)
        else:
            _check_attributes(tree, element, fragment)


def _check_attributes(tree: Tree, element: Element, fragment: bool) -> None:
    if fragment:
        allowed = _FRAGMENT_ATTRIBUTES.get(element.name, frozenset()) | {"class"}
    else:
        allowed = _ATTRIBUTES.get(element.name, frozenset()) | _GLOBAL
        if element.name in _NAMED or "role" in element.attributes:
            allowed |= _NAMING
    for name, value in element.attributes.items():
        if name in allowed:
            if name in _VALUES and value.lower() not in _VALUES[name]:
                tree.report("E0606", f'`{name}="{value}"` on `<{element.name}>` has no such value', element)
        elif name == "style":
            tree.report("E0653", f"`<{element.name}>` has a `style` attribute, which the CSP blocks", element)
        elif isinstance(name, str) and name.startswith("on"):
            tree.report("E0652", f"`<{element.name}>` has the event handler `{name}`", element)
        else:
            tree.report("E0606", f"`<{element.name}>` may not have the attribute `{name}`", element)


def check_nesting(tree: Tree) -> None:
    """Reports what stands where the standard does not allow it, and parts that an element must have."""
    for element in tree.elements:
        if element.name not in ELEMENTS:
            continue
        _check_place(tree, element)
        _check_ancestors(tree, element)
        _check_text(tree, element)
        if rule := _RULES.get(element.name):
            rule(tree, element)


def _check_text(tree: Tree, element: Element) -> None:
    strict = element.name in _NO_TEXT or is_group(element)
    if element.name == "figure":
        strict = any(child.name == "figcaption" for child in element.children)
    if strict and any(type(child) is Text and not child.is_blank() for child in element.childNodes):
        tree.report("E0607", f"text may not stand directly in `<{element.name}>`", element)


def _check_place(tree: Tree, element: Element) -> None:
    name, parent = element.name, element.parent
    if parent is None or parent.name == "#document":
        return
    if name in _PARENTS:
        fits = parent.name in _PARENTS[name] and (parent.name != "div" or is_group(parent))
        if not fits:
            places = " or ".join(f"`<{place}>`" for place in sorted(_PARENTS[name]))
            tree.report("E0607", f"`<{name}>` may stand only in {places}, not in `<{parent.name}>`", element)
        return
    while parent.name in _TRANSPARENT and parent.parent is not None:
        parent = parent.parent
    children = _PAIR if is_group(parent) else _CHILDREN.get(parent.name, _FLOW)
    if name not in children:
        tree.report("E0607", f"`<{name}>` may not stand in `<{parent.name}>`", element)


def is_group(element: Element) -> bool:
    """Whether it is a `div` that groups a term with its descriptions."""
    return element.name == "div" and element.parent is not None and element.parent.name == "dl"


def _check_ancestors(tree: Tree, element: Element) -> None:
    for ancestor in element.ancestors():
        inside = _FORBIDDEN_INSIDE.get(ancestor.name, frozenset())
        if element.name in inside or (ancestor.name == "a" and "tabindex" in element.attributes):
            tree.report("E0607", f"`<{element.name}>` may not stand inside `<{ancestor.name}>`", element)
            return


def _check_details(tree: Tree, details: Element) -> None:
    nodes = [child for child in details.childNodes if type(child) is not Text or not child.is_blank()]
    names = [child.name for child in nodes if isinstance(child, Element)]
    if not nodes or not isinstance(nodes[0], Element) or nodes[0].name != "summary":
        tree.report("E0608", "`<details>` must begin with a `<summary>`", details)
    elif names.count("summary") > 1:
        tree.report("E0608", "`<details>` has more than one `<summary>`", details)


def _check_figure(tree: Tree, figure: Element) -> None:
    children = [child.name for child in figure.children]
    if children.count("figcaption") > 1:
        tree.report("E0608", "`<figure>` has more than one `<figcaption>`", figure)
    elif "figcaption" in children[1:-1]:
        tree.report("E0607", "`<figcaption>` must be the first or the last element of its `<figure>`", figure)


def _check_definitions(tree: Tree, dl: Element) -> None:
    children = list(dl.children)
    groups = [child for child in children if child.name == "div"]
    if groups and len(groups) != len(children):
        tree.report("E0607", "`<dl>` mixes `<div>` groups with `<dt>` and `<dd>`", dl)
        return
    for group in groups or [dl]:
        names = "".join("t" if child.name == "dt" else "d" for child in group.children if child.name in _PAIR)
        runs = "".join(name for at, name in enumerate(names) if names[at - 1 : at] != name)
        if runs.replace("td", "") or (group is not dl and runs != "td"):
            tree.report("E0608", "each group of a `<dl>` needs a `<dt>` followed by a `<dd>`", group)


_ORDER = ("caption", "thead", "tbody", "tfoot")


def _check_table(tree: Tree, table: Element) -> None:
    names = ["tbody" if child.name == "tr" else child.name for child in table.children]
    parts = [_ORDER.index(name) for name in names if name in _ORDER]
    if parts != sorted(parts) or any(names.count(name) > 1 for name in ("caption", "thead", "tfoot")):
        tree.report("E0607", "a `<table>` has at most one caption, head and foot: caption, head, bodies, foot", table)
    rows = [row for row in table.walk() if row.name == "tr"]
    widths = [sum(cell.name in ("td", "th") for cell in row.children) for row in rows]
    for row, width in zip(rows, widths, strict=True):
        if width != widths[0] or not width:
            tree.report("E0608", f"this table row has {width} cells, the first row has {widths[0]}", row)
            return


_RULES = {
    "details": _check_details,
    "figure": _check_figure,
    "dl": _check_definitions,
    "table": _check_table,
}
