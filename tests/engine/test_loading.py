"""Loading by a plan: what is less is said, and a wrong plan is corrected step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pagecompiler.engine.base import OutOfMemoryError
from pagecompiler.engine.hardware import Hardware
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.llama.kinds import pace_key
from pagecompiler.engine.llama.loading import load_engine, memory_plan, this_machine
from pagecompiler.engine.llama.pace import Pace, Part
from pagecompiler.engine.llama.tuning import Tuning
from pagecompiler.engine.memory import MIB, memory_need
from pagecompiler.engine.planner import Machine
from pagecompiler.engine.room import Demand
from pagecompiler.engine.types import Decoding, Message, Method, Request

MTP = Decoding(method=Method.MTP)


def test_with_room_nothing_is_said(hybrid_path: Path) -> None:
    with load_engine(hybrid_path, lanes=2, context_tokens=512, decoding=MTP) as engine:
        assert engine.notes == ()
        engine.submit(Request((Message("user", "a"),), max_tokens=4, label="a"))
        assert [event.kind for event in engine.events()][-1] == "finished"


DEMAND = Demand((Message("system", "x" * 300), Message("user", "y" * 100)), max_tokens=60)


def test_the_room_of_a_lane_is_what_is_to_be_written(hybrid_path: Path) -> None:
    with load_engine(hybrid_path, lanes=5, context_tokens=1024, demands=[DEMAND], decoding=MTP) as engine:
        assert engine.context_tokens == 400 // 2 + 60
    with load_engine(hybrid_path, lanes=1, context_tokens=1024, demands=[DEMAND], decoding=MTP) as engine:
        assert engine.context_tokens == 1024  # the only lane must hold any block of a later page


def test_where_memory_is_short_the_tokens_are_counted(hybrid_path: Path) -> None:
    demand = Demand((Message("user", " the" * 200),), max_tokens=60)
    plan = memory_plan(hybrid_path, lanes=5, context_tokens=460, kept_tokens=400, machine=Machine(None))
    assert plan is not None
    short = Machine(plan.on_host - memory_need(plan.shape, plan.load).weights - 1)
    with load_engine(hybrid_path, lanes=5, context_tokens=1024, demands=[demand], machine=short) as engine:
        prompt = engine._prompts.write(demand.messages)
        assert engine.context_tokens == len(prompt.tokens) + 60 < 460
        assert not any("tokens a lane" in note for note in engine.notes), "what is counted fits"


def test_a_model_for_short_texts_is_said(hybrid_path: Path) -> None:
    with load_engine(hybrid_path, lanes=1, context_tokens=6144) as engine:
        assert engine.notes == ("the model was trained for 2048 tokens, a lane gets no more",)
        assert engine.context_tokens == 2048


def test_layers_for_a_card_that_is_not_there_are_said(hybrid_path: Path) -> None:
    decoding = Decoding(method=Method.PLAIN, hardware=Hardware(gpu_layers=3))
    with load_engine(hybrid_path, lanes=1, context_tokens=512, decoding=decoding, machine=Machine(None)) as engine:
        assert "no GPU for 3 layers" in engine.notes[0]


@pytest.mark.parametrize(("keys", "values", "told"), [("q8_0", "q8_0", 0), ("q8_0", "f16", 1), ("q5_1", "q5_1", 1)])
def test_formats_without_a_kernel_on_cuda_are_said(hybrid_path: Path, keys: str, values: str, told: int) -> None:
    decoding = Decoding(Method.PLAIN, hardware=Hardware(kv_k=keys, kv_v=values))
    card = Machine(None, 1 << 40, ("CUDA0",))
    with load_engine(hybrid_path, lanes=1, context_tokens=512, decoding=decoding, machine=card) as engine:
        assert sum("no flash attention for keys" in note for note in engine.notes) == told


def test_no_more_layers_than_asked_for_go_to_the_card(hybrid_path: Path) -> None:
    card = Machine(None, 1 << 40, ("GPU",))
    decoding = Decoding(method=Method.PLAIN, hardware=Hardware(gpu_layers=3, ubatch=64))
    plan = memory_plan(hybrid_path, decoding=decoding, machine=card)
    assert plan is not None and (plan.gpu_layers, plan.load.chunk) == (3, 64)


def test_what_is_planned_is_what_llama_cpp_is_asked_for(hybrid_path: Path) -> None:
    plan = memory_plan(hybrid_path, lanes=3, context_tokens=700, decoding=MTP)
    assert plan is not None
    with load_engine(hybrid_path, lanes=3, context_tokens=700, decoding=MTP) as engine:
        assert engine._context.tokens == plan.load.tokens
        assert engine._context.rollback == plan.load.depth


def test_verbose_says_what_guesses_this_time(hybrid_path: Path, tmp_path: Path) -> None:
    said = []
    for _ in range(2):
        with load_engine(
            hybrid_path, lanes=2, context_tokens=512, verbose=True, decoding=Decoding(), tuning=tmp_path / "t.json"
        ) as engine:
            said.append(engine.notes[1])
        Tuning(tmp_path / "t.json").keep_pace(pace_key(engine.tuning_key, 2), Pace({2: Part(400, 1.0)}))
    assert said == ["auto: guesses by nothing", "auto: guesses by mtp and lookup"]


def test_verbose_says_what_goes_where(hybrid_path: Path) -> None:
    with load_engine(hybrid_path, lanes=2, context_tokens=512, verbose=True) as engine:
        assert engine.notes[0].startswith("memory: ") and "512 tokens a lane" in engine.notes[0]


def test_little_memory_means_fewer_snapshots_and_a_smaller_context_said(hybrid_path: Path) -> None:
    plan = memory_plan(hybrid_path, lanes=5, context_tokens=2048, decoding=MTP, machine=Machine(None))
    assert plan is not None
    room = plan.on_host - plan.shape.weights
    with load_engine(hybrid_path, lanes=5, context_tokens=2048, decoding=MTP, machine=Machine(room - 1)) as engine:
        assert engine.notes[0] == "memory: 3 snapshots do not fit, guesses are at most 2 deep"
        assert engine.context_tokens == 2048


def test_none_is_an_error_before_anything_is_loaded(hybrid_path: Path) -> None:
    def make(*args: Any, **keys: Any) -> LlamaEngine:
        raise AssertionError

    with pytest.raises(OutOfMemoryError, match="are free"):
        load_engine(hybrid_path, machine=Machine(MIB), make=make)


class Failing:
    """An engine that loads with `depth` and `layers` only."""

    def __init__(self, depth: int, context: int) -> None:
        self.depth, self.context = depth, context
        self.tried: list[tuple[int, int, int]] = []

    def __call__(self, path: Path, **keys: Any) -> LlamaEngine:
        self.tried.append((keys["deepest"], keys["context_tokens"], keys["gpu_layers"]))
        if keys["deepest"] > self.depth or keys["context_tokens"] > self.context:
            raise OutOfMemoryError("no room", hint="native")
        return LlamaEngine(path, **{**keys, "gpu_layers": 0})


def test_what_llama_cpp_refuses_is_tried_smaller(hybrid_path: Path) -> None:
    make = Failing(depth=2, context=4096)
    with load_engine(hybrid_path, lanes=1, context_tokens=2048, decoding=MTP, make=make) as engine:
        assert [depth for depth, _, _ in make.tried] == [3, 2]
        assert engine.notes == ("memory: 3 snapshots do not fit, guesses are at most 2 deep",)


def test_in_the_end_it_gives_up_with_a_hint(hybrid_path: Path) -> None:
    make = Failing(depth=-1, context=0)
    card = Machine(None, 1 << 40, ("GPU",))
    with pytest.raises(OutOfMemoryError) as caught:
        load_engine(hybrid_path, lanes=1, context_tokens=2048, decoding=MTP, machine=card, make=make)
    assert "--lanes" in caught.value.hint
    depths, layers = [t[0] for t in make.tried], [t[2] for t in make.tried]
    assert depths[:3] == [3, 2, 1] and layers[:3] == [-1, -1, -1] and layers[-1] == 0


def test_this_machine() -> None:
    machine = this_machine()
    assert bool(machine.gpus) == bool(machine.gpu_free)


def test_a_draft_model_is_counted(hybrid_path: Path) -> None:
    draft = Decoding(method=Method.DRAFT, draft_model=hybrid_path)
    plan, alone = (memory_plan(hybrid_path, decoding=d, machine=Machine(None)) for d in (draft, Decoding(Method.PLAIN)))
    assert plan is not None and alone is not None
    assert plan.extra > plan.shape.weights / 2 and alone.extra == 0
