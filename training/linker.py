"""The linker under fire: it may refuse a block, but not fail, and a page made of what it takes has no fault."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pagecompiler import ids
from pagecompiler.assets import Asset
from pagecompiler.codes import Severity
from pagecompiler.engine.reference import write
from pagecompiler.languages import labels
from pagecompiler.link import LinkContext, LinkedBlock, link
from pagecompiler.plan import list_blocks
from pagecompiler.spec import LoadedSpec
from pagecompiler.stitch import stitch
from pagecompiler.validate import validate_page
from training.pages import UNSEEN_SEED
from training.structures import IMAGE, StructureMaker


@dataclass(slots=True)
class LinkerScore:
    """Blocks that were sent, those that were taken, and what validation reported of the pages made of these."""

    sent: int = 0
    taken: int = 0
    faults: list[str] = field(default_factory=list)


def fire(count: int) -> LinkerScore:
    """Send at least so many random blocks, every other one damaged. Whatever the linker raises, this raises."""
    maker, chance = StructureMaker(UNSEEN_SEED + 1), random.Random(UNSEEN_SEED)
    folder = Path()
    asset = Asset(IMAGE, folder / IMAGE, 8, 8)  # linking reads no file
    score = LinkerScore()
    while score.sent < count:
        loaded = LoadedSpec(maker.page(), "random", None, folder, "", {}, root=folder)
        context = LinkContext(loaded, {IMAGE: asset}, labels("en", {}))
        html = stitch(loaded.page, list(_blocks(loaded, context, chance, score)), "")
        findings = validate_page(html, language="en")
        score.faults += [f"{f.code}: {f.message}" for f in findings if f.severity is Severity.ERROR]
    return score


def _blocks(
    loaded: LoadedSpec, context: LinkContext, chance: random.Random, score: LinkerScore
) -> Iterator[LinkedBlock]:
    """The blocks of a page; where a damaged fragment is refused, the whole one takes its place."""
    for block in list_blocks(loaded.page, ids.section_ids(loaded.page)):
        fragment = write(block.structure.description)
        result = link(block, damaged(fragment, chance) if score.sent % 2 else fragment, context)
        score.sent += 1
        score.taken += not result.diagnostics
        yield link(block, fragment, context) if result.diagnostics else result


def damaged(fragment: str, chance: random.Random) -> str:
    """A fragment with one piece cut out, doubled or moved."""
    start = chance.randrange(len(fragment))
    end = min(len(fragment), start + chance.choice((1, 2, 5, 12, 40)))
    piece, rest = fragment[start:end], fragment[:start] + fragment[end:]
    place = chance.randrange(len(rest) + 1)
    kind = chance.choice(("cut", "double", "move"))
    if kind == "cut":
        return rest
    return fragment[:place] + piece + fragment[place:] if kind == "double" else rest[:place] + piece + rest[place:]
