"""Why a block was written again or not: what `--why` says."""

from __future__ import annotations

from difflib import SequenceMatcher

from pagecompiler.plan import Block
from pagecompiler.record import BlockRecord, PageRecord

SAME = "its prompt is the same"


def why_written(block: Block, key: str, record: PageRecord | None, *, read_cache: bool) -> str:
    """Why there is no fragment for a block, in a few words, by what the page's last build was made of.

    >>> why_written(block, "key", None, read_cache=True)  # doctest: +SKIP
    'the page has no earlier build'
    """
    if not read_cache:
        return "the cache is not read"
    if record is None:
        return "the page has no earlier build"
    old = next((known for known in record.blocks if (known.name, known.kind) == (block.name, block.kind)), None)
    if old is None:
        return "the block is new"
    if old.key == key:
        return "its fragment is not in the cache any more"
    if old.description == block.structure.description:
        return "the model, the sampling, the brief or the prompts are others"
    return _changed(old, block)


def _changed(old: BlockRecord, block: Block) -> str:
    """The first place where the structure differs, with the numbers of the slots left out."""
    before, after = (_lines(text) for text in (old.description, block.structure.description))
    for kind, a, _, c, _ in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "delete":
            return f"its structure changed: `{before[a]}` went"
        if kind == "insert":
            return f"its structure changed: `{after[c]}` came"
        if kind == "replace":
            return f"its structure changed: `{before[a]}` became `{after[c]}`"
    return "its slots are numbered in another way"


def _lines(description: str) -> list[str]:
    return [" ".join(word for word in line.split() if not word.startswith("{{")) for line in description.split("\n")]
