"""Models for the engine tests: tiny ones with random weights, and the embedded one."""

from __future__ import annotations

from pathlib import Path

import pytest

import pagecompiler

from .evaluation import Evaluation
from .tiny_models import write_llama, write_qwen35

MINI = Path(pagecompiler.__file__).parent / "data" / "models" / "pagec-mini.gguf"
WRITERS = {"llama": write_llama, "qwen35": write_qwen35}
MODELS = [*WRITERS, "pagec-mini"]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    written = {name: write(folder / f"{name}.gguf") for name, write in WRITERS.items()}
    return {**written, "pagec-mini": MINI}


@pytest.fixture(params=MODELS)
def model_path(request: pytest.FixtureRequest, models: dict[str, Path]) -> Path:
    return models[request.param]


@pytest.fixture
def hybrid_path(models: dict[str, Path]) -> Path:
    return models["qwen35"]


@pytest.fixture
def evaluation(model_path: Path):
    with Evaluation(model_path) as found:
        yield found
