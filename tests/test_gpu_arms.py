"""The GPU benchmark runs, on the CPU and on a small model: its rollbacks keep both memories in step."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.gpu_arms import Arm, run_arm
from benchmarks.synthetic_model import SMALL, write_model
from pagecompiler.engine.llama.library import Model
from pagecompiler.engine.trimmed import write_trimmed
from tests.referees import ROOT


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("arms")
    model = write_model(folder / "m.gguf", replace(SMALL, layers=4, vocabulary=1024))
    write_trimmed(model, folder / "t.gguf", range(256), "synthetic")
    return model, folder / "t.gguf"


@pytest.mark.parametrize(
    "arm", [Arm("plain", 2, 0), Arm("mtp", 1, 3), Arm("mtp", 3, 2), Arm("trimmed", 2, 1), Arm("argmax", 2, 1, True)]
)
def test_an_arm(files: tuple[Path, Path], arm: Arm) -> None:
    target = Model(files[0], load_mtp=True)
    drafter = Model(files[1], load_mtp=True) if arm.method == "trimmed" else target
    words = 256 if arm.method == "trimmed" else 1024
    result = run_arm(target, drafter if arm.depth else None, arm, seconds=0.2, words=words, sizes=(1000, 10))
    assert result.passes > 0
    assert arm.lanes <= result.tokens_per_pass <= arm.lanes * (1 + arm.depth)
    if drafter is not target:
        drafter.close()
    target.close()


def test_the_script_is_bash() -> None:
    script = ROOT / "benchmarks" / "gpu.sh"
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    wrong = subprocess.run(["bash", script, "--fast"], check=False, capture_output=True, text=True)
    assert wrong.returncode == 2 and "--dry-run" in wrong.stderr
