"""The result of a bench as the JSON object of `--json`; its schema is `data/bench.schema.json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pagecompiler.bench.figures import ArmFigures, BenchResult, Load, LoadVerdict, Spread

VERSION = 1
_DIGITS = 6


def bench_json(result: BenchResult) -> dict[str, Any]:
    """Everything but the traced run. `arms` are those of all loads; speeds in tokens a second, times in seconds."""
    return {
        "version": VERSION,
        "spec": result.spec,
        "date": result.date,
        "command": result.command,
        "complete": result.complete,
        "seconds": _number(result.seconds),
        "runs": result.runs,
        "seed": result.seed,
        "temperature": result.temperature,
        "machine": {**asdict(result.machine), "gpus": list(result.machine.gpus)},
        "model": {**asdict(result.model), "servers": list(result.model.servers)},
        "loads": [_load(load) for load in result.loads],
        "arms": [_arm(figures) for load in result.loads for figures in load.arms],
        "reference": None if result.reference is None else _arm(result.reference),
        "rebuild": None
        if result.rebuild is None
        else {
            "block": result.rebuild.block,
            "items": result.rebuild.items,
            "anew": _arm(result.rebuild.anew),
            "previous": _arm(result.rebuild.previous),
        },
        "lead": None if result.lead is None else asdict(result.lead),
        "verdict": _verdict(result.verdict),
        "notes": list(result.notes),
    }


def _load(load: Load) -> dict[str, Any]:
    return {
        "lanes": load.lanes,
        "pages": load.pages,
        "group": load.group,
        "noise": load.noise,
        "verdict": _verdict(load.verdict),
    }


def _verdict(verdict: LoadVerdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {
        "method": verdict.arm.method,
        "depth": verdict.arm.depth,
        "lanes": verdict.lanes,
        "within_noise": verdict.within_noise,
        "outcome": verdict.outcome.value,
        "ratio": _number(verdict.ratio),
        "words": verdict.words,
    }


def _arm(figures: ArmFigures) -> dict[str, Any]:
    prediction = figures.prediction
    return {
        "method": figures.arm.method,
        "depth": figures.arm.depth,
        "lanes": figures.lanes,
        "runs": figures.runs,
        "accepted_runs": figures.accepted_runs,
        "judgement": figures.judgement.value,
        "tokens_per_second": _spread(figures.tokens_per_second),
        "time_to_page": _spread(figures.time_to_page),
        "ratio": _spread(figures.ratio),
        "first_text": _spread(figures.first_text),
        "groups": [
            {
                "name": group.name,
                "tokens": group.tokens,
                "tokens_per_second": _spread(group.tokens_per_second),
                "kept": _number(group.kept),
            }
            for group in figures.groups
        ],
        "kept": _number(figures.kept),
        "tokens": figures.tokens,
        "drafted": figures.drafted,
        "accepted": figures.accepted,
        "acceptance": _number(figures.acceptance),
        "acceptance_by_position": [_number(share) for share in figures.acceptance_by_position],
        "mean_accepted_length": _number(figures.mean_accepted_length),
        "rows_per_token": _number(figures.rows_per_token),
        "rows_per_pass": _number(figures.rows_per_pass),
        "target_passes": figures.target_passes,
        "draft_passes": figures.draft_passes,
        "prefill_share": _number(figures.prefill_share),
        "bytes_per_token": _number(figures.bytes_per_token),
        "bandwidth_share": _number(figures.bandwidth_share),
        "memory_bytes": figures.memory_bytes,
        "differences": [asdict(difference) for difference in figures.differences],
        "prediction": None if prediction is None else asdict(prediction),
        "problem": figures.problem,
    }


def _spread(spread: Spread | None) -> dict[str, float | None] | None:
    if spread is None:
        return None
    return {"median": _number(spread.median), "min": _number(spread.low), "max": _number(spread.high)}


def _number(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
