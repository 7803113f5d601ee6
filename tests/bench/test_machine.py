"""The machine and the model as figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pagecompiler.bench.machine import describe_machine, describe_model, measure_bandwidth
from pagecompiler.bench.memory import forget_peak, peak_memory
from pagecompiler.engine.hardware import model_threads
from pagecompiler.engine.llama.library import Model
from pagecompiler.models import ModelChoice, resolve_model
from pagecompiler.reporting.bench_tables import machine_facts

from .sample import sample_result
from .test_text import shown


def test_sizes_of_the_embedded_models() -> None:
    model = resolve_model("pagec-mini", "test")
    draft = resolve_model("pagec-mini-draft", "test").path
    assert model.path is not None and draft is not None
    figures = describe_model(model, draft)
    assert figures.file_bytes == model.path.stat().st_size
    assert 0 < figures.mtp_bytes + figures.mtp_head_bytes < figures.target_bytes < figures.file_bytes
    assert 0 < figures.draft_bytes < figures.target_bytes and figures.draft_name == "pagec-mini-draft"
    assert figures.layers > figures.draft_layers > 0


def test_bandwidth_is_that_of_copying() -> None:
    assert measure_bandwidth(2, size=1 << 20) > 0


def test_the_peak_begins_anew() -> None:
    if peak_memory() is None:
        pytest.skip("this system does not tell")
    size = 64 << 20
    block = np.ones(size, np.uint8)
    before = peak_memory()
    del block
    forget_peak()
    after = peak_memory()
    assert before is not None and after is not None and before - after > size // 2


def test_nothing_names_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "secret-host")
    assert "secret-host" not in repr(describe_machine(resolve_model("pagec-mini", "test")))


def test_threads_are_those_that_a_pass_uses() -> None:
    model = resolve_model("pagec-mini", "test")
    assert model.path is not None
    loaded = Model(model.path, measure_only=True)
    assert describe_machine(model).threads == model_threads(loaded.parameters) == 1
    loaded.close()
    assert describe_machine(model, threads=3).threads == 3
    assert describe_machine(resolve_model("reference", "test")).threads == 1


def test_of_a_server_only_its_address_is_known() -> None:
    served = ModelChoice("m", None, "served m", "test", None, ("http://one:1/v1",))
    machine = describe_machine(served, threads=3)
    assert (machine.processor, machine.threads, machine.memory_bytes, machine.llama_cpp) == ("", None, None, "")
    result = replace(sample_result(), machine=machine, model=describe_model(served))
    assert shown(result).splitlines()[1] == f"http://one:1/v1; pagec {machine.pagec}"
    assert machine_facts(machine) == [("pagec", machine.pagec)]
