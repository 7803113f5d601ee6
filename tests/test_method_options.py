"""The options of decode methods on the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pagecompiler.cli import cli
from pagecompiler.commands.options import decoding_options
from pagecompiler.engine.hardware import FlashAttention, Hardware, SplitMode
from pagecompiler.engine.types import Decoding, Method, Prefer

from .engine.tiny_models import write_llama

SPEC = "title: T\nhero: {heading: Hello}\n"
DEFAULTS = {
    "method": "auto", "depth": None, "draft_model": None, "draft_device": None, "no_previous": False, "prefer": "latency",
    "threads": None, "gpu_layers": None, "split_mode": "layer", "flash_attention": "auto", "kv_type": "f16",
    "ubatch": None,
}  # fmt: skip


@pytest.fixture
def compile_page(tmp_path):
    spec = tmp_path / "page.yaml"
    spec.write_text(SPEC)

    def run(*options: str):
        return CliRunner().invoke(cli, ["compile", str(spec), "-o", str(tmp_path / "out"), *options])

    return run


def test_what_the_options_mean(tmp_path):
    assert decoding_options(DEFAULTS) == Decoding()
    draft = write_llama(tmp_path / "draft.gguf")
    options = DEFAULTS | {
        "method": "draft", "depth": 3, "draft_model": str(draft), "draft_device": "CPU", "no_previous": True,
        "prefer": "throughput",
    }  # fmt: skip
    assert decoding_options(options) == Decoding(Method.DRAFT, 3, draft, "CPU", False, Prefer.THROUGHPUT)


def test_what_the_options_of_the_hardware_mean():
    options = DEFAULTS | {
        "threads": 3, "gpu_layers": 20, "split_mode": "row", "flash_attention": "on", "kv_type": "q8_0,f16",
        "ubatch": 256,
    }  # fmt: skip
    wanted = Hardware(3, 20, SplitMode.ROW, FlashAttention.ON, "q8_0", "f16", 256)
    assert decoding_options(options).hardware == wanted


@pytest.mark.parametrize("command", ["compile", "batch", "watch", "bench"])
def test_every_build_command_takes_them(command):
    names = {option for parameter in cli.commands[command].params for option in parameter.opts}
    assert {"--threads", "--gpu-layers", "--split-mode", "--flash-attention", "--kv-type", "--ubatch"} <= names


def test_a_config_file_sets_them(compile_page, tmp_path):
    (tmp_path / "pagec.toml").write_text('hardware = {kv_type = "q8_0", flash_attention = "off"}\n')
    result = compile_page("--model", "reference")
    assert result.exit_code == 2 and "cannot be q8_0" in result.output
    assert compile_page("--model", "reference", "--flash-attention", "auto").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--depth", "0"], "neither auto nor a number"),
        (["--depth", "17"], "neither auto nor a number"),
        (["--depth", "many"], "neither auto nor a number"),
        (["--method", "magic"], "magic"),
        (["--method", "draft"], "--draft-model"),
        (["--draft-device", "CPU"], "--draft-model"),
        (["--draft-model", "nowhere.gguf"], "nowhere.gguf"),
        (["--draft-model", "reference"], "no model file"),
        (["--prefer", "both"], "both"),
        (["--kv-type", "q3"], "`q3` is no format of the KV cache"),
        (["--kv-type", "q8_0", "--flash-attention", "off"], "without flash attention"),
        (["--split-mode", "tensor"], "tensor"),
        (["--threads", "0"], "0"),
        (["--ubatch", "8"], "8"),
    ],
)
def test_mistakes_are_usage_errors(compile_page, options, message):
    result = compile_page("--model", "reference", *options)
    assert result.exit_code == 2
    assert message in result.output


def test_the_method_is_in_the_json(compile_page):
    result = compile_page("--model", "reference", "--json", "--quiet", "--method", "lookup")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["pages"][0]["method"] == "plain", "rules need no guesses"


def test_a_method_that_the_model_does_not_offer_is_said_with_what_to_do(compile_page, tmp_path):
    model = write_llama(tmp_path / "model.gguf")
    result = compile_page("--model", str(model), "--method", "mtp", "--no-color")
    assert result.exit_code == 1
    assert "no multi-token-prediction block" in result.output
    assert "--method auto" in result.output


def test_the_json_says_where_the_time_went(compile_page):
    result = compile_page("--json", "--method", "mtp", "--depth", "2", "--model", "pagec-mini", "--no-cache")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    (page,), engine = report["pages"], report["engine"]
    groups = page["groups"]
    assert engine["tokens"] == sum(group["tokens"] for group in groups)
    for name in ("drafted", "accepted", "prompt_tokens", "prompt_reused"):
        assert engine[name] == sum(group[name] for group in groups)
    for name in ("target_seconds", "draft_seconds"):
        assert engine[name] == pytest.approx(sum(group[name] for group in groups), abs=0.001)
    for each in (*groups, engine):
        assert sum(each["accepted_by_position"]) == each["accepted"]
        assert each["mean_accepted_length"] == pytest.approx(each["accepted"] / each["verify_passes"], abs=0.001)
    assert all(group["rows_per_pass"] == 3 for group in groups), "a pending token and two guesses"
    assert 3 < engine["rows_per_pass"] <= 3 * len(groups)
    assert "of guesses accepted; model " in result.stderr
    assert json.loads(compile_page("--json", "--model", "reference").stdout)["engine"] is None
