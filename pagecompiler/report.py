"""Build results as the JSON object of `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pagecompiler.build import BlockResult, PageResult
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.engine.types import EngineStats

VERSION = 1


def pages_json(results: Iterable[PageResult], spent: EngineStats | None = None) -> dict[str, Any]:
    """The object of `compile --json`; its schema is `data/compile.schema.json`.

    `spent` is what the engine did for these pages; None where no model was needed.
    """
    pages = [page_json(result) for result in results]
    return {"version": VERSION, "pages": pages, "engine": None if spent is None else engine_json(spent)}


def engine_json(spent: EngineStats) -> dict[str, Any]:
    """What an engine did for all lanes together."""
    return {
        "tokens": spent.tokens,
        "drafted": spent.drafted,
        "accepted": spent.accepted,
        "accepted_by_position": list(spent.accepted_by_position),
        "mean_accepted_length": _ratio(spent.accepted, spent.verify_passes),
        "target_passes": spent.target_passes,
        "draft_passes": spent.draft_passes,
        "verify_passes": spent.verify_passes,
        "rows_per_pass": _ratio(spent.verify_rows, spent.verify_passes),
        "prompt_tokens": spent.prompt_tokens,
        "prompt_reused": spent.prompt_reused,
        "target_seconds": round(spent.target_seconds, 4),
        "draft_seconds": round(spent.draft_seconds, 4),
        "draft_device": spent.draft_device,
        "python_seconds": round(spent.python_seconds, 4),
    }


def _ratio(count: int, of: int) -> float:
    return round(count / of, 3) if of else 0.0


def check_json(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """The object of `check --json`; its schema is `data/check.schema.json`."""
    return {"version": VERSION, "diagnostics": [finding.to_json() for finding in diagnostics]}


def page_json(result: PageResult) -> dict[str, Any]:
    return {
        "spec": result.spec,
        "output": str(result.output) if result.output else None,
        "ok": result.ok,
        "seconds": round(result.seconds, 4),
        "method": result.method,
        "model": result.model,
        "groups": _groups(result),
        "diagnostics": [finding.to_json() for finding in result.diagnostics],
    }


def _groups(result: PageResult) -> list[dict[str, Any]]:
    if result.plan is None:
        return []
    by_name = {block.block.name: block for block in result.blocks}
    return [_group(group.name, [by_name[b.name] for b in group.blocks]) for group in result.plan.groups]


def _group(name: str, blocks: Sequence[BlockResult]) -> dict[str, Any]:
    done = [completion for block in blocks for completion in block.completions]
    states = {block.state for block in blocks}
    state = "failed" if "failed" in states else "built" if "built" in states else "reused"
    positions = [completion.accepted_by_position for completion in done]
    longest = max((len(position) for position in positions), default=0)
    passes = sum(completion.verify_passes for completion in done)
    return {
        "name": name,
        "state": state,
        "blocks": [block.block.name for block in blocks],
        "attempts": max((len(block.completions) for block in blocks), default=0),
        "tokens": sum(len(completion.tokens) for completion in done),
        "seconds": round(sum(completion.seconds for completion in done), 4),
        "drafted": sum(completion.drafted for completion in done),
        "accepted": sum(completion.accepted for completion in done),
        "accepted_by_position": [sum(p[i] for p in positions if i < len(p)) for i in range(longest)],
        "target_passes": sum(completion.target_passes for completion in done),
        "draft_passes": sum(completion.draft_passes for completion in done),
        "verify_passes": passes,
        "rows_per_pass": _ratio(sum(completion.verify_rows for completion in done), passes),
        "mean_accepted_length": _ratio(sum(completion.accepted for completion in done), passes),
        "prompt_tokens": sum(completion.prompt_tokens for completion in done),
        "prompt_reused": sum(completion.prompt_reused for completion in done),
        "target_seconds": round(sum(completion.target_seconds for completion in done), 4),
        "draft_seconds": round(sum(completion.draft_seconds for completion in done), 4),
        "python_seconds": round(sum(completion.python_seconds for completion in done), 4),
    }
