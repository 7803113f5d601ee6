"""Which words a draft head keeps: those that pages are written with, those that prompts have, then the commonest."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Protocol

from pagecompiler import examples
from pagecompiler.diagnostics import CompileError
from pagecompiler.engine.reference import write
from pagecompiler.ids import section_ids
from pagecompiler.moods import MOOD_WORDS
from pagecompiler.plan import make_plan
from pagecompiler.prompts import PromptStyle, block_messages
from pagecompiler.resources import data_path
from pagecompiler.schema import PageSpec
from pagecompiler.spec import SpecNotFound, load_spec

STYLES = tuple(product(("sans", "serif", "mono"), MOOD_WORDS))

ROLES = "system\nuser\nassistant\n"
"""Chat templates name them in every prompt."""

_CONTROL = re.compile(r"<\|\w+\|>|</?\w+>")


class Words(Protocol):
    """A tokenizer."""

    size: int

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]: ...

    def piece(self, token: int) -> bytes: ...

    def is_end(self, token: int) -> bool: ...


def choose_rows(words: Words, count: int, written: Iterable[str], read: Iterable[str] = ()) -> list[int]:
    """At most `count` tokens, in order of their ids.

    All single bytes and tokens that end an answer; then the tokens of what the model writes, by how often they stand
    there, for only these can be guessed; then those of what it reads; then the lowest ids: vocabularies are in the
    order in which their pairs were merged, the commonest first.
    """
    tokens = range(words.size)
    chosen = dict.fromkeys(token for token in tokens if len(words.piece(token)) == 1 or words.is_end(token))
    for texts in (written, read):
        counts: Counter[int] = Counter()
        for text in texts:
            counts.update(words.tokenize(text, parse_special=True))
        chosen.update(dict.fromkeys(token for token, _ in counts.most_common() if token not in chosen))
    chosen.update(dict.fromkeys(tokens))
    return sorted(list(chosen)[:count])


def written_texts(specs: Iterable[Path]) -> Iterator[str]:
    """Fragments by rule: every kind of section, every font and mood of a style, and the blocks of these specs."""
    for _, page in _pages(specs):
        for block in make_plan(page, section_ids(page)).all_blocks:
            if block.structure.brief is None:
                yield write(block.structure.description)


def read_texts(specs: Iterable[Path], style: PromptStyle, template: str = "") -> Iterator[str]:
    """What a model is shown: its prompts of this kind, with what its chat template puts around them; with full ones a
    brief may also use the texts of the specs."""
    yield ROLES + "".join(_CONTROL.findall(template))
    for text, page in _pages(specs):
        for block in make_plan(page, section_ids(page), prompts=style).all_blocks:
            yield from (message.content for message in block_messages(block.structure, page, style))
        if style is PromptStyle.FULL:
            yield text


def _pages(specs: Iterable[Path]) -> Iterator[tuple[str, PageSpec]]:
    """The specs that come with pagec, then these; what does not load is left out."""
    place = data_path("examples")
    own = [examples.spec(name) for name in examples.names()]
    own += [f"title: T\ntheme: {{font: {font}, mood: {mood}}}\nhero: {{heading: H}}\n" for font, mood in STYLES]
    for text in own:
        yield text, load_spec(place / "trim.yaml", data=text.encode()).page
    for spec in specs:
        with contextlib.suppress(CompileError, SpecNotFound, UnicodeDecodeError):
            page = load_spec(spec).page
            yield spec.read_text(encoding="utf-8"), page
