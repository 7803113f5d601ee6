"""Which methods of decoding can be chosen for a model, and what choosing one means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.shape import MTP_BLOCK, read_shape
from pagecompiler.engine.trimmed import find_trimmed
from pagecompiler.engine.types import Decoding, Method
from pagecompiler.models import MINI, MINI_DRAFT, ModelChoice, model_file

ORDER = (Method.PLAIN, Method.DRAFT, Method.MTP, Method.LOOKUP, Method.AUTO)


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """`decoding` is None where the method cannot be chosen; then `why` says why."""

    method: Method
    decoding: Decoding | None
    why: str = ""


def method_choices(model: ModelChoice, start: Decoding) -> tuple[MethodChoice, ...]:
    """All methods, with how to decode with each; `start` is what the watch was started with."""
    return tuple(_choice(method, model, start) for method in ORDER)


def _choice(method: Method, model: ModelChoice, start: Decoding) -> MethodChoice:
    if model.servers:
        return MethodChoice(method, None, "the server decides how it decodes")
    if model.path is None:
        return MethodChoice(method, None, "the reference engine writes by rule and guesses nothing")
    if method is start.method:
        return MethodChoice(method, start)
    decoding = replace(start, method=method, depth=None)
    guesses_itself = start.draft_model is not None and _has_mtp(start.draft_model)
    if method is Method.AUTO:
        return MethodChoice(method, decoding)
    if method is Method.DRAFT:
        if start.draft_model is not None and not guesses_itself:
            return MethodChoice(method, decoding)
        if model.name == MINI:
            return MethodChoice(method, replace(decoding, draft_model=model_file(MINI_DRAFT, "watch")[1]))
        return MethodChoice(method, None, "it needs a second, smaller model: start with --draft-model")
    if method is Method.MTP:
        if guesses_itself:
            return MethodChoice(method, decoding)
        if not _has_mtp(model.path) and find_trimmed(model.path, model.id) is None:
            return MethodChoice(method, None, f"{model.name} has no block for multi-token prediction")
    return MethodChoice(method, replace(decoding, draft_model=None, draft_device=None))


def _has_mtp(path: Path) -> bool:
    try:
        return read_shape(path).part(MTP_BLOCK) is not None
    except ModelLoadError:
        return False
