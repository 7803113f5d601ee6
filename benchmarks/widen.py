"""A wider model that computes the same: its weights, not Python, then bound a step.

    python -m benchmarks.widen pagec-mini.gguf wide.gguf --megabytes 145
    python -m benchmarks.widen pagec-mini.gguf words.gguf --megabytes 145 --words 248320

The feed-forward parts get rows of zeros (gate and up) and columns of zeros (down), which add nothing; matrices
become Q8_0. With `--words` the vocabulary gets words that are never written: their rows of the head are that of the
first word, which wins a tie. Tokens are those of the narrow model but for rounding.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np

GROUP = 256
Q8_0 = gguf.GGMLQuantizationType.Q8_0
BYTES_A_WEIGHT = 34 / 32


def widen(source: Path, target: Path, megabytes: float, words: int = 0) -> int:
    """Write the wider model, with at least so many words; returns its feed-forward width."""
    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    parts = {tensor.name: _matrix(tensor) for tensor in reader.tensors}
    gates = [part for name, part in parts.items() if name.endswith("ffn_gate.weight")]
    more = max(0, words - len(parts["token_embd.weight"]))
    for name in ("token_embd.weight", "output.weight"):
        parts[name] = np.concatenate([parts[name], np.repeat(parts[name][:1], more, axis=0)])
    weights_a_row = sum(3 * gate.shape[1] for gate in gates)
    missing = megabytes * 1e6 / BYTES_A_WEIGHT - sum(part.size for part in parts.values())
    width = gates[0].shape[0] + GROUP * max(1, -int(-missing // (weights_a_row * GROUP)))
    writer = gguf.GGUFWriter(target, architecture)
    for key, entry in reader.fields.items():
        if key.startswith("GGUF.") or key in ("general.architecture", "general.file_type"):
            continue
        kind = entry.types[0]
        value = width if key == f"{architecture}.feed_forward_length" else entry.contents()
        if key == "tokenizer.ggml.tokens":
            value = [*value, *(f"<unused {number}>" for number in range(more))]
        elif key == "tokenizer.ggml.token_type":
            value = [*value, *[int(gguf.TokenType.UNUSED)] * more]
        elif key == f"{architecture}.vocab_size":
            value += more
        writer.add_key_value(key, value, kind, sub_type=entry.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    for name, part in parts.items():
        if name.endswith(("ffn_gate.weight", "ffn_up.weight")):
            part = np.pad(part, ((0, width - part.shape[0]), (0, 0)))
        elif name.endswith("ffn_down.weight"):
            part = np.pad(part, ((0, 0), (0, width - part.shape[1])))
        if part.ndim == 2 and part.shape[1] % 32 == 0 and "conv1d" not in name:
            writer.add_tensor(name, gguf.quants.quantize(part, Q8_0), raw_dtype=Q8_0)
        else:
            writer.add_tensor(name, part)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return width


def _matrix(tensor: gguf.ReaderTensor) -> np.ndarray:
    shape = tuple(int(size) for size in reversed(tensor.shape))
    values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    return np.ascontiguousarray(values.reshape(shape), dtype=np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--megabytes", type=float, default=145.0)
    parser.add_argument("--words", type=int, default=0)
    arguments = parser.parse_args()
    width = widen(arguments.source, arguments.target, arguments.megabytes, arguments.words)
    print(f"{arguments.target}: {arguments.target.stat().st_size / 1e6:.0f} MB, feed-forward width {width}")


if __name__ == "__main__":
    main()
