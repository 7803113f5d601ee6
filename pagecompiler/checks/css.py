"""The finished stylesheet: does it parse, does every property exist, does it ask for another file.

Colours and sizes are not judged here; whoever writes the stylesheet computes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

import tinycss2  # type: ignore[import-untyped]

from pagecompiler.checks import names

MAX_PROBLEMS = 5

_NOT_CODE = re.compile(r"""/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.DOTALL)

_WITH_RULES = frozenset({"media", "supports", "layer", "scope"})
_WITH_DECLARATIONS = frozenset({"font-face", "page"})

# What the Nu Html Checker knows; newer properties work in browsers but are errors for it.
PROPERTIES = names("""accent-color align-content align-items align-self all animation animation-delay
    animation-direction animation-duration animation-fill-mode animation-iteration-count animation-name
    animation-play-state animation-timing-function appearance aspect-ratio backdrop-filter
    backface-visibility background background-attachment background-blend-mode background-clip
    background-color background-image background-origin background-position background-repeat
    background-size block-size border border-block border-block-color border-block-end
    border-block-end-color border-block-end-style border-block-end-width border-block-start
    border-block-start-color border-block-start-style border-block-start-width border-block-style
    border-block-width border-bottom border-bottom-color border-bottom-left-radius
    border-bottom-right-radius border-bottom-style border-bottom-width border-collapse border-color
    border-end-end-radius border-end-start-radius border-image border-image-outset border-image-repeat
    border-image-slice border-image-source border-image-width border-inline border-inline-color
    border-inline-end border-inline-end-color border-inline-end-style border-inline-end-width
    border-inline-start border-inline-start-color border-inline-start-style border-inline-start-width
    border-inline-style border-inline-width border-left border-left-color border-left-style
    border-left-width border-radius border-right border-right-color border-right-style
    border-right-width border-spacing border-start-end-radius border-start-start-radius border-style
    border-top border-top-color border-top-left-radius border-top-right-radius border-top-style
    border-top-width border-width bottom box-decoration-break box-shadow box-sizing break-after
    break-before break-inside caption-side caret-color clear clip-path color color-adjust color-scheme
    column-count column-fill column-gap column-rule column-rule-color column-rule-style
    column-rule-width column-span column-width columns contain content content-visibility
    counter-increment counter-reset counter-set cursor direction display empty-cells filter flex
    flex-basis flex-direction flex-flow flex-grow flex-shrink flex-wrap float font font-family
    font-feature-settings font-kerning font-optical-sizing font-size font-size-adjust font-stretch
    font-style font-synthesis font-variant font-variant-caps font-variant-east-asian
    font-variant-ligatures font-variant-numeric font-variant-position font-variation-settings
    font-weight forced-color-adjust gap grid grid-area grid-auto-columns grid-auto-flow grid-auto-rows
    grid-column grid-column-end grid-column-start grid-row grid-row-end grid-row-start grid-template
    grid-template-areas grid-template-columns grid-template-rows hanging-punctuation height hyphens
    image-rendering inline-size inset inset-block inset-block-end inset-block-start inset-inline
    inset-inline-end inset-inline-start isolation justify-content justify-items justify-self left
    letter-spacing line-break line-height list-style list-style-image list-style-position
    list-style-type margin margin-block margin-block-end margin-block-start margin-bottom margin-inline
    margin-inline-end margin-inline-start margin-left margin-right margin-top max-block-size max-height
    max-inline-size max-width min-block-size min-height min-inline-size min-width mix-blend-mode
    object-fit object-position opacity order orphans outline outline-color outline-offset outline-style
    outline-width overflow overflow-anchor overflow-wrap overflow-x overflow-y overscroll-behavior
    overscroll-behavior-block overscroll-behavior-inline overscroll-behavior-x overscroll-behavior-y
    padding padding-block padding-block-end padding-block-start padding-bottom padding-inline
    padding-inline-end padding-inline-start padding-left padding-right padding-top page page-break-after
    page-break-before page-break-inside perspective perspective-origin place-content place-items
    place-self pointer-events position print-color-adjust quotes resize right rotate row-gap scale
    scroll-behavior scroll-margin scroll-margin-block scroll-margin-block-end scroll-margin-block-start
    scroll-margin-bottom scroll-margin-inline scroll-margin-inline-end scroll-margin-inline-start
    scroll-margin-left scroll-margin-right scroll-margin-top scroll-padding scroll-padding-block
    scroll-padding-block-end scroll-padding-block-start scroll-padding-bottom scroll-padding-inline
    scroll-padding-inline-end scroll-padding-inline-start scroll-padding-left scroll-padding-right
    scroll-padding-top scroll-snap-align scroll-snap-stop scroll-snap-type scrollbar-color
    scrollbar-gutter scrollbar-width size tab-size
    table-layout text-align text-align-last text-combine-upright text-decoration text-decoration-color
    text-decoration-line text-decoration-skip-ink text-decoration-style text-decoration-thickness
    text-emphasis text-emphasis-color text-emphasis-position text-emphasis-style text-indent
    text-justify text-orientation text-overflow text-rendering text-shadow text-size-adjust
    text-transform text-underline-offset text-underline-position text-wrap text-wrap-mode
    text-wrap-style top touch-action transform transform-box transform-origin transform-style transition
    transition-delay transition-duration transition-property
    transition-timing-function translate unicode-bidi user-select vertical-align visibility white-space
    white-space-collapse widows width will-change word-break word-spacing writing-mode z-index zoom""")


@lru_cache(maxsize=8)
def stylesheet_problems(css: str) -> tuple[str, ...]:
    """What is wrong with a stylesheet, the first five findings; pages of one theme share the answer.

    >>> stylesheet_problems("a { colour: red }")
    ('`colour` is not a property',)
    """
    if any(open_count != close_count for open_count, close_count in _brackets(css)):
        return ("a bracket is not closed",)
    return tuple(islice(_problems(tinycss2.parse_stylesheet(css, skip_comments=True)), MAX_PROBLEMS))


def _brackets(css: str) -> Iterator[tuple[int, int]]:
    # The parser closes what is open at the end without a word.
    code = _NOT_CODE.sub("", css)
    return ((code.count(pair[0]), code.count(pair[1])) for pair in ("{}", "()", "[]"))


def _problems(nodes: list[Any]) -> Iterator[str]:
    for node in nodes:
        if node.type == "error":
            yield f"line {node.source_line}: {node.message}"
        elif node.type == "qualified-rule":
            yield from _problems(tinycss2.parse_blocks_contents(node.content, skip_comments=True))
        elif node.type == "at-rule":
            yield from _at_rule(node)
        elif node.type == "declaration":
            yield from _declaration(node)


def _at_rule(rule: Any) -> Iterator[str]:
    if rule.lower_at_keyword == "import":
        yield "`@import` asks for another file"
    elif rule.lower_at_keyword in _WITH_RULES | _WITH_DECLARATIONS:
        yield from _problems(tinycss2.parse_blocks_contents(rule.content or [], skip_comments=True))
    elif rule.lower_at_keyword.endswith("keyframes"):
        yield from _problems(tinycss2.parse_rule_list(rule.content or [], skip_comments=True))
    else:
        yield f"`@{rule.at_keyword}` is not supported"


def _declaration(node: Any) -> Iterator[str]:
    if not node.name.startswith("--") and node.lower_name not in PROPERTIES:
        yield f"`{node.name}` is not a property"
    if not any(token.type not in ("whitespace", "comment") for token in node.value) and node.name[:2] != "--":
        yield f"`{node.name}` has no value"
    pending = list(node.value)
    while pending:
        token = pending.pop()
        if token.type == "error":
            yield f"line {token.source_line}: {token.message}"
        elif token.type == "literal" and token.value == ":":
            # A missing semicolon: the parser takes the next declaration for part of this value.
            yield f"the value of `{node.name}` contains a colon"
        elif token.type == "url" or (token.type == "function" and token.lower_name == "url"):
            yield "`url()` asks for another file"
        pending += getattr(token, "arguments", None) or getattr(token, "content", None) or []
