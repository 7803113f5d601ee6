"""The gate of a release: `python -m training.gate`. Whole pages at the first attempt, and the linker under fire.

Pages are random specs of a seed that training never used, compiled from nothing with `--attempts 1`. Then random
blocks, whole ones and damaged ones, go through the linker: it may refuse, but not fail, and a page made of what it
takes has nothing to report.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from pagecompiler import ids
from pagecompiler.api import engine_maker
from pagecompiler.assets import Asset
from pagecompiler.build import CompileOptions, EngineSource, compile_spec
from pagecompiler.codes import Severity
from pagecompiler.engine.reference import write
from pagecompiler.languages import labels
from pagecompiler.link import LinkContext, link
from pagecompiler.models import choose_model
from pagecompiler.plan import list_blocks
from pagecompiler.spec import LoadedSpec
from pagecompiler.stitch import stitch
from pagecompiler.validate import validate_page
from training.structures import IMAGE, StructureMaker

_SEED = 20_261
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'


def pages(count: int, model_name: str, folder: Path) -> None:
    """Compile random pages and print how many blocks and pages were accepted at the first attempt."""
    maker = StructureMaker(_SEED)
    model = choose_model(model_name)
    source = EngineSource(model, engine_maker(model, lanes=5))
    options = CompileOptions(attempts=1, read_cache=False, write_cache=False)
    blocks = good_blocks = good_pages = 0
    try:
        for _ in range(count):
            result = compile_spec(
                LoadedSpec(maker.page(), "random", None, folder, "", {}, root=folder), source, options
            )
            written = [block for block in result.blocks if block.completions]
            blocks += len(written)
            good_blocks += sum(block.state == "built" for block in written)
            good_pages += result.ok
            for block in written:
                if block.state != "built":
                    print(f"  {block.block.kind}: {block.diagnostics[0].message}")
    finally:
        source.close()
    print(f"{good_blocks} of {blocks} blocks ({good_blocks / blocks:.2%}), {good_pages} of {count} pages accepted")


def linker(count: int, folder: Path) -> None:
    """Send random blocks through the linker, every other one damaged, and validate pages of what it takes."""
    maker, chance = StructureMaker(_SEED + 1), random.Random(_SEED)
    asset = Asset(IMAGE, folder / IMAGE, 8, 8)
    tried = taken = faults = 0
    while tried < count:
        loaded = LoadedSpec(maker.page(), "random", None, folder, "", {}, root=folder)
        context = LinkContext(loaded, {IMAGE: asset}, labels("en", {}))
        linked = []
        for block in list_blocks(loaded.page, ids.section_ids(loaded.page)):
            fragment = write(block.structure.description)
            result = link(block, _damaged(fragment, chance) if tried % 2 else fragment, context)
            tried += 1
            taken += not result.diagnostics
            linked.append(link(block, fragment, context) if result.diagnostics else result)
        html = stitch(loaded.page, linked, "")
        found = [f for f in validate_page(html, language="en") if f.severity is Severity.ERROR]
        faults += len(found)
        for finding in found:
            print(f"  {finding.code}: {finding.message}")
    print(f"{tried} blocks through the linker, {taken} taken, {faults} faults in the pages made of them")


def _damaged(fragment: str, chance: random.Random) -> str:
    """A fragment with one piece cut out, doubled or moved."""
    start = chance.randrange(len(fragment))
    end = min(len(fragment), start + chance.choice((1, 2, 5, 12, 40)))
    piece, rest = fragment[start:end], fragment[:start] + fragment[end:]
    place = chance.randrange(len(rest) + 1)
    kind = chance.choice(("cut", "double", "move"))
    if kind == "cut":
        return rest
    return fragment[:place] + piece + fragment[place:] if kind == "double" else rest[:place] + piece + rest[place:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--model", default="pagec-mini")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / IMAGE).write_text(_SVG, encoding="utf-8")
        pages(arguments.pages, arguments.model, folder)
        linker(arguments.blocks, folder)


if __name__ == "__main__":
    main()
