"""`draft`: a second, smaller model of the same vocabulary drafts (Leviathan et al. 2023, arXiv 2211.17192).

Any architecture drafts: a recurrent state is saved behind the last approved token and put back after each
draft, because snapshots do not reach over single-token steps.
"""

from __future__ import annotations

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.hardware import DEFAULT_HARDWARE, Hardware
from pagecompiler.engine.llama.drafting.follower import Follower
from pagecompiler.engine.llama.library import Context, Model

COMPARED_TOKENS = 20_000


class DraftModel(Follower):
    """Drafts with `model`, which must write the same tokens as the target."""

    name = "draft"

    def __init__(
        self, target: Model, model: Model, *, tokens: int, sequences: int, rows: int, threads: int | None = None,
        hardware: Hardware = DEFAULT_HARDWARE,
    ) -> None:  # fmt: skip
        """Raises ModelLoadError when the vocabularies differ."""
        difference = _difference(target, model)
        if difference:
            raise ModelLoadError(
                f"{model.path} cannot draft for {target.path}: {difference}",
                hint="a draft model needs the vocabulary of the model, take a smaller one of the same family",
            )
        context = Context(
            model, tokens=tokens, sequences=sequences, rows=rows, outputs=sequences, threads=threads, hardware=hardware
        )
        super().__init__(context, rows=rows)


def _difference(target: Model, model: Model) -> str:
    """How the vocabularies differ; empty when they do not."""
    if target.size != model.size:
        return f"it knows {model.size} tokens, the model {target.size}"
    # Of a large vocabulary every n-th token is enough: one insertion moves all that follow.
    step = max(1, target.size // COMPARED_TOKENS)
    for token in (*range(0, target.size, step), target.size - 1):
        if target.token_text(token) != model.token_text(token):
            return f"token {token} is {model.token_text(token)!r}, not {target.token_text(token)!r}"
    return ""
