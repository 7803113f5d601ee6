"""What an arm should reach, from sizes of weights, the cost of steps without a draft model, and its acceptance.

A step of depth K costs a pass of the target over K + 1 rows a lane, and K passes of what drafts. What passes over more
rows cost is measured: by plain decoding and lookup, which draft without a model. What a draft pass costs is not: it
reads fewer bytes, which counts for the part of a plain step that memory takes, and has fewer layers, which counts for
the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from pagecompiler.bench.figures import Arm, MachineFigures, ModelFigures, Prediction
from pagecompiler.bench.summary import draft_bytes
from pagecompiler.engine.llama.depth import Measured
from pagecompiler.engine.types import Method

TRIMMED_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class RowCosts:
    """Seconds of a pass of the target by its number of rows."""

    seconds: Mapping[int, float]

    @classmethod
    def of(cls, measured: Iterable[Measured]) -> RowCosts:
        """The costs that arms without a model that drafts have measured."""
        found: dict[int, list[float]] = {}
        for each in measured:
            for (lanes, depth), seconds in each.steps.items():
                found.setdefault(lanes * (1 + depth), []).append(seconds)
        return cls({rows: fmean(values) for rows, values in sorted(found.items())})

    def at(self, rows: int) -> float | None:
        """The cost of so many rows, between two that were measured in proportion, beyond them as the last two grow."""
        known = sorted(self.seconds)
        if not known:
            return None
        if rows in self.seconds:
            return self.seconds[rows]
        if len(known) == 1 or rows < known[0]:
            return None
        above = next((index for index, each in enumerate(known) if each > rows), len(known) - 1)
        low, high = known[above - 1], known[above]
        slope = (self.seconds[high] - self.seconds[low]) / (high - low)
        return self.seconds[low] + max(0.0, slope) * (rows - low)


def predict(
    arm: Arm,
    lanes: int,
    acceptance: Sequence[float],
    costs: RowCosts,
    model: ModelFigures,
    machine: MachineFigures,
    *,
    fixed_share: float,
) -> Prediction | None:
    """The prediction for an arm whose guesses come from a model; None for others, and where costs are not known.

    `acceptance` is by position; `fixed_share` is the share of a plain run that no method makes faster.
    """
    if arm.method not in (Method.MTP, Method.DRAFT) or arm.depth is None or not acceptance or not model.target_bytes:
        return None
    plain, verify = costs.at(lanes), costs.at(lanes * (1 + arm.depth))
    if not plain or verify is None:
        return None
    tokens = 1 + sum(acceptance)
    layers = 1 if arm.method == Method.MTP else model.draft_layers
    size = draft_bytes(arm, model)
    by_memory = min(1.0, model.target_bytes / machine.bandwidth / plain) if machine.bandwidth else 0.0

    def cost(read: int) -> float:
        by_bytes = read / model.target_bytes
        return by_memory * by_bytes + (1 - by_memory) * max(by_bytes, layers / max(1, model.layers))

    def ratios(draft_cost: float) -> tuple[float, float]:
        step = tokens / (verify / plain + arm_depth * draft_cost)
        return step, 1 / (fixed_share + (1 - fixed_share) / step)

    arm_depth = arm.depth
    step_ratio, ratio = ratios(cost(size))
    head = model.mtp_head_bytes if arm.method == Method.MTP else 0
    trimmed: float | None = None
    if head and model.mtp_vocabulary > TRIMMED_ROWS:
        _, trimmed = ratios(cost(size - head + head * TRIMMED_ROWS // model.mtp_vocabulary))
    prediction = Prediction(
        tokens_per_step=tokens,
        verify_cost=verify / plain,
        draft_cost=cost(size),
        draft_bytes=size,
        head_bytes=head,
        step_ratio=step_ratio,
        ratio=ratio,
        trimmed_rows=TRIMMED_ROWS if trimmed is not None else None,
        trimmed_ratio=trimmed,
        words="",
    )
    return _explained(prediction, arm, lanes, acceptance, model)


def _explained(found: Prediction, arm: Arm, lanes: int, acceptance: Sequence[float], model: ModelFigures) -> Prediction:
    depth = arm.depth or 1
    drafting = depth * found.draft_cost
    passes = "its draft pass reads" if depth == 1 else f"each of its {depth} draft passes reads"
    words = (
        f"{acceptance[0]:.0%} of its first guesses are approved, so a step brings {found.tokens_per_step:.2f} tokens a"
        f" lane. But {passes} {found.draft_bytes / model.target_bytes:.0%} of the bytes of the model and costs"
        f" {found.draft_cost:.2f} plain steps, and checking {lanes * (1 + depth)} rows instead of {lanes} costs"
        f" {found.verify_cost:.2f}: {found.tokens_per_step:.2f} ÷ ({found.verify_cost:.2f} + {drafting:.2f}) ="
        f" {found.step_ratio:.2f} times plain, {found.ratio:.2f} with prompts and linking."
    )
    if found.step_ratio < 1:
        part = "the guesses cost" if drafting > found.verify_cost - 1 else "checking them costs"
        words += f" It loses because {part} more than the approved ones save."
    if found.trimmed_ratio is not None:
        words += (
            f" Its vocabulary head is {found.head_bytes / max(1, found.draft_bytes):.0%} of a draft pass: with one of"
            f" {found.trimmed_rows} rows (`pagec model trim`) it should reach {found.trimmed_ratio:.2f}."
        )
    elif found.head_bytes:
        words += (
            f" A trimmed head brings nothing here: the vocabulary has {model.mtp_vocabulary} words, and the head is"
            f" {found.head_bytes / max(1, found.draft_bytes):.0%} of a draft pass."
        )
    return replace(found, words=words)
