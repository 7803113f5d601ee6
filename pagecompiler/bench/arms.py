"""Which arms there are for a model, and how each of them decodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pagecompiler.bench.figures import PREVIOUS, REFERENCE, SERVER, Arm
from pagecompiler.engine.llama.methods import nextn_layers
from pagecompiler.engine.types import Decoding, Method
from pagecompiler.models import MINI_DRAFT, ModelChoice, resolve_model

PLAIN = Arm(Method.PLAIN.value)
AUTO = Arm(Method.AUTO.value)
DRAFTING = (Method.DRAFT, Method.MTP, Method.LOOKUP)


@dataclass(frozen=True, slots=True)
class Arms:
    """What is measured: `page` arms write pages, the first of them is plain. `draft` is the draft model's file.

    `notes` say what was left out and why.
    """

    page: tuple[Arm, ...]
    draft: Path | None = None
    notes: tuple[str, ...] = ()


def choose_arms(model: ModelChoice, methods: Sequence[Method], depths: Sequence[int], draft: Path | None) -> Arms:
    """Plain, and of `methods` (none: all) whatever this model can do at each depth.

    Without a draft model the one that comes with pagec-mini is used where it fits.
    """
    if model.servers:
        return Arms((Arm(SERVER),))
    if model.path is None:
        return Arms((Arm(REFERENCE),))
    wanted = set(methods) or set(Method)
    notes: list[str] = []
    if draft is None and model.format is not None:
        draft = resolve_model(MINI_DRAFT, "default").path
    if Method.DRAFT in wanted and draft is None:
        notes.append("draft is left out: no draft model; give one with --draft-model")
    if Method.MTP in wanted and not nextn_layers(model.path):
        notes.append("mtp is left out: the model has no multi-token-prediction block")
    possible = {
        Method.DRAFT: draft is not None,
        Method.MTP: nextn_layers(model.path) > 0,
        Method.LOOKUP: True,
    }
    guessing = [method for method in DRAFTING if method in wanted and possible[method]]
    arms = [PLAIN, *(Arm(method.value, depth) for method in guessing for depth in depths)]
    if Method.AUTO in wanted:
        arms.append(AUTO)
    return Arms(tuple(arms), draft if Method.DRAFT in guessing else None, tuple(notes))


def decoding_of(arm: Arm, base: Decoding, draft: Path | None) -> Decoding:
    """How an engine decodes for an arm; `base` says how the model is laid onto the machine.

    Only `draft` is given the draft model, so that `auto` is what a build without one has.
    """
    if arm.method == PREVIOUS:
        return replace(base, method=Method.PLAIN, depth=None, draft_model=None, previous=True)
    method = Method(arm.method)
    model = draft if method is Method.DRAFT else None
    return replace(base, method=method, depth=arm.depth, draft_model=model, previous=False)
