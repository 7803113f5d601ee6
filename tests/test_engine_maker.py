"""The engine that a build gets: with room for what it writes first, and with a trimmed head where there is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pagecompiler.build import CompileOptions, EngineSource, compile_spec
from pagecompiler.engine.child import ChildEngine
from pagecompiler.engine.hardware import Hardware, replica_count
from pagecompiler.engine.replicas import ReplicatedEngine
from pagecompiler.engine.trimmed import write_trimmed
from pagecompiler.engine.types import Decoding, Method
from pagecompiler.engine_maker import EngineMaker, with_trimmed_head
from pagecompiler.models import MINI, choose_model, file_digest, resolve_model
from pagecompiler.spec import load_spec
from tests.engine.tiny_models import write_qwen35
from tests.referees import ROOT


@pytest.mark.parametrize(("lanes", "tokens"), [(5, range(300, 2000)), (1, range(4096, 4097))])
def test_a_lane_gets_room_for_the_blocks_of_the_page(tmp_path: Path, lanes: int, tokens: range) -> None:
    notes: list[str] = []
    model = choose_model(MINI)
    source = EngineSource(model, EngineMaker(model, lanes, Decoding(), notes.append, verbose=True, child=False))
    options = CompileOptions(lanes=lanes, cache_dir=tmp_path / "cache")
    result = compile_spec(load_spec(ROOT / "specs" / "kettle.yaml"), source, options)
    source.close()
    assert result.ok
    found = re.search(r"(\d+) tokens a lane", notes[0])
    assert found and int(found[1]) in tokens


@pytest.mark.parametrize(
    ("lanes", "threads", "cores", "lanes_of_each"),
    [(10, None, 2, [5, 5]), (5, None, 16, [3, 3]), (10, 1, 2, [5, 5]), (10, 2, 2, [10]), (10, None, 1, [10]), (1, None, 2, [1])],
)  # fmt: skip
def test_a_batch_has_a_small_model_twice(
    monkeypatch: pytest.MonkeyPatch, lanes: int, threads: int | None, cores: int, lanes_of_each: list[int]
) -> None:
    monkeypatch.setattr("pagecompiler.engine.hardware.usable_threads", lambda: cores)
    notes: list[str] = []
    decoding = Decoding(hardware=Hardware(threads=threads))
    make = EngineMaker(choose_model(MINI), lanes, decoding, notes.append, verbose=True, child=True, spread=True)
    engine = make()
    engine.close()
    assert isinstance(engine, ReplicatedEngine if len(lanes_of_each) > 1 else ChildEngine)
    assert any(f"lanes {lanes_of_each[0]}," in note for note in notes)
    if isinstance(engine, ReplicatedEngine):
        assert len(engine.engines) == len(lanes_of_each) and notes[0].startswith("2 engines")


def test_a_large_model_is_loaded_once() -> None:
    assert (replica_count(16_000_000), replica_count(9_000_000_000, threads=1)) == (1, 1)


def test_a_trimmed_head_is_used_unless_something_else_was_asked_for(tmp_path: Path) -> None:
    path = write_qwen35(tmp_path / "m.gguf")
    head = tmp_path / "m.mtp-64.gguf"
    write_trimmed(path, head, range(64), file_digest(path))
    model = resolve_model(str(path), "--model")
    assert with_trimmed_head(Decoding(), model).draft_model == head
    assert with_trimmed_head(Decoding(Method.MTP), model).draft_model == head
    for other in (Decoding(Method.LOOKUP), Decoding(draft_model=path)):
        assert with_trimmed_head(other, model) == other
    assert with_trimmed_head(Decoding(), choose_model("reference")) == Decoding()
