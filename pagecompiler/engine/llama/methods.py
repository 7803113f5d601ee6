"""From options to sources of guesses: what is possible with these files, and what is not and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.gguf_header import read_metadata, read_tensor_names
from pagecompiler.engine.llama.depth import Depth, Measured
from pagecompiler.engine.llama.drafting.base import Drafter
from pagecompiler.engine.llama.drafting.combined import Guesses
from pagecompiler.engine.llama.drafting.draft_model import DraftModel
from pagecompiler.engine.llama.drafting.lookup import Lookup
from pagecompiler.engine.llama.drafting.mtp import Mtp
from pagecompiler.engine.llama.drafting.previous import Previous
from pagecompiler.engine.llama.library import Model, native_support
from pagecompiler.engine.llama.tuning import BenchVerdict
from pagecompiler.engine.types import Decoding, Method

DEEPEST = 4
FIRST_DEEPEST = 3  # until something was measured: each snapshot of a large model's state costs memory
FIRST_STRIDE = 8
LONGEST_STRIDE = 255
_NEXTN_TENSOR = re.compile(r"blk\.\d+\.nextn\.")
STRIDE_LOGITS = 1 << 24  # bounds the memory of a stride's logits, in numbers


@dataclass(slots=True)
class Plan:
    """What will draft. `main` is MTP, DRAFT or PLAIN; `notes` say what was asked for and is not possible.

    `opening` is what a bench found best, by the number of lanes: a way and its depth.
    """

    decoding: Decoding
    main: Method
    lookup: bool
    notes: list[str] = field(default_factory=list)
    opening: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def ways(self) -> int:
        """How many ways to guess there are: a model that drafts and matches, matches alone."""
        return 2 if self.lookup and self.main is not Method.PLAIN else 1

    @property
    def guesses(self) -> bool:
        """Whether anything drafts short guesses."""
        return self.lookup or self.main is not Method.PLAIN

    @property
    def kind(self) -> str:
        """The first of what guesses: mtp, draft, lookup; or plain."""
        return self.main.value if self.main is not Method.PLAIN or not self.lookup else Method.LOOKUP.value

    @property
    def sources(self) -> str:
        """What guesses, in words.

        >>> Plan(Decoding(), Method.MTP, lookup=True).sources
        'mtp and lookup'
        """
        names = [self.main.value] if self.main is not Method.PLAIN else []
        return " and ".join([*names, *(["lookup"] if self.lookup else [])]) or "nothing"


def plan_methods(path: Path, decoding: Decoding) -> Plan:
    """Decide by the headers of the files, before anything is loaded.

    Raises ModelLoadError when a method was asked for by name and its model is not there.
    """
    method, draft = decoding.method, decoding.draft_model
    if method is Method.DRAFT and draft is None:
        raise ModelLoadError("--method draft needs a draft model", hint="give one with --draft-model")
    block = nextn_layers(path if draft is None else draft) > 0
    if method is Method.MTP and not block:
        raise ModelLoadError(
            f"{path if draft is None else draft} has no multi-token-prediction block",
            hint="use --method auto, lookup or draft",
        )
    main = Method.PLAIN
    if method is Method.MTP or (method is Method.AUTO and block):
        main = Method.MTP
    elif method is Method.DRAFT or (method is Method.AUTO and draft is not None):
        main = Method.DRAFT
    plan = Plan(decoding, main, lookup=method in (Method.AUTO, Method.LOOKUP))
    if main is Method.MTP and not native_support().nextn:
        plan.main = Method.PLAIN
        plan.notes.append("mtp is off: this llama.cpp lacks the private functions that it needs")
    return plan


def follow(plan: Plan, verdicts: Mapping[int, BenchVerdict], lanes: int) -> Plan:
    """The plan of `auto` after a bench: it opens with the ways and depths that were best, as far as it has them.

    Where no model that drafts won with this number of lanes none is loaded, and where nothing won nothing guesses: to
    follow the text costs time even when nothing is guessed. Without a verdict for this number of lanes nothing changes.
    """
    best = verdicts.get(lanes)
    if best is None:
        return plan
    if best.method in (Method.PLAIN, Method.LOOKUP):
        plan = replace(plan, main=Method.PLAIN, lookup=best.method is Method.LOOKUP)
    ways = {Method.PLAIN: 0, plan.main: 0}
    if plan.lookup:
        ways[Method.LOOKUP] = plan.ways - 1
    opening = {count: (ways[found.method], found.depth) for count, found in verdicts.items() if found.method in ways}
    return replace(plan, opening=opening)


def nextn_layers(path: Path) -> int:
    """The multi-token-prediction blocks of a file: those whose tensors are in it.

    Without the key that tells of them llama.cpp does not know what these tensors are, so then there is none.
    """
    metadata = read_metadata(path)
    said = metadata.get(f"{metadata.get('general.architecture')}.nextn_predict_layers")
    if not isinstance(said, int) or said < 1:
        return 0
    return len({name.split(".")[1] for name in read_tensor_names(path) if _NEXTN_TENSOR.match(name)})


def deepest_guess(plan: Plan, known: Sequence[Measured | None] = ()) -> int:
    """The depth to make room for: the given one, or one more than what was best so far."""
    if not plan.guesses:
        return 0
    if plan.decoding.depth is not None:
        return plan.decoding.depth
    best = [depth for _, depth in plan.opening.values()]
    best += [
        Depth(deepest=DEEPEST, known=measured).best(lanes)
        for measured in known
        if measured is not None
        for lanes, _ in measured.steps
    ]
    return min(DEEPEST, 1 + max(best)) if best else FIRST_DEEPEST


def longest_stride(plan: Plan, vocabulary: int) -> int:
    """The longest stride over a previous answer; 0 when there are none."""
    return min(LONGEST_STRIDE, STRIDE_LOGITS // vocabulary - 1) if plan.decoding.previous else 0


def make_guesses(
    plan: Plan, model: Model, *, known: Sequence[Measured | None], deepest: int, rollback: int | None, rows: int,
    tokens: int, sequences: int, threads: int | None, chunk: int,
) -> tuple[Guesses, Model | None]:  # fmt: skip
    """The sources of guesses, and the model that was loaded for them; `known` is what was measured of each of the
    plan's ways. Raises ModelLoadError."""
    decoding = plan.decoding
    drafter: Drafter | None = None
    loaded: Model | None = None
    if plan.main is not Method.PLAIN:
        source = model
        if decoding.draft_model is not None:
            device = decoding.draft_device
            layers = -1 if native_support().gpu and device is None else 0
            loaded = source = Model(
                decoding.draft_model, gpu_layers=layers, load_mtp=plan.main is Method.MTP, device=device,
                split_mode=decoding.hardware.split_mode,
            )  # fmt: skip
        make = Mtp if plan.main is Method.MTP else DraftModel
        try:
            drafter = make(
                model, source, tokens=tokens, sequences=sequences, rows=chunk, threads=threads,
                hardware=decoding.hardware,
            )  # fmt: skip
        except ModelLoadError:
            if loaded is not None:
                loaded.close()
            raise
    stride = longest_stride(plan, model.size)
    named = decoding.method in (Method.MTP, Method.DRAFT, Method.LOOKUP)
    fixed = decoding.depth if plan.guesses else 0
    depth, *others = (
        Depth(deepest=deepest, least=1 if deepest and (named or way) else 0, fixed=fixed, known=measured)
        for way, measured in enumerate(known)
    )
    return Guesses(
        previous=Previous(first=rollback or FIRST_STRIDE, longest=stride) if stride > 0 else None,
        lookup=Lookup() if plan.lookup else None,
        main=drafter,
        depth=depth,
        lookup_depth=others[0] if others else None,
        opening=plan.opening,
        rows=rows,
        equal=rollback is not None,
    ), loaded


def without_rollback(plan: Plan, problem: str) -> Plan:
    """The plan of a model whose state cannot be rolled back: only previous answers, by saved states."""
    name = plan.main if plan.main is not Method.PLAIN else Method.LOOKUP
    note = f"{name} is off: {problem}"
    return replace(plan, main=Method.PLAIN, lookup=False, notes=[*plan.notes, note], opening={})
