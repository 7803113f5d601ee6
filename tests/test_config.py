"""Defaults from files: who wins, what is refused and where, and what a foreign folder cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.config import KEYS, Config, read_config, user_file
from pagecompiler.diagnostics import CompileError, Diagnostic


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def values(config: Config) -> dict[str, object]:
    return {key: setting.value for key, setting in config.settings.items()}


def findings(folder: Path) -> list[Diagnostic]:
    with pytest.raises(CompileError) as caught:
        read_config(folder)
    assert {finding.code for finding in caught.value.diagnostics} == {"E0704"}
    return list(caught.value.diagnostics)


def test_without_files_nothing_is_said(tmp_path: Path) -> None:
    assert read_config(tmp_path) == Config()


def test_all_keys(tmp_path: Path) -> None:
    write(
        tmp_path / "pagec.toml",
        'model = "qwen3.5-9b"\n[decode]\nmethod = "mtp"\ndepth = 2\nlanes = 3\ndraft_model = "hf:a/b:Q8_0"\n'
        '[hardware]\nthreads = 8\ngpu_layers = 20\nsplit_mode = "row"\nflash_attention = "on"\nkv_type = "q8_0,f16"\n'
        "ubatch = 256\n"
        "[sampling]\ntemperature = 0.3\ntop_k = 20\ntop_p = 0.9\nmin_p = 0\nseed = 7\n",
    )
    assert list(values(read_config(tmp_path))) == list(KEYS)


def test_the_nearest_project_file_wins_over_the_user_key_by_key(tmp_path: Path) -> None:
    write(tmp_path / "pagec.toml", "[decode]\nlanes = 9\n")
    write(tmp_path / "site" / "pagec.toml", "decode.lanes = 3\n")
    write(user_file(), '[decode]\nlanes = 2\nmethod = "plain"\n')
    config = read_config(tmp_path / "site" / "deep" / "er")
    assert values(config) == {"decode.lanes": 3, "decode.method": "plain"}
    assert {key: entry.source for key, entry in config.settings.items()} == {
        "decode.lanes": "pagec.toml",
        "decode.method": "user config",
    }


def test_an_automatic_depth_is_the_default(tmp_path: Path) -> None:
    write(tmp_path / "pagec.toml", 'decode = {depth = "auto"}\n')
    assert read_config(tmp_path) == Config()


def test_every_wrong_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pagec.toml", 'modell = "x"\n\n[decode]\n  lanes = 0\nmethod = "fast"\n[other]\na = 1\n')
    found = findings(tmp_path)
    assert [(f.file, f.span.line, f.span.column) for f in found if f.span] == [
        ("pagec.toml", 1, 1),
        ("pagec.toml", 4, 3),
        ("pagec.toml", 5, 1),
        ("pagec.toml", 6, 2),
    ]
    assert found[0].hint == "did you mean `model`?"
    assert found[1].message == "`decode.lanes` takes a whole number from 1 to 64"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = \n", "not TOML: invalid value"),
        ("model = 3\n", "`model` takes a text"),
        ('hardware.kv_type = "q3"\n', "`hardware.kv_type` takes one of f32, f16"),
        ("hardware.kv_type = 8\n", "`hardware.kv_type` takes one of f32, f16"),
        ('hardware.split_mode = "tensor"\n', "takes one of layer, row, none"),
        ("sampling.seed = true\n", "`sampling.seed` takes a whole number"),
        ("sampling.temperature = nan\n", "takes a number from 0 to 2"),
        ("decode = 1\n", "unknown key `decode`"),
        ("#" * 70_000, "more than 65536 bytes"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path / "pagec.toml", text)
    assert message in findings(tmp_path)[0].message


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "pagec.toml").write_bytes(b"\xff\xfe")
    assert "not usable" in findings(tmp_path)[0].message


@pytest.mark.parametrize(
    "text",
    [
        'model = "evil.gguf"',
        'model = "./evil"',
        'model = "/tmp/evil.gguf"',
        'model = "..\\\\evil"',
        'model = "http://evil.example/m.gguf"',
        'decode.draft_model = "~/evil.gguf"',
        'cache_dir = "/tmp"',
        'output = "/tmp"',
        'decode.draft_device = "x"',
        'models = "."',
        'HF_ENDPOINT = "http://evil.example"',
    ],
)
def test_a_foreign_folder_names_no_file_no_folder_and_no_address(tmp_path: Path, text: str) -> None:
    write(tmp_path / "pagec.toml", text + "\n")
    (finding,) = findings(tmp_path)
    assert finding.span is not None


def test_the_user_may_name_a_file(tmp_path: Path) -> None:
    write(user_file(), 'model = "~/models/m.gguf"\n')
    assert values(read_config(tmp_path)) == {"model": "~/models/m.gguf"}
