"""Write a checkpoint as GGUF for llama.cpp's `qwen35`: `python -m training.export`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer

from pagecompiler.prompts import FORMAT
from training.corpus import WORK
from training.model import EPS, ROPE_BASE, Attention, Block, Config, DeltaNet, PageModel, load_model
from training.tokenizer import CHAT_TEMPLATE, CONTROL_TOKENS, END, END_OF_TEXT, load_tokenizer

MODEL_PATH = Path(__file__).parents[1] / "pagecompiler" / "data" / "models" / "pagec-mini.gguf"
TYPES = {
    "F32": gguf.GGMLQuantizationType.F32,
    "F16": gguf.GGMLQuantizationType.F16,
    "Q8_0": gguf.GGMLQuantizationType.Q8_0,
}
FILE_TYPES = {
    "F32": gguf.LlamaFileType.ALL_F32,
    "F16": gguf.LlamaFileType.MOSTLY_F16,
    "Q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
}


def export(model: PageModel, tokenizer: Tokenizer, path: Path, type_name: str) -> None:
    """Write the model and its vocabulary; matrices in the given type, everything else in F32."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, "qwen35")
    _add_general(writer, path.stem, type_name)
    _add_architecture(writer, model.config)
    _add_vocabulary(writer, tokenizer)
    for name, tensor, is_matrix in _tensors(model):
        data = np.ascontiguousarray(tensor.detach().float().numpy())
        kind = TYPES[type_name] if is_matrix else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quants.quantize(data, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_general(writer: gguf.GGUFWriter, name: str, type_name: str) -> None:
    writer.add_name(name)
    writer.add_description("Writes the HTML fragments and style of pagec. Trained on synthetic blocks only.")
    writer.add_license("Apache-2.0")
    writer.add_file_type(FILE_TYPES[type_name])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_uint32("pagec.format", FORMAT)


def _add_architecture(writer: gguf.GGUFWriter, c: Config) -> None:
    writer.add_block_count(c.layers + c.mtp)  # the MTP block counts
    writer.add_context_length(4096)
    writer.add_embedding_length(c.width)
    writer.add_feed_forward_length(c.feed_forward)
    writer.add_head_count(c.heads)
    writer.add_head_count_kv(c.kv_heads)
    writer.add_key_length(c.head_width)
    writer.add_value_length(c.head_width)
    writer.add_layer_norm_rms_eps(EPS)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_rope_dimension_count(c.rotary)
    writer.add_rope_dimension_sections(rope_sections(c.rotary))
    writer.add_ssm_conv_kernel(c.conv)
    writer.add_ssm_inner_size(c.delta_inner)
    writer.add_ssm_state_size(c.delta_width)
    writer.add_ssm_time_step_rank(c.delta_heads)
    writer.add_ssm_group_count(c.delta_heads)
    writer.add_full_attention_interval(c.interval)
    if c.mtp:
        writer.add_nextn_predict_layers(1)


def rope_sections(rotary: int) -> list[int]:
    """The parts of interleaved M-RoPE: pair i belongs to part i mod 3, and a part takes its first pairs only.

    A pair beyond its part is not rotated by llama.cpp, and the logits are silently wrong.

    >>> rope_sections(32), rope_sections(16)
    ([6, 5, 5, 0], [3, 3, 2, 0])
    """
    pairs = rotary // 2
    return [len(range(part, pairs, 3)) for part in range(3)] + [0]


def _add_vocabulary(writer: gguf.GGUFWriter, tokenizer: Tokenizer) -> None:
    model = json.loads(tokenizer.to_str())["model"]
    tokens = [token for token, _ in sorted(model["vocab"].items(), key=lambda entry: entry[1])]
    merges = [" ".join(pair) for pair in model["merges"]]
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    writer.add_token_list(tokens)
    writer.add_token_merges(merges)
    writer.add_token_types([control if token in CONTROL_TOKENS else normal for token in tokens])
    writer.add_eos_token_id(model["vocab"][END])
    writer.add_pad_token_id(model["vocab"][END_OF_TEXT])
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


Named = tuple[str, torch.Tensor, bool]


def _tensors(model: PageModel) -> Iterator[Named]:
    """llama.cpp's name of every tensor, its values, and whether it may be quantised."""
    yield "token_embd.weight", model.embed.weight, True
    yield "output_norm.weight", model.norm.weight, False
    yield "output.weight", model.output.weight, True
    for i, block in enumerate(model.blocks):
        yield from _block(f"blk.{i}", block)
    if not model.config.mtp:
        return
    last = f"blk.{model.config.layers}"
    yield from _block(last, model.mtp_block)
    yield f"{last}.nextn.eh_proj.weight", model.mtp_join.weight, True
    yield f"{last}.nextn.enorm.weight", model.mtp_embed_norm.weight, False
    yield f"{last}.nextn.hnorm.weight", model.mtp_hidden_norm.weight, False
    yield f"{last}.nextn.shared_head_norm.weight", model.mtp_norm.weight, False


def _block(prefix: str, block: Block) -> Iterator[Named]:
    yield f"{prefix}.attn_norm.weight", block.mix_norm.weight, False
    yield f"{prefix}.post_attention_norm.weight", block.feed_norm.weight, False
    yield f"{prefix}.ffn_gate.weight", block.gate.weight, True
    yield f"{prefix}.ffn_up.weight", block.up.weight, True
    yield f"{prefix}.ffn_down.weight", block.down.weight, True
    if isinstance(block.mix, Attention):
        yield from _attention(prefix, block.mix)
    else:
        yield from _delta_net(prefix, block.mix)


def _attention(prefix: str, mix: Attention) -> Iterator[Named]:
    yield f"{prefix}.attn_q.weight", mix.q.weight, True
    yield f"{prefix}.attn_k.weight", mix.k.weight, True
    yield f"{prefix}.attn_v.weight", mix.v.weight, True
    yield f"{prefix}.attn_output.weight", mix.out.weight, True
    yield f"{prefix}.attn_q_norm.weight", mix.q_norm.weight, False
    yield f"{prefix}.attn_k_norm.weight", mix.k_norm.weight, False


def _delta_net(prefix: str, mix: DeltaNet) -> Iterator[Named]:
    yield f"{prefix}.attn_qkv.weight", mix.qkv.weight, True
    yield f"{prefix}.attn_gate.weight", mix.gate.weight, True
    yield f"{prefix}.ssm_conv1d.weight", mix.conv, False
    yield f"{prefix}.ssm_dt.bias", mix.step, False
    yield f"{prefix}.ssm_a", -mix.decay_log.exp(), False
    yield f"{prefix}.ssm_beta.weight", mix.beta.weight, False
    yield f"{prefix}.ssm_alpha.weight", mix.alpha.weight, False
    yield f"{prefix}.ssm_norm.weight", mix.norm, False
    yield f"{prefix}.ssm_out.weight", mix.out.weight, True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=WORK / "checkpoint.pt")
    parser.add_argument("--output", type=Path, default=MODEL_PATH)
    parser.add_argument("--type", choices=TYPES, default="F16")
    parser.add_argument("--last", action="store_true", help="the last weights instead of the averaged ones")
    arguments = parser.parse_args()
    model = load_model(arguments.checkpoint, average=not arguments.last)
    export(model, load_tokenizer(WORK / "tokenizer.json"), arguments.output, arguments.type)
    print(f"{arguments.output}: {arguments.output.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
