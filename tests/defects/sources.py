"""Random damage to what a model writes: a slot of a block's fragment, or a rule of the style.

The pages are those of a compiler that checks nothing: texts are put in wherever their slots stand, and what is not a
slot of the block stays as it is. `Mutant.refused` says whether pagec refuses the fragment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from random import Random

from bs4 import BeautifulSoup, Tag

from pagecompiler.api import compile_page
from pagecompiler.assets import resolve
from pagecompiler.inline import plain_text
from pagecompiler.languages import labels
from pagecompiler.link import LinkContext, LinkedBlock, link
from pagecompiler.plan import STYLE
from pagecompiler.results import BlockResult
from pagecompiler.serialise import serialise
from pagecompiler.slots import Role, Slot
from pagecompiler.spec import load_spec
from pagecompiler.stitch import share_rules, stitch
from pagecompiler.style import check_style, page_css, palette_css
from tests.defects.mutations import Mutant

_SLOT = re.compile(r"\{\{(\d+)\}\}")
_MADE_OF_TEXTS = frozenset({"code", "chart"})  # their texts decide on elements and classes, so a slot cannot stand in


class Source:
    """A spec with the fragments that the rules write for it."""

    def __init__(self, spec: Path) -> None:
        self.loaded = load_spec(spec)
        result = compile_page(self.loaded, model="reference")
        self.blocks = [block for block in result.blocks if block.linked is not None]
        (self.style,) = (block.css for block in result.blocks if block.block.kind == STYLE)
        self.slotted = [block for block in self.blocks if block.block.kind not in _MADE_OF_TEXTS]

    def mutants(self, count: int, seed: int) -> list[Mutant]:
        """So many pages with one damage each, all kinds equally often; the same for a seed."""
        random = Random(seed)
        kinds = [*SLOTS, *RULES]
        made: list[Mutant] = []
        while len(made) < count:
            kind = kinds[len(made) % len(kinds)]
            if kind in SLOTS:
                block = random.choice(self.slotted)
                edit = SLOTS[kind](block.block.structure.slots, random)
                made.append(Mutant(kind, self.page(block, edit), bool(self.linked(block, edit).diagnostics)))
            else:
                css = RULES[kind](self.style, random)
                made.append(Mutant(kind, self.page_with_style(css), bool(check_style(css).problems)))
        return made

    def context(self, images: Mapping[str, str]) -> LinkContext:
        """The page's context; `images` are sources and what shall stand in their place."""
        loaded = self.loaded
        slots = [slot for block in self.blocks for slot in block.block.structure.slots if slot.image is not None]
        assets = {slot.image.src: resolve(slot.image.src, loaded.folder, loaded.root) for slot in slots if slot.image}
        named = {src: replace(asset, src=images.get(src, asset.src)) for src, asset in assets.items()}
        return LinkContext(loaded, named, labels(loaded.page.lang, loaded.page.labels))

    def linked(self, block: BlockResult, edit: Edit) -> LinkedBlock:
        """What pagec's linker says of the edited fragment."""
        assert block.fragment is not None
        return link(block.block, edit(block.fragment.text), self.context({}))

    def page(self, damaged: BlockResult, edit: Edit) -> str:
        """The page in which one block has edited slots."""
        blocks = [self._unchecked(block, edit) if block is damaged else _linked(block) for block in self.blocks]
        return stitch(self.loaded.page, blocks, self._css(self.style))

    def page_with_style(self, css: str) -> str:
        return stitch(self.loaded.page, [_linked(block) for block in self.blocks], self._css(css))

    def _css(self, style: str) -> str:
        return page_css(palette_css(self.loaded)[0], style, share_rules([_linked(block) for block in self.blocks]))

    def _unchecked(self, block: BlockResult, edit: Edit) -> LinkedBlock:
        """Link with each slot for its own text, edit, and put the texts in."""
        assert block.fragment is not None
        slots = block.block.structure.slots
        names = {slot.image.src: f"{{{{{slot.number}}}}}" for slot in slots if slot.image is not None}
        plain = tuple(
            replace(slot, values=(f"{{{{{slot.number}}}}}",) * len(slot.values), markdown=False) for slot in slots
        )
        marked = replace(block.block, structure=replace(block.block.structure, slots=plain))
        whole = link(marked, block.fragment.text, self.context(names)).html
        assert whole is not None, block.block.name
        root, good = _element(_filled(edit(whole), slots, self.context({}))), _element(_linked(block).html or "")
        root.attrs = good.attrs  # a heading that is a slot cannot be told from others, so it gave no name
        return LinkedBlock(block.block, serialise(root))


def _linked(block: BlockResult) -> LinkedBlock:
    assert block.linked is not None
    return block.linked


def _element(html: str) -> Tag:
    body = BeautifulSoup(html, "html5lib").body
    root = body.contents[0] if body else None
    assert isinstance(root, Tag)
    return root


def _filled(html: str, slots: Sequence[Slot], context: LinkContext) -> str:
    """Every slot replaced by its text, a repeated one by its texts in turn."""
    placed: dict[int, int] = {}

    def text(match: re.Match[str]) -> str:
        number = int(match[1])
        if not 1 <= number <= len(slots):
            return match[0]
        slot = slots[number - 1]
        at = placed[number] = placed.get(number, -1) + 1
        value = slot.values[at % len(slot.values)]
        if slot.image is not None:
            return escape(context.assets[slot.image.src].src)
        return escape(plain_text(value) if slot.markdown else value)

    return _SLOT.sub(text, html)


@dataclass(frozen=True, slots=True)
class Edit:
    """What shall stand in the place of some slots."""

    places: Mapping[int, str]

    def __call__(self, text: str) -> str:
        return _SLOT.sub(lambda match: self.places.get(int(match[1]), match[0]), text)


def _drop(slots: Sequence[Slot], random: Random) -> Edit:
    return Edit({random.choice(slots).number: ""})


def _double(slots: Sequence[Slot], random: Random) -> Edit:
    place, slot = random.choice(slots).number, random.choice(slots).number
    return Edit({place: f"{{{{{place}}}}}{{{{{slot}}}}}"})


def _unknown(slots: Sequence[Slot], random: Random) -> Edit:
    return Edit({random.choice(slots).number: f"{{{{{len(slots) + random.randint(1, 40)}}}}}"})


def _wrong_class(slots: Sequence[Slot], random: Random) -> Edit:
    """Two slots change places; where there is an address, it is one of them."""
    addresses = [slot for slot in slots if slot.role in (Role.HREF, Role.IMAGE)]
    one = random.choice(addresses or slots)
    other = random.choice([slot for slot in slots if slot.role is not one.role] or slots)
    return Edit({one.number: f"{{{{{other.number}}}}}", other.number: f"{{{{{one.number}}}}}"})


SLOTS: Mapping[str, Callable[[Sequence[Slot], Random], Edit]] = {
    "slot dropped": _drop,
    "slot doubled": _double,
    "slot of an unknown number": _unknown,
    "slot of another class": _wrong_class,
}

_SELECTORS = (
    ".lead",
    ".intro",
    ".cards li",
    ".prose",
    ".hero",
    ".features",
    ".quote",
    ".text p",
    ".footer",
    ".steps li",
)
_DECLARATIONS = (
    "colour: red;", "padding: wide;", "gap: -1rem;", "font-size: big;", "border-radius: 3;", "font-weight: heavy;",
    "margin: 1rem 2rem 3rem 4rem 5rem;", "background: #12345;", "line-height: 1,5;", "padding 1rem;", "gap: ;",
    "letter-spacing: 1 em;", "text-align: middle;", "box-shadow: 1px red blue;", "border-style: dotty;",
    "max-inline-size: 40chars;", "font-style: slanted;", "color: var(--;", "padding: 1rem: 2rem;", "font-size: 2remm;",
)  # fmt: skip
_AT_RULES = (
    '@import "other.css";', '@import url("https://example.com/a.css");', '@charset "utf-8";',
    "@font-face { font-family: x; src: url(x.woff2); }", "@layer late;", "@apply .card;", "@include rounded;",
    "@media (min-width: 40rem) { .cards { gap: 3rem; } }", "@media (min-width: ) { .cards { gap: 3rem; } }",
    "@container (width > 9rem) { .cards { gap: 3rem; } }", "@tailwind base;", "@keyframes { from { gap: 0; } }",
    "@supports (gap: 1rem { .cards { gap: 3rem; } }", '@namespace "x";', "@page { margin: 0; }",
)  # fmt: skip
_NO_SELECTORS = (
    ".no-such-class", "#nothing", "p::marrow", "..cards", "> li", ".cards:hoover", "", "li >", ".cards,, .rows",
    "article.card", "*", "body", ".cards li:nth-child(x)", "[data-x", ".2col", "h1 h2 h3 h4", ".cards + + li",
)  # fmt: skip
_PALE = ("#999999", "#aaaaaa", "#c0c0c0", "silver", "yellow", "var(--background)", "var(--border)", "rgb(160 160 160)")


def _bad_declaration(css: str, random: Random) -> str:
    return f"{css}\n{random.choice(_SELECTORS)} {{\n{random.choice(_DECLARATIONS)}\n}}"


def _unclosed_brace(css: str, random: Random) -> str:
    places = [at for at, character in enumerate(css) if character in "{}"]
    at = random.choice(places)
    return css[:at] + css[at + 1 :]


def _at_rule(css: str, random: Random) -> str:
    rule = random.choice(_AT_RULES)
    return f"{rule}\n{css}" if random.random() < 0.5 else f"{css}\n{rule}"


def _no_selector(css: str, random: Random) -> str:
    return f"{css}\n{random.choice(_NO_SELECTORS)} {{\ngap: 1rem;\n}}"


def _contrast(css: str, random: Random) -> str:
    name = random.choice(("color", "background"))
    return f"{css}\n{random.choice(_SELECTORS)} {{\n{name}: {random.choice(_PALE)};\n}}"


RULES: Mapping[str, Callable[[str, Random], str]] = {
    "bad declaration": _bad_declaration,
    "unclosed brace": _unclosed_brace,
    "disallowed at-rule": _at_rule,
    "selector to nothing": _no_selector,
    "too little contrast": _contrast,
}
