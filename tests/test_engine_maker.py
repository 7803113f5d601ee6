"""The engine that a build gets: with room for what it writes first, and with a trimmed head where there is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pagecompiler.build import CompileOptions, EngineSource, compile_spec
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
