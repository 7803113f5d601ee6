"""What became of a page and of its blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pagecompiler.cache import Fragment
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.engine.types import Completion, Message
from pagecompiler.inputs import Inputs
from pagecompiler.link import LinkedBlock
from pagecompiler.plan import Block, Plan


@dataclass(slots=True)
class BlockResult:
    """What became of one block. `completions` are those decoded for it in this run; a reused block has none.

    `why` says in words why it was built, reused or, of one that failed, to be built; '' where that was not found out.
    """

    block: Block
    group: str
    key: str
    messages: tuple[Message, ...]
    state: Literal["built", "reused", "failed"] = "reused"
    completions: list[Completion] = field(default_factory=list)
    fragment: Fragment | None = None
    linked: LinkedBlock | None = None
    css: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class PageResult:
    """A finished build. `html` is None when it failed; `diagnostics` holds warnings and notes too.

    `inputs` are the files that were read, with the digests of what was read; of a spec that could not be loaded
    they are the images that it needs.
    """

    spec: str
    output: Path | None
    html: str | None
    seconds: float
    model: str
    plan: Plan | None
    blocks: tuple[BlockResult, ...]
    diagnostics: tuple[Diagnostic, ...]
    method: str = "plain"
    inputs: Inputs = ()

    @property
    def ok(self) -> bool:
        return self.html is not None
