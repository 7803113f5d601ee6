"""`pagec model list` and `pagec model info`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.synthetic_model import QWEN35_9B, SMALL, write_model
from pagecompiler import cli, model_store
from pagecompiler.engine.llama import loading
from pagecompiler.engine.planner import Machine
from pagecompiler.engine.trimmed import write_trimmed
from tests.engine.tiny_models import write_llama, write_qwen35

Run = Callable[..., tuple[int, str, str]]
GIB = 1 << 30


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def runner(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return runner


@pytest.fixture(scope="module")
def qwen_9b(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("shape") / "any-name.gguf", QWEN35_9B, data=False)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {"llama": write_llama(folder / "l.gguf"), "qwen35": write_qwen35(folder / "q.gguf")}


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    def set_card(gibibytes: float) -> None:
        machine = Machine(16 * GIB, int(gibibytes * GIB), ("CUDA0",))
        monkeypatch.setattr(loading, "this_machine", lambda split: machine)

    return set_card


def test_list_names_what_there_is_and_marks_the_default(run: Run) -> None:
    path = model_store.models_dir() / "mine.gguf"
    path.parent.mkdir(parents=True)
    write_model(path, SMALL, data=False)
    Path("pagec.toml").write_text('model = "mine"', encoding="utf-8")
    code, out, err = run("model", "list")
    lines = out.splitlines()
    assert code == 0 and str(path.parent) in err
    assert "* mine" in out and [line for line in lines if line.startswith("  reference")]
    listed = json.loads(run("model", "list", "--json")[1])
    assert [model["name"] for model in listed["models"] if model["default"]] == ["mine"]


def test_list_tells_what_is_no_model_to_write_with(run: Run, tmp_path: Path) -> None:
    folder = model_store.models_dir()
    folder.mkdir(parents=True)
    model = write_qwen35(folder / "m.gguf")
    write_trimmed(model, folder / "m.mtp-64.gguf", range(64), "digest")
    origins = {each["name"]: each["origin"] for each in json.loads(run("model", "list", "--json")[1])["models"]}
    assert origins["m"] == "put there by hand" and origins["m.mtp-64"] == "a trimmed draft head"
    assert origins["pagec-mini-draft"] == "included, for --draft-model"


def test_info_of_the_shape_of_qwen35_9b(run: Run, qwen_9b: Path, card: Callable[[float], None]) -> None:
    card(22.5)
    code, out, _ = run("model", "info", str(qwen_9b))
    assert code == 0
    for text in (
        "qwen35: 8 attention and 24 recurrent layers",
        "MTP block     144.0 MiB (Q4_K 70 %, Q6_K 30 %, F32 0 %)",
        "248320 tokens",
        "output head       795.7 MiB (Q6_K 100 %)",
        "      5     2     5402     1305     1055",
        "6144 tokens a lane",
        "33 of 33 layers",
    ):
        assert text in out


def test_info_as_json(run: Run, qwen_9b: Path, card: Callable[[float], None]) -> None:
    card(6)
    report = json.loads(run("model", "info", str(qwen_9b), "--json")[1])
    assert report["mtp"]["layers"] == 1 and report["mtp"]["types"]["Q6_K"] > 0
    assert (report["token_bytes"], report["state_bytes"]) == (32 * 1024, 52_690_944)
    assert len(report["memory"]) == 10
    assert report["machine"]["runs"] and any("snapshots" in line for line in report["machine"]["lines"])


def test_a_name_that_says_mtp_is_no_block(run: Run, models: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "Qwen-MTP.gguf"
    path.write_bytes(models["llama"].read_bytes())
    out = run("model", "info", str(path))[1]
    assert "MTP block     none" in out and "no thinking to switch off" in out
    assert "thinking is switched off" in run("model", "info", str(models["qwen35"]))[1]


def test_a_cut_file_says_so(run: Run, models: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(models["qwen35"].read_bytes()[:-1000])
    assert "BYTES ARE MISSING" in run("model", "info", str(path))[1]


@pytest.mark.parametrize("name", ["absent", "hf:o/r"])
def test_what_is_not_there(run: Run, name: str) -> None:
    code, out, err = run("model", "info", name)
    assert (code, out) == (2, "") and name in err


def test_a_file_that_is_no_model(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "text.gguf"
    path.write_text("text", encoding="utf-8")
    code, _, err = run("model", "info", str(path))
    assert code == 1 and "does not begin with GGUF" in err
