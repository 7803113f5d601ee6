"""The style of a page: what a model's style fragment may say, and the stylesheet it becomes a part of.

A fragment sets documented custom properties on `:root` and writes rules on the classes of the markup vocabulary:

    :root {
    --scale: 1.3;
    }
    .cards li {
    background: var(--tinted);
    }

Everything that is not in the tables below is an error, so nothing can be hidden, moved away, loaded or made unreadable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from pagecompiler.checks import names
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.palette import TINT_MAX, Palettes, declarations, palettes
from pagecompiler.resources import template_dir
from pagecompiler.templating import read_template, template_error

if TYPE_CHECKING:
    from pagecompiler.spec import LoadedSpec

MAX_RULES = 40
MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Grammar:
    """The values of one property: words (`var(--sans)` counts as one) and numbers by unit, up to `most` in a row.

    >>> str(Grammar(frozenset({"start", "center"})))
    'center or start'
    """

    words: frozenset[str] = frozenset()
    numbers: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    most: int = 1

    def __str__(self) -> str:
        ranges = [f"{low:g}{unit} to {high:g}{unit}" for unit, (low, high) in self.numbers.items()]
        return " or ".join([*sorted(self.words), *ranges])


def _words(text: str) -> Grammar:
    return Grammar(frozenset(text.split()))


def _number(low: float, high: float, unit: str = "") -> Grammar:
    return Grammar(numbers={unit: (low, high)})


def _length(high: float, most: int = 1) -> Grammar:
    """Nothing to `high` rem; zero needs no unit."""
    return Grammar(numbers={"rem": (0, high), "": (0, 0)}, most=most)


_FONTS = _words("var(--sans) var(--serif) var(--mono)")
_WEIGHT = _number(300, 900)
_TRACKING = _number(-0.05, 0.1, "em")

STYLE_PROPERTIES: dict[str, Grammar] = {
    "--heading-font": _FONTS,
    "--body-font": _FONTS,
    "--heading-weight": _WEIGHT,
    "--heading-tracking": _TRACKING,
    "--scale": _number(1.1, 1.4),
    "--leading": _number(1.35, 1.9),
    "--measure": _number(45, 80, "ch"),
    "--space": _number(0.6, 1.8),
    "--radius": _number(0, 2, "rem"),
    "--button-radius": _number(0, 4, "rem"),
    "--line": _number(0, 4, "px"),
    "--lift": _number(0, 1),
    "--tint": _number(0, 100 * TINT_MAX, "%"),
    "--align": _words("start center"),
}
"""The custom properties of `:root`. `--scale` is the ratio of type sizes, `--space` a factor of all distances."""

_TEXT_COLOURS = _words("var(--text) var(--muted) var(--link)")
_GROUNDS = _words("var(--background) var(--surface) var(--tinted) none transparent")
_LINES = _words("var(--border) var(--outline) var(--accent) var(--link) var(--text)")

DECLARATIONS: dict[str, Grammar] = {
    "background": _GROUNDS,
    "background-color": Grammar(_GROUNDS.words - {"none"}),
    "border-color": _LINES,
    "border-radius": Grammar(_words("var(--radius) var(--button-radius)").words, {"rem": (0, 3), "": (0, 0)}),
    "border-style": _words("none solid dashed dotted double"),
    "border-width": Grammar(numbers={"px": (0, 6), "": (0, 0)}, most=4),
    "box-shadow": _words("none var(--shadow-card)"),
    "color": _TEXT_COLOURS,
    "column-gap": _length(6),
    "font-family": _FONTS,
    "font-size": Grammar(numbers={"rem": (0.875, 4)}),
    "font-style": _words("normal italic"),
    "font-weight": Grammar(frozenset({"normal", "bold"}), {"": (300, 900)}),
    "gap": _length(6, most=2),
    "letter-spacing": Grammar(frozenset({"normal"}), _TRACKING.numbers),
    "line-height": _number(1, 2),
    "margin-block-end": _length(6),
    "margin-block-start": _length(6),
    "max-inline-size": Grammar(frozenset({"none"}), {"ch": (30, 90), "rem": (16, 90)}),
    "padding": _length(4, most=4),
    "padding-block": _length(8, most=2),
    "padding-inline": _length(4, most=2),
    "row-gap": _length(6),
    "text-align": _words("start center end"),
    "text-wrap": _words("wrap balance pretty"),
}
"""What a rule may declare, on `SELECTORS` only. Colours are those whose contrast was computed for every ground."""

KINDS = names("hero features steps prose stats quotes faq pricing table chart schedule people code figure cta")
SELECTORS = KINDS | names(
    "nav brand links footer split center wide copy lead intro actions button quiet cards rows ticks flow path text "
    "figures small voices columns quote large by role questions plans price points price-list scroll plot bars label "
    "value bar sessions time portraits roster listing beside"
)
"""The classes of the vocabulary. A selector is one or two of them, or a class and an element of `ELEMENTS`."""

ELEMENTS = names(
    "a blockquote caption code dd details div dt figcaption figure h1 h2 h3 img li ol p pre summary table tbody td th "
    "thead tr ul"
)

_COLOURS = frozenset({"background", "background-color", "border-color", "color"})
# These have grounds of their own: no other colour was computed for them, or a filled shape would be lost.
_OWN_COLOURS = names(".cta .actions .button .quiet .bar a code pre")
# Their inline padding is the gutter of the page.
_FULL_WIDTH = frozenset(f".{kind}" for kind in KINDS | {"nav", "footer"})
_GUTTERED = frozenset({"padding", "padding-inline", "max-inline-size"})


@dataclass(frozen=True, slots=True)
class StyleProblem:
    """Something a style fragment must not say; line and column count from 1 in the fragment."""

    code: str
    message: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class StyleResult:
    """`css` is the fragment written anew in one form, without what was wrong; use it if there are no problems."""

    css: str
    problems: tuple[StyleProblem, ...]


def check_style(css: str) -> StyleResult:
    """Check a style fragment against the tables. Never raises; `check_style(result.css)` has no problems."""
    import tinycss2  # type: ignore[import-untyped]  # slow to import

    checker = _Checker()
    checker.check_text(css)
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    for number, rule in enumerate(rules):
        if number == MAX_RULES:
            checker.problem("E0515", f"more than {MAX_RULES} rules", rule)
            break
        checker.check_rule(rule)
    return StyleResult("\n".join(checker.written()), tuple(checker.problems[:MAX_PROBLEMS]))


class _Checker:
    def __init__(self) -> None:
        self.problems: list[StyleProblem] = []
        self._root: dict[str, str] = {}
        self._rules: list[tuple[str, dict[str, str]]] = []

    def written(self) -> Iterator[str]:
        root = [(":root", self._root)] if self._root else []
        for selector, values in [*root, *self._rules]:
            yield f"{selector} {{"
            yield from (f"  {name}: {value};" for name, value in values.items())
            yield "}"

    def problem(self, code: str, message: str, node: Any) -> None:
        self.problems.append(StyleProblem(code, message, node.source_line, node.source_column))

    def check_text(self, css: str) -> None:
        """What a CSS parser mends in silence: comments, brackets and strings that are not closed."""
        closing: list[str] = []
        pairs = {"{": "}", "(": ")", "[": "]"}
        line, start = 1, 0
        for position, character in enumerate(css):
            place = (line, position - start + 1)
            if character == "\n":
                line, start = line + 1, position + 1
            elif character in pairs:
                closing.append(pairs[character])
            elif character in "})]":
                if not closing or closing.pop() != character:
                    self.problems.append(StyleProblem("E0510", f"`{character}` closes nothing", *place))
                    return
            elif character in "<\\\"'" or css.startswith("/*", position):
                shown = "a comment" if character == "/" else f"`{character}`"
                self.problems.append(StyleProblem("E0510", f"{shown} has no place in a style", *place))
                return
        if closing:
            message = f"the style ends before `{closing[-1]}`"
            self.problems.append(StyleProblem("E0510", message, line, len(css) - start + 1))

    def check_rule(self, rule: Any) -> None:
        if rule.type == "at-rule":
            self.problem("E0511", f"`@{rule.at_keyword[:30]}` has no place in a style", rule)
        elif rule.type != "qualified-rule":
            self.problem("E0510", f"not CSS: {_shown(rule)}", rule)
        elif [token.value for token in _solid(rule.prelude) if token.type in ("literal", "ident")] == [":", "root"]:
            self._read(rule, STYLE_PROPERTIES, self._root, frozenset())
        else:
            self._check_selectors(rule)

    def _check_selectors(self, rule: Any) -> None:
        selectors = []
        for tokens in _split(rule.prelude, ","):
            selector = _selector(tokens)
            if selector is None:
                text = "".join(token.serialize() for token in tokens).strip()
                self.problem("E0512", f"no selector of the vocabulary: {text[:60]!r}", rule)
                return
            selectors.append(selector)
        values: dict[str, str] = {}
        reserved: frozenset[str] = frozenset().union(*(_reserved(selector) for selector in selectors))
        self._read(rule, DECLARATIONS, values, reserved)
        if values:
            self._rules.append((", ".join(dict.fromkeys(selectors)), values))

    def _read(self, rule: Any, table: Mapping[str, Grammar], values: dict[str, str], reserved: frozenset[str]) -> None:
        """Put the good declarations of a rule into `values`; `reserved` names are not for it."""
        import tinycss2

        for item in tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True):
            if item.type != "declaration":
                self.problem("E0510", f"not a declaration: {_shown(item)}", item)
                continue
            name = item.name if item.name.startswith("--") else item.lower_name
            if name not in table:
                self.problem("E0513", f"`{name[:40]}` is not a property that a style may set here", item)
            elif name in values:
                self.problem("E0513", f"`{name}` is set twice", item)
            elif item.important:
                self.problem("E0514", "`!important` has no place in a style", item)
            elif name in reserved:
                self.problem("E0513", f"`{name}` belongs to the base stylesheet here", item)
            else:
                value = _value(item.value, table[name])
                if value is None:
                    shown = "".join(token.serialize() for token in item.value).strip()[:40]
                    self.problem("E0514", f"`{name}` takes {table[name]}, not {shown!r}", item)
                else:
                    values[name] = value


def palette_css(loaded: LoadedSpec) -> tuple[str, tuple[Diagnostic, ...]]:
    """The palette of a spec's theme as CSS, and what is wrong with its colours."""
    made = palettes(loaded.page.theme)
    findings = tuple(loaded.diagnostic(p.code, p.message, ("theme", p.key)) for p in made.problems)
    return palette_rules(made, loaded.page.theme.mode), findings


def palette_rules(made: Palettes, mode: str) -> str:
    """Palettes as CSS: the main one, the dark one where the reader prefers it, and a light one on paper."""
    scheme = {"auto": "light dark"}.get(mode, mode)
    rules = [":root {", f"  color-scheme: {scheme};", *_indented(declarations(made.main), 1), "}"]
    if made.dark is not None:
        media = "@media screen and (prefers-color-scheme: dark)"
        rules += [f"{media} {{", "  :root {", *_indented(declarations(made.dark), 2), "  }", "}"]
    paper = ["color-scheme: light;", *declarations(made.paper)]
    rules += ["@media print {", "  :root {", *_indented(paper, 2), "  }", "}"]
    return "\n".join(rules)


def page_css(palette: str, fragment: str, extra_rules: Sequence[str]) -> str:
    """The one stylesheet of a page: palette, base, checked fragment, extra rules. Equal inputs give equal text.

    Raises ValueError if any part could end the style element, and CompileError when it is the base stylesheet.
    """
    css = "\n".join([palette, base_css(), *([fragment] if fragment else []), *extra_rules]) + "\n"
    if _has_markup(css):
        raise ValueError("a stylesheet must not contain markup")
    return css


def _has_markup(css: str) -> bool:
    return "</" in css or "<!--" in css


def base_css() -> str:
    """The base stylesheet without its comments and empty lines. Raises CompileError when it cannot be used."""
    path = template_dir() / "base.css"
    css = _stripped(read_template(path))
    if _has_markup(css):
        raise template_error(path, "a stylesheet must not contain markup")
    return css


@cache
def _stripped(css: str) -> str:
    """Without comments and empty lines. The base stylesheet has no comment marks inside strings."""
    pieces = css.split("/*")
    text = pieces[0] + "".join(piece.partition("*/")[2] for piece in pieces[1:])
    return "\n".join(line for line in text.splitlines() if line.strip())


def _indented(lines: Sequence[str], depth: int) -> list[str]:
    return ["  " * depth + line for line in lines]


def _shown(node: Any) -> str:
    message: str = getattr(node, "message", "") or node.type
    return message[:60]


def _solid(tokens: Sequence[Any]) -> list[Any]:
    return [token for token in tokens if token.type not in ("whitespace", "comment")]


def _split(tokens: Sequence[Any], mark: str) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for token in tokens:
        if token.type == "literal" and token.value == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _selector(tokens: Sequence[Any]) -> str | None:
    """`.cards > li` in one form, or None if it is not in the vocabulary."""
    text = "".join(token.serialize() for token in tokens if token.type != "comment")
    words = text.replace(">", " > ").split()
    if any(token.type not in ("literal", "ident", "whitespace") for token in tokens) or not words:
        return None
    child = words[1:2] == [">"]
    parts = words[:1] + words[2:] if child else words
    first_good = parts[0].startswith(".") and all(name in SELECTORS for name in parts[0][1:].split("."))
    if not first_good or len(parts) > 2 or (child and len(parts) != 2):
        return None
    if len(parts) == 2:
        last = parts[1]
        if last.startswith("."):
            if not all(name in SELECTORS for name in last[1:].split(".")):
                return None
        elif last not in ELEMENTS:
            return None
    return (" > " if child else " ").join(parts)


def _reserved(selector: str) -> frozenset[str]:
    """The properties that a rule with this selector leaves to the base stylesheet."""
    parts = selector.replace(".", " .").replace(">", " ").split()
    subject = selector.split()[-1].replace(".", " .").split()
    colours = _COLOURS if _OWN_COLOURS & set(parts) else frozenset()
    return colours | (_GUTTERED if _FULL_WIDTH & set(subject) else frozenset())


def _value(tokens: Sequence[Any], grammar: Grammar) -> str | None:
    """A value in one form, or None if the grammar does not hold it."""
    solid = _solid(tokens)
    if not 1 <= len(solid) <= grammar.most:
        return None
    parts = [_part(token, grammar) for token in solid]
    good = [part for part in parts if part is not None]
    return " ".join(good) if len(good) == len(parts) else None


def _part(token: Any, grammar: Grammar) -> str | None:
    if token.type == "ident":
        word: str = token.lower_value
        return word if word in grammar.words else None
    if token.type == "function" and token.lower_name == "var":
        inner = _solid(token.arguments)
        if len(inner) != 1 or inner[0].type != "ident":
            return None
        word = f"var({inner[0].value})"
        return word if word in grammar.words else None
    if token.type not in ("number", "percentage", "dimension"):
        return None
    unit: str = "%" if token.type == "percentage" else getattr(token, "lower_unit", "")
    low, high = grammar.numbers.get(unit, (1, 0))
    value = round(token.value, 4) + 0.0
    return f"{value:g}{unit}" if low <= token.value <= high and low <= value <= high else None
