"""`pagec model trim`: rows copied untouched, tables that fit, a file that llama.cpp runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from benchmarks.synthetic_model import QWEN35_9B, SMALL, write_model
from benchmarks.trimmed_head import trim, unseen_requests
from pagecompiler import cli
from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.gguf_header import read_header
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.target import Batch
from pagecompiler.engine.shape import read_shape
from pagecompiler.engine.trimmed import draft_bytes, read_trimmed, write_trimmed
from pagecompiler.engine.types import Decoding, Method
from pagecompiler.models import MINI as MINI_NAME
from pagecompiler.prompts import PromptStyle
from pagecompiler.resources import data_path
from pagecompiler.trim import choose_rows, read_texts, written_texts
from tests.engine.evaluation import Evaluation
from tests.engine.tiny_models import MERGES, vocabulary, write_llama, write_qwen35
from tests.referees import ROOT

MINI = data_path("models") / f"{MINI_NAME}.gguf"
KETTLE = ROOT / "specs" / "kettle.yaml"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_qwen35(tmp_path_factory.mktemp("trim") / "q.gguf")


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of the shape and the number formats of Qwen3.5-9B at Q4_K_M."""
    return write_model(tmp_path_factory.mktemp("trim") / "small.gguf", replace(SMALL, vocabulary=2048))


def rows_of(path: Path, name: str) -> np.ndarray:
    return next(np.array(t.data) for t in gguf.GGUFReader(path).tensors if t.name == name)


def test_rows_are_copied_as_they_are_quantised(quantised: Path, tmp_path: Path) -> None:
    kept = [5, 1, 2000, 77]
    write_trimmed(quantised, tmp_path / "t.gguf", kept, "digest")
    for name in ("token_embd.weight", "output.weight"):
        assert (rows_of(tmp_path / "t.gguf", name) == rows_of(quantised, name)[kept]).all()
    names = {tensor.name for tensor in read_header(tmp_path / "t.gguf").tensors}
    assert {name.split(".")[1] for name in names if name.startswith("blk.")} == {"8"}
    assert (rows_of(tmp_path / "t.gguf", "blk.8.ffn_down.weight") == rows_of(quantised, "blk.8.ffn_down.weight")).all()


def test_the_tables_map_both_ways(model: Path, tmp_path: Path) -> None:
    kept = list(range(0, 270, 3))
    write_trimmed(model, tmp_path / "t.gguf", kept, "digest")
    tables = read_trimmed(tmp_path / "t.gguf")
    assert tables.rows.tolist() == kept and tables.source == "digest"
    assert [int(tables.rows[tables.mirror[token]]) for token in kept] == kept
    assert len(tables.mirror) == len(vocabulary()[0])


def test_an_unseen_token_is_mirrored_by_its_nearest_row(model: Path, tmp_path: Path) -> None:
    kept = list(range(0, 270, 3))
    write_trimmed(model, tmp_path / "t.gguf", kept, "digest")
    mirror = read_trimmed(tmp_path / "t.gguf").mirror
    table = rows_of(model, "token_embd.weight")
    table = table / np.linalg.norm(table, axis=1, keepdims=True)
    nearest = (table @ table[kept].T).argmax(axis=1)
    assert (mirror == nearest).all()


def test_llama_cpp_runs_it_and_its_logits_are_those_of_the_kept_words(model: Path, tmp_path: Path) -> None:
    kept = list(range(0, 270, 3))
    write_trimmed(model, tmp_path / "t.gguf", kept, "digest")
    hidden = np.random.default_rng(1).normal(0, 1, (2, 128)).astype(np.float32)
    logits = []
    for path, tokens in ((model, [kept[7], kept[11]]), (tmp_path / "t.gguf", [7, 11])):
        loaded = Model(path, load_mtp=True)
        context = Context(loaded, tokens=256, sequences=1, rows=8, outputs=4, threads=1, mtp=True)
        batch = Batch()
        batch.add(0, tokens, 0, wanted=2)
        logits.append(context.decode(batch, hidden).copy())
        context.close()
        loaded.close()
    assert logits[1].shape == (2, len(kept))
    assert np.abs(logits[0][:, kept] - logits[1]).max() < 1e-3


def test_the_quantised_one_runs_too(quantised: Path, tmp_path: Path) -> None:
    sizes = write_trimmed(quantised, tmp_path / "t.gguf", list(range(256)), "digest")
    assert sizes.before > sizes.after
    loaded = Model(tmp_path / "t.gguf", load_mtp=True)
    context = Context(loaded, tokens=256, sequences=1, rows=8, outputs=4, threads=1, mtp=True)
    batch = Batch()
    batch.add(0, [1], 0, wanted=1)
    assert np.isfinite(context.decode(batch, np.ones((1, loaded.width), np.float32))).all()
    context.close()
    loaded.close()


def test_what_is_read_in_a_draft_step_of_qwen35_9b(tmp_path: Path) -> None:
    shape = read_shape(write_model(tmp_path / "9b.gguf", QWEN35_9B, data=False))
    sizes = draft_bytes(shape, 32_768)
    assert (sizes.before >> 20, sizes.after >> 20) == (939, 248)


class Unused:
    """A vocabulary that is mostly padding: words that write nothing."""

    size = 5000

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        return [4000 + int(word) for word in text.split()]

    def piece(self, token: int) -> bytes:
        return b"word" if token >= 4000 else b"a" if token == 7 else b""

    def is_end(self, token: int) -> bool:
        return token == 3


def test_padding_takes_no_row_from_what_is_written() -> None:
    assert choose_rows(Unused(), 5, ["1 2 2"], ["5"]) == [3, 7, 4001, 4002, 4005]


def test_rows_hold_bytes_ends_specs_and_then_low_ids(model: Path) -> None:
    words = Model(model, measure_only=True)
    texts = list(written_texts([KETTLE, Path("absent.yaml")]))
    rows = choose_rows(words, 264, texts)
    assert len(rows) == 264 and rows == sorted(rows)
    assert set(range(5, 5 + 256)) | {2} <= set(rows)  # bytes and the end token
    written = {token for text in texts for token in words.tokenize(text, parse_special=True)}
    assert {token for token in rows if token >= 261} <= written
    assert len(choose_rows(words, 10_000, texts)) == words.size
    assert 261 + MERGES.index("t h") in choose_rows(words, 260, ["th"], ["{{"] * 9), "what is written goes before"
    words.close()


def test_texts_of_a_spec_count_where_a_model_is_shown_them() -> None:
    shown = {style: "".join(read_texts([KETTLE], style)) for style in PromptStyle}
    assert "in 90 seconds" in shown[PromptStyle.FULL] and "in 90 seconds" not in shown[PromptStyle.COMPACT]
    assert "{{1}}" in shown[PromptStyle.COMPACT]
    assert "<h1>" in "".join(written_texts([])), "the specs that come with pagec are always read"


def test_a_trimmed_head_guesses_as_well_on_specs_it_was_not_cut_for(tmp_path: Path) -> None:
    """Approved by the model token for token, and within two points of the whole head."""
    trim(MINI, tmp_path / "few.gguf", rows=512)
    requests = [replace(each, slots=frozenset(), max_tokens=100) for each in unseen_requests(15)]
    shares = []
    for head in (None, tmp_path / "few.gguf"):
        decoding = Decoding(Method.MTP, depth=2, draft_model=head)
        with LlamaEngine(MINI, lanes=5, context_tokens=1024, decoding=decoding) as engine:
            numbers = [engine.submit(request) for request in requests]
            ended = {event.request: event.completion for event in engine.events() if event.completion}
        completions = [ended[number] for number in numbers]
        with Evaluation(MINI) as evaluation:
            evaluation.check_approved(requests, completions)
        shares.append(100 * sum(c.accepted for c in completions) / sum(c.drafted for c in completions))
    assert shares[0] > 90 and shares[1] > shares[0] - 2, shares


def test_the_command(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(model.read_bytes())
    with pytest.raises(SystemExit) as caught:
        cli.main(["model", "trim", str(path), "--rows", "264", "--corpus", str(KETTLE)])
    captured = capsys.readouterr()
    assert caught.value.code == 0 and captured.out.strip() == str(tmp_path / "m.mtp-264.gguf")
    assert "times less" in captured.err
    assert len(read_trimmed(tmp_path / "m.mtp-264.gguf").source) == 64
    assert not list(tmp_path.glob("*.part"))


def test_a_model_with_fewer_words_is_left_alone(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(model.read_bytes())
    with pytest.raises(SystemExit) as caught:
        cli.main(["model", "trim", str(path)])
    assert caught.value.code == 2 and "there is nothing to cut" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path], "what lies beside a model is used by every later build"


def test_without_gguf_the_line_says_what_to_install(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pagecompiler.commands.trim.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as caught:
        cli.main(["model", "trim", str(model)])
    assert caught.value.code == 1 and "pip install 'pagec[trim]'" in capsys.readouterr().err


def test_what_cannot_be_trimmed(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_llama(tmp_path / "l.gguf")
    with pytest.raises(SystemExit) as caught:
        cli.main(["model", "trim", str(path)])
    assert caught.value.code == 1 and "no multi-token-prediction block" in capsys.readouterr().err
    with pytest.raises(ModelLoadError, match="was not made by"):
        read_trimmed(model)
    for rows in ([1, 1], [-1], [100_000]):
        with pytest.raises(ValueError, match="each once"):
            write_trimmed(model, tmp_path / "x.gguf", rows, "")
