"""Build results as the JSON object of `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pagecompiler.build import BlockResult, PageResult
from pagecompiler.diagnostics import Diagnostic

VERSION = 1


def pages_json(results: Iterable[PageResult]) -> dict[str, Any]:
    """The object of `compile --json`; its schema is `data/compile.schema.json`."""
    return {"version": VERSION, "pages": [page_json(result) for result in results]}


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
        "prompt_tokens": sum(completion.prompt_tokens for completion in done),
        "prompt_reused": sum(completion.prompt_reused for completion in done),
    }
