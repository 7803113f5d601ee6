"""Which methods can be chosen: those that would be refused are named with the reason."""

from __future__ import annotations

from pagecompiler.engine.types import Decoding, Method
from pagecompiler.models import MINI_DRAFT, ModelChoice, model_file, resolve_model
from pagecompiler.serve.methods import MethodChoice, method_choices


def choices(model: str | ModelChoice, start: Decoding | None = None) -> dict[str, MethodChoice]:
    chosen = resolve_model(model, "test") if isinstance(model, str) else model
    return {choice.method.value: choice for choice in method_choices(chosen, start or Decoding())}


def test_the_embedded_model_can_do_all() -> None:
    found = choices("pagec-mini")
    assert list(found) == ["plain", "draft", "mtp", "lookup", "auto"]
    assert all(choice.decoding is not None and choice.decoding.method == name for name, choice in found.items())
    draft = found["draft"].decoding
    assert draft is not None and draft.draft_model == model_file(MINI_DRAFT, "test")[1]


def test_a_model_without_a_block_for_it_cannot_do_mtp() -> None:
    path = model_file(MINI_DRAFT, "test")[1]
    found = choices(ModelChoice("small", path, "id", "test", None))
    assert found["mtp"].decoding is None and "multi-token prediction" in found["mtp"].why
    assert found["draft"].decoding is None and "--draft-model" in found["draft"].why
    assert found["lookup"].decoding is not None


def test_a_draft_model_that_was_given_is_for_draft_and_auto() -> None:
    path = model_file(MINI_DRAFT, "test")[1]
    found = choices("pagec-mini", Decoding(draft_model=path))
    used = {name: choice.decoding and choice.decoding.draft_model for name, choice in found.items()}
    assert used == {"plain": None, "draft": path, "mtp": None, "lookup": None, "auto": path}


def test_the_method_that_was_asked_for_stays_as_it_was() -> None:
    start = Decoding(method=Method.MTP, depth=3)
    found = choices("pagec-mini", start)
    assert found["mtp"].decoding == start
    assert found["auto"].decoding == Decoding()  # a depth is one for its method


def test_nothing_to_choose_where_nothing_guesses() -> None:
    assert {choice.decoding for choice in choices("reference").values()} == {None}
    served = ModelChoice("qwen", None, "served qwen", "http://localhost", None, ("http://localhost",))
    assert {choice.why for choice in choices(served).values()} == {"the server decides how it decodes"}
