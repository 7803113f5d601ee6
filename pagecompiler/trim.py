"""Which words a draft head keeps: those that pages are written with, then the commonest of the vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from pagecompiler.diagnostics import CompileError
from pagecompiler.engine.reference import write
from pagecompiler.ids import section_ids
from pagecompiler.plan import make_plan
from pagecompiler.prompts import PromptStyle, block_messages
from pagecompiler.resources import template_dir
from pagecompiler.spec import SpecNotFound, load_spec


class Words(Protocol):
    """A tokenizer."""

    size: int

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]: ...

    def piece(self, token: int) -> bytes: ...


def choose_rows(words: Words, count: int, texts: Iterable[str]) -> list[int]:
    """At most `count` tokens, in order of their ids.

    All control tokens and single bytes, then the tokens of `texts` by how often they stand there, then the lowest
    ids: vocabularies are in the order in which their pairs were merged, the commonest first.
    """
    chosen = dict.fromkeys(token for token in range(words.size) if len(words.piece(token)) <= 1)
    counts: Counter[int] = Counter()
    for text in texts:
        counts.update(words.tokenize(text, parse_special=True))
    for token, _ in counts.most_common():
        if len(chosen) >= count:
            break
        chosen.setdefault(token)
    for token in range(words.size):
        if len(chosen) >= count:
            break
        chosen.setdefault(token)
    return sorted(chosen)


def page_texts(specs: Iterable[Path]) -> Iterator[str]:
    """What a model reads and writes for these specs: prompts of both kinds, fragments by rule, texts of the specs.

    Specs that do not load are left out.
    """
    for template in sorted((template_dir() / "prompts").rglob("*.j2")):
        yield template.read_text(encoding="utf-8")
    for spec in specs:
        try:
            page = load_spec(spec).page
        except (CompileError, SpecNotFound):
            continue
        yield spec.read_text(encoding="utf-8")
        for style in PromptStyle:
            for block in make_plan(page, section_ids(page), prompts=style).all_blocks:
                yield from (message.content for message in block_messages(block.structure, page, style))
                if block.structure.brief is None:
                    yield write(block.structure.description)
