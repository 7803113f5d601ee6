"""Whole pages from nothing, each block with one attempt: random specs of a seed that training never used, and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pagecompiler.api import engine_maker
from pagecompiler.build import CompileOptions, EngineSource, compile_spec
from pagecompiler.engine.around import EngineAround
from pagecompiler.engine.types import Request
from pagecompiler.models import choose_model
from pagecompiler.spec import LoadedSpec, load_spec
from training.structures import IMAGE, StructureMaker

UNSEEN_SEED = 20_261
ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "specs"
UNSEEN = ROOT / "training" / "unseen"
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'


@dataclass(slots=True)
class PageScore:
    """Blocks (styles count as blocks) and whole pages that were accepted at the first attempt, and what was refused."""

    blocks: int = 0
    good_blocks: int = 0
    pages: int = 0
    good_pages: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def block_share(self) -> float:
        return self.good_blocks / self.blocks

    @property
    def page_share(self) -> float:
        return self.good_pages / self.pages


class Unmasked(EngineAround):
    """An engine that is not told the slots, so that its sampler masks nothing."""

    def submit(self, request: Request) -> int:
        return super().submit(replace(request, slots=frozenset()))


def random_specs(count: int, folder: Path) -> Iterator[LoadedSpec]:
    """Random specs whose one image lies in the folder."""
    (folder / IMAGE).write_text(_SVG, encoding="utf-8")
    maker = StructureMaker(UNSEEN_SEED)
    for number in range(count):
        yield LoadedSpec(maker.page(), f"random {number}", None, folder, "", {}, root=folder)


def specs_in(folder: Path) -> Iterator[LoadedSpec]:
    """The specs of a folder, without those below it."""
    return map(load_spec, sorted(folder.glob("[!_]*.yaml")))


def model_source(model_name: str, lanes: int, *, mask: bool) -> EngineSource:
    """Makes the engine, with the slot mask or without; close it after use."""
    model = choose_model(model_name)
    return EngineSource(model, engine_maker(model, lanes), around=lambda make: make() if mask else Unmasked(make()))


def first_attempts(specs: Iterable[LoadedSpec], source: EngineSource, cache: Path) -> PageScore:
    """Compile the specs with one attempt a block. The cache keeps what was accepted: equal prompts, equal answers."""
    options = CompileOptions(attempts=1, cache_dir=cache)
    score = PageScore()
    for loaded in specs:
        result = compile_spec(loaded, source, options)
        refused = [block for block in result.blocks if block.state == "failed"]
        score.blocks += len(result.blocks)
        score.good_blocks += len(result.blocks) - len(refused)
        score.pages += 1
        score.good_pages += result.ok
        score.refused += [f"{loaded.name}: {block.block.kind}: {block.diagnostics[0].message}" for block in refused]
    return score
