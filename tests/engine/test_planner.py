"""The memory plan: everything where it fits, else less in a fixed order, each step said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.synthetic_model import QWEN35_9B, write_model
from pagecompiler.engine.base import OutOfMemoryError
from pagecompiler.engine.memory import MIB, Load
from pagecompiler.engine.planner import Machine, MemoryPlan, changes, host_free_bytes, plan_memory, smaller
from pagecompiler.engine.shape import Shape, read_shape

GIB = 1 << 30
WANTED = Load(lanes=5, depth=3, context=4096, chunk=512, outputs=67, mtp=True)


@pytest.fixture(scope="module")
def shape(tmp_path_factory: pytest.TempPathFactory) -> Shape:
    return read_shape(write_model(tmp_path_factory.mktemp("shape") / "9b.gguf", QWEN35_9B, data=False))


def card(gibibytes: float) -> Machine:
    return Machine(32 * GIB, int(gibibytes * GIB), ("CUDA0",))


def test_everything_on_a_large_card(shape: Shape) -> None:
    plan = plan_memory(shape, WANTED, card(22.5))
    assert (plan.load, plan.gpu_layers) == (WANTED, -1)
    assert plan.describe().startswith("memory: 7.") and "33 of 33 layers" in plan.describe()
    assert not plan.warnings()


def test_less_in_the_stated_order(shape: Shape) -> None:
    plans = [plan_memory(shape, WANTED, card(size / 4), floor=2048) for size in range(40, 8, -1)]
    seen = list(dict.fromkeys((p.load.depth, p.load.context, p.layers) for p in plans))
    for depth, context, layers in seen:
        assert context == 4096 or depth == 1
        assert layers == 33 or (depth, context) == (1, 2048)
    assert [depth for depth, context, _ in seen if context == 4096] == [3, 2, 1]
    assert seen[-1][2] < 10
    assert all(p.load.lanes == 5 and p.on_device < p.machine.gpu_free for p in plans)


def test_what_is_less_is_said(shape: Shape) -> None:
    full, tight = plan_memory(shape, WANTED, card(24)), plan_memory(shape, WANTED, card(4), floor=2048)
    assert changes(full, full) == []
    assert [line.split()[1] for line in changes(full, tight)] == ["3", "4096", str(tight.layers)]


def test_without_a_gpu_weights_may_be_larger_than_the_memory_and_that_is_said(shape: Shape) -> None:
    plan = plan_memory(shape, WANTED, Machine(6 * GIB))
    assert (plan.gpu_layers, plan.load) == (0, WANTED)
    assert "read from the disk" in plan.warnings()[0]
    assert plan_memory(shape, WANTED, Machine(None)).warnings() == []


def test_what_cannot_fit_is_an_error_with_figures(shape: Shape) -> None:
    with pytest.raises(OutOfMemoryError, match=r"needs \d.* GiB of memory besides its weights, 0.3 GiB are free"):
        plan_memory(shape, WANTED, Machine(300 * MIB))


def test_steps_end(shape: Shape) -> None:
    plan: MemoryPlan | None = plan_memory(shape, WANTED, card(24))
    steps = 0
    while plan is not None:
        plan, steps = smaller(plan), steps + 1
    assert 33 < steps < 60


def test_an_attention_model_has_no_snapshots_to_save(shape: Shape) -> None:
    plan = smaller(plan_memory(replace(shape, state_bytes=0), WANTED, card(24)))
    assert plan is not None and plan.load.depth == 3


def test_the_free_memory_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    free = host_free_bytes()
    assert free is None or free > MIB
    monkeypatch.setattr(Path, "read_text", lambda *args, **keys: "nonsense")
    assert host_free_bytes() is None
