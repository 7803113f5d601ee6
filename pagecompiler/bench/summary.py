"""From the runs of an arm to its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from statistics import median

from pagecompiler.bench.figures import (
    Arm,
    ArmFigures,
    GroupFigures,
    Judgement,
    Load,
    MachineFigures,
    ModelFigures,
    Spread,
)
from pagecompiler.bench.run import Answer, Run
from pagecompiler.engine.types import Method


def arm_figures(
    arm: Arm,
    lanes: int,
    runs: Sequence[Run],
    ratios: Sequence[float],
    judgement: Judgement,
    *,
    machine: MachineFigures,
    model: ModelFigures,
) -> ArmFigures:
    """The figures of at least one timed run."""
    accepted = [run for run in runs if run.accepted]
    typical = typical_run(runs)
    bytes_per_token = _bytes_per_token(arm, typical, model)
    speed = spread_of(accepted, lambda run: run.speed)
    share = None
    if bytes_per_token is not None and typical.speed is not None and machine.bandwidth:
        share = bytes_per_token * typical.speed / machine.bandwidth
    completions = [answer.completion for answer in typical.answers]
    drafted, approved = sum(c.drafted for c in completions), sum(c.accepted for c in completions)
    guesses = _sums(c.drafted_by_position for c in completions)
    hits = _sums(c.accepted_by_position for c in completions)
    stats = typical.stats
    if not drafted and stats.drafted:  # a server that counts for all requests together
        drafted, approved = stats.drafted, stats.accepted
        hits = list(stats.accepted_by_position)
        guesses = [stats.verify_passes] * len(hits)
    return ArmFigures(
        arm=arm,
        lanes=lanes,
        runs=len(runs),
        accepted_runs=len(accepted),
        judgement=judgement,
        time_to_page=spread_of(accepted, lambda run: run.page_seconds),
        tokens_per_second=speed,
        ratio=Spread.of(ratios) if ratios else None,
        first_text=spread_of(accepted, lambda run: run.first_text),
        groups=tuple(_groups(accepted)),
        tokens=typical.tokens,
        drafted=drafted,
        accepted=approved,
        acceptance=approved / drafted if drafted else None,
        acceptance_by_position=tuple(hit / count for hit, count in zip(hits, guesses, strict=False) if count),
        mean_accepted_length=1 + approved / guesses[0] if guesses and guesses[0] else None,
        rows_per_token=stats.verify_rows / stats.tokens if stats.verify_rows and stats.tokens else None,
        rows_per_pass=stats.rows_per_pass or None,
        target_passes=stats.target_passes or None,
        draft_passes=stats.draft_passes if stats.target_passes else None,
        prefill_share=_prefill_share(typical),
        bytes_per_token=bytes_per_token,
        bandwidth_share=share,
        memory_bytes=max((run.memory for run in runs if run.memory is not None), default=None),
        problem=_problem(runs, accepted),
    )


def typical_run(runs: Sequence[Run]) -> Run:
    """The run with the median speed, of those with valid pages where there are some; its counts are shown."""
    ordered = sorted([run for run in runs if run.accepted] or runs, key=lambda run: run.speed or 0.0)
    return ordered[(len(ordered) - 1) // 2]


def spread_of(runs: Iterable[Run], figure: Callable[[Run], float | None]) -> Spread | None:
    """The spread of a figure over the runs that have it."""
    values = [value for run in runs if (value := figure(run)) is not None]
    return Spread.of(values) if values else None


def lane_speed(answers: Iterable[Answer]) -> float | None:
    """Tokens a second of a lane while it wrote these blocks."""
    answers = [answer for answer in answers if answer.accepted and answer.seconds > 0]
    tokens, seconds = sum(answer.tokens for answer in answers), sum(answer.seconds for answer in answers)
    return tokens / seconds if tokens and seconds else None


def with_kept(load: Load, alone: Load) -> Load:
    """The load with the share of its speed alone that a lane keeps, for the group that was written alone."""
    if not alone.group or load.lanes == alone.lanes:
        return load
    arms = []
    for figures in load.arms:
        single = alone.find(figures.arm)
        speeds = {group.name: group.tokens_per_second.median for group in (single.groups if single else ())}
        groups = tuple(
            replace(group, kept=group.tokens_per_second.median / speeds[group.name]) if group.name in speeds else group
            for group in figures.groups
        )
        kept = next((group.kept for group in groups if group.kept is not None), None)
        arms.append(replace(figures, groups=groups, kept=kept))
    return replace(load, arms=tuple(arms))


def draft_bytes(arm: Arm, model: ModelFigures) -> int:
    """The weights that one draft pass of an arm reads."""
    if arm.method in (Method.MTP, Method.AUTO):
        return model.mtp_bytes + model.mtp_head_bytes
    return model.draft_bytes if arm.method == Method.DRAFT else 0


def _groups(runs: Sequence[Run]) -> Iterable[GroupFigures]:
    names = dict.fromkeys(answer.group for run in runs for answer in run.answers)
    for name in names:
        own = [[answer for answer in run.answers if answer.group == name] for run in runs]
        speeds = [speed for answers in own if (speed := lane_speed(answers)) is not None]
        if speeds:
            tokens = int(median(sum(answer.tokens for answer in answers if answer.accepted) for answers in own))
            yield GroupFigures(name, tokens, Spread.of(speeds))


def _sums(rows: Iterable[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip_longest(*rows, fillvalue=0)]


def _prefill_share(run: Run) -> float | None:
    stats = run.stats
    steps = stats.target_seconds + stats.draft_seconds + stats.python_seconds
    if not stats.target_passes or run.write_seconds <= 0:
        return None
    return max(0.0, steps - stats.verify_seconds) / run.write_seconds


def _bytes_per_token(arm: Arm, run: Run, model: ModelFigures) -> float | None:
    if not model.target_bytes or not run.stats.tokens:
        return None
    stats = run.stats
    read = model.target_bytes * stats.target_passes + draft_bytes(arm, model) * stats.draft_passes
    return read / stats.tokens


def _problem(runs: Sequence[Run], accepted: Sequence[Run]) -> str:
    refused = [run for run in runs if not run.accepted]
    if not refused:
        return ""
    why = refused[0].diagnostics[0].message if refused[0].diagnostics else "a block was refused"
    return f"{len(refused)} of {len(runs)} runs did not make a valid page: {why}"
