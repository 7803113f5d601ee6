"""`mtp`: the model's own multi-token-prediction block drafts.

DeepSeek-V3 (arXiv 2412.19437) trains such a block, Qwen3.5 has one; llama.cpp runs it as a context of its own
over the same model, or over a file that holds nothing but the block.
"""

from __future__ import annotations

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.hardware import DEFAULT_HARDWARE, Hardware
from pagecompiler.engine.llama.drafting.few_words import FewWords, trimmed_tables
from pagecompiler.engine.llama.drafting.follower import Follower
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.target import NEXTN


class Mtp(Follower):
    """Drafts with the block of `model`, which may be the target's model itself or another file of its size."""

    name = "mtp"
    taps = (NEXTN,)

    def __init__(
        self, target: Model, model: Model, *, tokens: int, sequences: int, rows: int, threads: int | None = None,
        hardware: Hardware = DEFAULT_HARDWARE,
    ) -> None:  # fmt: skip
        """Raises ModelLoadError when the file has no such block or does not fit to the target."""
        if model.nextn_layers < 1:
            raise ModelLoadError(
                f"{model.path} has no multi-token-prediction block", hint="use --method auto, lookup or draft"
            )
        tables = trimmed_tables(model.path) if model is not target else None
        size = model.size if tables is None else len(tables.mirror)
        if (model.width, size) != (target.width, target.size):
            raise ModelLoadError(
                f"the block in {model.path} has rows of {model.width} for {size} tokens;"
                f" the model has {target.width} for {target.size}",
                hint="take the block from a file of the same model",
            )
        context = Context(
            model, tokens=tokens, sequences=sequences, rows=rows, outputs=sequences, threads=threads,
            taps=self.taps, mtp=True, hardware=hardware,
        )  # fmt: skip
        few = None if tables is None else FewWords(context, tables)
        super().__init__(few or context, rows=rows, width=model.width)
