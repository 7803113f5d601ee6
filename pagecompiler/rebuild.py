"""What a rebuilt block may look like: the fragment that its predecessor on the last page had, spliced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pagecompiler.cache import Fragment
from pagecompiler.plan import Block
from pagecompiler.record import BlockRecord, PageRecord
from pagecompiler.splice import splice


def pair_blocks(old: Sequence[BlockRecord], new: Sequence[Block]) -> dict[str, BlockRecord]:
    """For new blocks by name their predecessors: by name and kind, then by kind and order."""
    known = {(record.name, record.kind): record for record in old}
    pairs = {block.name: known.pop((block.name, block.kind)) for block in new if (block.name, block.kind) in known}
    left = list(known.values())
    for block in new:
        if block.name not in pairs:
            record = next((record for record in left if record.kind == block.kind), None)
            if record is not None:
                pairs[block.name] = record
                left.remove(record)
    return pairs


def previous_texts(
    record: PageRecord | None, blocks: Sequence[Block], find: Callable[[str], Fragment | None]
) -> dict[str, str]:
    """Guesses at the fragments of blocks, by their names; `find` looks up an old fragment by its key."""
    if record is None:
        return {}
    guesses: dict[str, str] = {}
    descriptions = {block.name: block.structure.description for block in blocks}
    for name, predecessor in pair_blocks(record.blocks, blocks).items():
        fragment = find(predecessor.key)
        if fragment is not None:
            guesses[name] = splice(predecessor.description, fragment.text, descriptions[name])
    return guesses
