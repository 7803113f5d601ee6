"""Tiny GGUF files with random weights: real llama.cpp on real architectures in milliseconds.

The vocabulary is a byte-level BPE with some merged tokens of the kind that real vocabularies have: `{{`,
`}}`, `}}</`, two-digit numbers and numbers with their closing braces.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np

CHATML = (
    "{%- for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}"
    "{{ '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{%- endif %}"
)
INST = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('no system role') }}{% endif %}"
    "{% if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}"
    "{% else %}{{ message.content + eos_token }}{% endif %}{% endfor %}"
)

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>"]
MERGES = ["{ {", "} }", "< /", "}} </", "1 0", "1 2", "12 }}", "< p", "<p >", "t h", "th e", "\u0120 the"]
TRAINED_CONTEXT = 2048


def byte_alphabet() -> list[str]:
    """The characters that stand for the bytes 0-255 in byte-level vocabularies."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable}
    letters.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return [letters[byte] for byte in range(256)]


def vocabulary() -> tuple[list[str], list[int]]:
    """Token texts and types, in order of their ids."""
    merged = [merge.replace(" ", "") for merge in MERGES]
    tokens = [*CONTROL, *byte_alphabet(), *merged]
    control = [int(gguf.TokenType.CONTROL)] * len(CONTROL)
    return tokens, control + [int(gguf.TokenType.NORMAL)] * (len(tokens) - len(CONTROL))


class _Writer:
    """A GGUF writer with random tensors of one seed."""

    def __init__(self, path: Path, architecture: str, seed: int) -> None:
        self.gguf = gguf.GGUFWriter(path, architecture)
        self._random = np.random.default_rng(seed)

    def vocabulary(self, *, pre: str, template: str, end: str, begin: str | None = None) -> int:
        tokens, types = vocabulary()
        self.gguf.add_tokenizer_model("gpt2")
        self.gguf.add_tokenizer_pre(pre)
        self.gguf.add_token_list(tokens)
        self.gguf.add_token_merges(MERGES)
        self.gguf.add_token_types(types)
        self.gguf.add_eos_token_id(tokens.index(end))
        if begin:
            self.gguf.add_bos_token_id(tokens.index(begin))
        self.gguf.add_add_bos_token(begin is not None)
        self.gguf.add_chat_template(template)
        return len(tokens)

    def normal(self, name: str, *shape: int, scale: float | None = None) -> None:
        spread = shape[-1] ** -0.5 if scale is None else scale
        self.tensor(name, self._random.normal(0, spread, shape))

    def output(self, size: int, width: int, blur: float) -> None:
        """A head that spreads its logits and never picks a control token: answers have their full length.

        A blurred one often, but not always, picks what the sharp one of the same seed picks.
        """
        rows = self._random.normal(0, 0.5, (size, width))
        rows += np.random.default_rng(99).normal(0, blur, rows.shape)
        rows[: len(CONTROL)] = 0
        self.tensor("output.weight", rows)

    def ones(self, name: str, *shape: int) -> None:
        self.tensor(name, np.ones(shape))

    def tensor(self, name: str, values: np.ndarray) -> None:
        self.gguf.add_tensor(name, np.ascontiguousarray(values, dtype=np.float32))

    def feed_forward(self, block: str, width: int, inner: int) -> None:
        self.normal(block + "ffn_gate.weight", inner, width)
        self.normal(block + "ffn_up.weight", inner, width)
        self.normal(block + "ffn_down.weight", width, inner)

    def close(self) -> None:
        self.gguf.write_header_to_file()
        self.gguf.write_kv_data_to_file()
        self.gguf.write_tensors_to_file()
        self.gguf.close()


def write_llama(path: Path, *, template: str = INST, seed: int = 1, blur: float = 0.0) -> Path:
    """A two-layer model of the llama architecture, without a system role in its template."""
    width, layers, heads, inner = 64, 2, 4, 128
    writer = _Writer(path, "llama", seed)
    head = writer.gguf
    head.add_block_count(layers)
    head.add_context_length(TRAINED_CONTEXT)
    head.add_embedding_length(width)
    head.add_feed_forward_length(inner)
    head.add_head_count(heads)
    head.add_head_count_kv(heads // 2)
    head.add_layer_norm_rms_eps(1e-5)
    head.add_rope_dimension_count(width // heads)
    size = writer.vocabulary(pre="qwen2", template=template, begin="<s>", end="</s>")
    head.add_vocab_size(size)
    writer.normal("token_embd.weight", size, width, scale=1.0)
    writer.ones("output_norm.weight", width)
    writer.output(size, width, blur)
    for layer in range(layers):
        block = f"blk.{layer}."
        writer.ones(block + "attn_norm.weight", width)
        writer.normal(block + "attn_q.weight", width, width, scale=0.3)
        writer.normal(block + "attn_k.weight", width // 2, width, scale=0.3)
        writer.normal(block + "attn_v.weight", width // 2, width)
        writer.normal(block + "attn_output.weight", width, width)
        writer.ones(block + "ffn_norm.weight", width)
        writer.feed_forward(block, width, inner)
    writer.close()
    return path


def write_qwen35(path: Path, *, template: str = CHATML, seed: int = 2, blur: float = 0.0) -> Path:
    """Three gated delta-net layers, a full-attention layer and an MTP block: a hybrid model like Qwen3.5."""
    width, layers, interval, heads, head_size, inner = 128, 4, 4, 2, 64, 128
    state_heads, state_size, kernel = 2, 32, 4
    state = state_heads * state_size
    writer = _Writer(path, "qwen35", seed)
    head = writer.gguf
    head.add_block_count(layers + 1)
    head.add_context_length(TRAINED_CONTEXT)
    head.add_embedding_length(width)
    head.add_feed_forward_length(inner)
    head.add_head_count(heads)
    head.add_head_count_kv(1)
    head.add_key_length(head_size)
    head.add_value_length(head_size)
    head.add_layer_norm_rms_eps(1e-6)
    head.add_rope_freq_base(10000.0)
    head.add_rope_dimension_count(32)
    head.add_rope_dimension_sections([6, 5, 5, 0])
    head.add_ssm_conv_kernel(kernel)
    head.add_ssm_inner_size(state)
    head.add_ssm_state_size(state_size)
    head.add_ssm_time_step_rank(state_heads)
    head.add_ssm_group_count(state_heads)
    head.add_full_attention_interval(interval)
    head.add_nextn_predict_layers(1)
    size = writer.vocabulary(pre="qwen35", template=template, end="<|im_end|>")
    writer.normal("token_embd.weight", size, width, scale=1.0)
    writer.ones("output_norm.weight", width)
    writer.output(size, width, blur)
    for layer in range(layers + 1):
        block = f"blk.{layer}."
        writer.ones(block + "attn_norm.weight", width)
        writer.ones(block + "post_attention_norm.weight", width)
        if layer == layers or (layer + 1) % interval == 0:
            writer.normal(block + "attn_q.weight", heads * head_size * 2, width)
            writer.normal(block + "attn_k.weight", head_size, width)
            writer.normal(block + "attn_v.weight", head_size, width)
            writer.normal(block + "attn_output.weight", width, heads * head_size)
            writer.ones(block + "attn_q_norm.weight", head_size)
            writer.ones(block + "attn_k_norm.weight", head_size)
        else:
            writer.normal(block + "attn_qkv.weight", 3 * state, width)
            writer.normal(block + "attn_gate.weight", state, width)
            writer.normal(block + "ssm_conv1d.weight", 3 * state, kernel, scale=0.5)
            writer.tensor(block + "ssm_dt.bias", np.full(state_heads, -2.0))
            writer.tensor(block + "ssm_a", -np.linspace(0.5, 4.0, state_heads))
            writer.normal(block + "ssm_beta.weight", state_heads, width)
            writer.normal(block + "ssm_alpha.weight", state_heads, width)
            writer.ones(block + "ssm_norm.weight", state_size)
            writer.normal(block + "ssm_out.weight", width, state)
        writer.feed_forward(block, width, inner)
    block = f"blk.{layers}.nextn."
    writer.normal(block + "eh_proj.weight", width, 2 * width)
    for name in ("enorm", "hnorm", "shared_head_norm"):
        writer.ones(block + name + ".weight", width)
    writer.close()
    return path


def write_mtp_block(source: Path, path: Path) -> Path:
    """A file with nothing but the multi-token-prediction block of another one, and its vocabulary."""
    return _copy(source, path, lambda name, block: not name.startswith("blk.") or name.startswith(block))


def write_without_block(source: Path, path: Path) -> Path:
    """A file that lacks the tensors that make a block of its last layer, while its metadata still tells of it."""
    return _copy(source, path, lambda name, block: not name.startswith(f"{block}nextn."))


def _copy(source: Path, path: Path, kept: Callable[[str, str], bool]) -> Path:
    """A copy with some of the tensors; `kept` is asked with a name and the beginning of those of the block."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, "qwen35")
    for key, entry in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        kind = entry.types[0]
        writer.add_key_value(
            key, entry.contents(), kind, sub_type=entry.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        )
    block = f"blk.{int(reader.fields['qwen35.block_count'].contents()) - 1}."
    for tensor in reader.tensors:
        if kept(tensor.name, block):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
