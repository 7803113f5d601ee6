"""What an arm should reach, from sizes of weights, the cost of a plain pass, of a verifying one, and its acceptance.

A step of depth K costs a pass of the target over K + 1 rows a lane, which is measured, and K passes of what drafts.
What such a pass should cost follows from its size: it reads fewer bytes, which counts for the part of a plain pass that
memory takes, and has fewer layers, which counts for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pagecompiler.bench.figures import Arm, MachineFigures, ModelFigures, Prediction
from pagecompiler.bench.run import Run
from pagecompiler.bench.summary import draft_bytes
from pagecompiler.engine.types import EngineStats, Method

TRIMMED_ROWS = 16_384
UNEXPLAINED = 1.25  # a draft pass that costs so many times what its size says has another reason


@dataclass(frozen=True, slots=True)
class PassCosts:
    """Seconds of a pass behind the prompts in a plain run, and in one of the arm: the target's own part, and what a
    draft pass took; `rows` are those of one verifying pass of either."""

    plain: float
    verify: float
    draft: float
    plain_rows: float
    verify_rows: float

    @classmethod
    def of(cls, plain: Run, guessing: Run) -> PassCosts | None:
        """None where an engine does not tell."""
        base, own = plain.stats, guessing.stats
        if not base.verify_passes or not own.verify_passes or not own.draft_passes:
            return None
        return cls(
            plain=_target_seconds(base),
            verify=_target_seconds(own),
            draft=own.draft_seconds / own.draft_passes,
            plain_rows=base.rows_per_pass,
            verify_rows=own.rows_per_pass,
        )


def predict(
    arm: Arm,
    acceptance: Sequence[float],
    costs: PassCosts | None,
    model: ModelFigures,
    machine: MachineFigures,
    *,
    fixed_share: float,
) -> Prediction | None:
    """The prediction for an arm whose guesses come from a model; None for others, and where costs are not known.

    `acceptance` is by position; `fixed_share` is the share of a plain run that no method makes faster.
    """
    if arm.method not in (Method.MTP, Method.DRAFT) or arm.depth is None or not acceptance:
        return None
    if costs is None or costs.plain <= 0 or not model.target_bytes:
        return None
    depth, tokens, verify = arm.depth, 1 + sum(acceptance), costs.verify / costs.plain
    layers = 1 if arm.method == Method.MTP else model.draft_layers
    by_memory = min(1.0, model.target_bytes / machine.bandwidth / costs.plain) if machine.bandwidth else 0.0

    def draft_cost(read: int) -> float:
        by_bytes = read / model.target_bytes
        return by_memory * by_bytes + (1 - by_memory) * max(by_bytes, layers / max(1, model.layers))

    def ratios(cost: float) -> tuple[float, float]:
        step = tokens / (verify + depth * cost)
        return step, 1 / (fixed_share + (1 - fixed_share) / step)

    size = draft_bytes(arm, model)
    step_ratio, ratio = ratios(draft_cost(size))
    head = model.mtp_head_bytes if arm.method == Method.MTP else 0
    trimmed: float | None = None
    if head and model.mtp_vocabulary > TRIMMED_ROWS:
        _, trimmed = ratios(draft_cost(size - head + head * TRIMMED_ROWS // model.mtp_vocabulary))
    found = Prediction(
        tokens_per_step=tokens,
        verify_cost=verify,
        draft_cost=draft_cost(size),
        draft_bytes=size,
        head_bytes=head,
        step_ratio=step_ratio,
        ratio=ratio,
        trimmed_rows=TRIMMED_ROWS if trimmed is not None else None,
        trimmed_ratio=trimmed,
        measured_draft_cost=costs.draft / costs.plain,
        words="",
    )
    return replace(found, words=_words(found, depth, acceptance[0], costs, model))


def _words(found: Prediction, depth: int, first: float, costs: PassCosts, model: ModelFigures) -> str:
    drafting = depth * found.draft_cost
    passes = "Its draft pass reads" if depth == 1 else f"Each of its {depth} draft passes reads"
    words = (
        f"{first:.0%} of the first guesses are approved, so a step brings {found.tokens_per_step:.2f} tokens a lane."
        f" {passes} {found.draft_bytes / model.target_bytes:.0%} of the bytes of the model and should cost"
        f" {found.draft_cost:.2f} plain passes; checking {costs.verify_rows:.1f} rows instead of"
        f" {costs.plain_rows:.1f} costs {found.verify_cost:.2f}."
        f" {found.tokens_per_step:.2f} ÷ ({found.verify_cost:.2f} + {drafting:.2f}) = {found.step_ratio:.2f} times"
        f" plain, {found.ratio:.2f} with prompts and linking."
    )
    cost, step_ratio = found.draft_cost, found.step_ratio
    if found.measured_draft_cost > UNEXPLAINED * cost:
        cost = found.measured_draft_cost
        step_ratio = found.tokens_per_step / (found.verify_cost + depth * cost)
        words += (
            f" But a draft pass took {cost:.2f} plain passes, more than its size explains: starting a pass costs as"
            f" much whatever it reads, which weighs less with a larger model. That makes it {step_ratio:.2f}."
        )
    if step_ratio < 1:
        dearest = "guessing costs" if depth * cost > found.verify_cost - 1 else "checking the guesses costs"
        words += f" It loses because {dearest} more than the approved guesses save."
    part = f"The vocabulary head is {found.head_bytes / max(1, found.draft_bytes):.0%} of what a draft pass reads"
    if found.trimmed_ratio is not None:
        words += (
            f" {part}: with one of {found.trimmed_rows} rows (`pagec model trim`) it should reach"
            f" {found.trimmed_ratio:.2f}."
        )
    elif found.head_bytes:
        words += f" {part}; with {model.mtp_vocabulary} words there is nothing to trim."
    return words


def _target_seconds(stats: EngineStats) -> float:
    return (stats.verify_seconds - stats.draft_seconds) / stats.verify_passes
