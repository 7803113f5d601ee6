"""Holds llama.cpp's logits, for the trunk and for one MTP step, against PyTorch's: `python -m training.parity`.

A draft model has no MTP block; of it only the trunk is compared.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from llama_cpp import llama_cpp as native
from llama_cpp import llama_cpp_ext as private
from tokenizers import Tokenizer

from training.corpus import WORK, generate
from training.export import export
from training.model import Config, PageModel, load_model
from training.tokenizer import SampleEncoder, load_tokenizer, tokenizer_text

_ROWS = 1024
_log = native.llama_log_callback(lambda level, text, data: None)


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest difference of any logit, `mtp` without an MTP block None; and the largest logit."""

    trunk: float
    mtp: float | None
    largest: float


def compare(model: PageModel, tokenizer: Tokenizer, ids: list[int], type_name: str = "F32") -> Difference:
    """Export the model and run one sequence (at most 1,024 ids) through both programs."""
    tokens = torch.tensor([ids])
    with torch.no_grad():
        hidden = model.trunk(tokens)
        trunk = model.head(hidden)[0].numpy()
        mtp = model.head(model.mtp(hidden, tokens))[0].numpy() if model.config.mtp else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        export(model, tokenizer, path, type_name)
        native_trunk, native_mtp = _native_logits(path, ids, model.config)
    return Difference(
        float(np.abs(native_trunk - trunk).max()),
        float(np.abs(native_mtp - mtp).max()) if mtp is not None and native_mtp is not None else None,
        float(np.abs(trunk).max()),
    )


def _native_logits(path: Path, ids: list[int], config: Config) -> tuple[np.ndarray, np.ndarray | None]:
    native.llama_log_set(_log, ctypes.c_void_p(0))
    native.llama_backend_init()
    parameters = native.llama_model_default_params()
    parameters.load_mtp = config.mtp
    parameters.n_gpu_layers = 0
    model = native.llama_model_load_from_file(str(path).encode(), parameters)
    if not model:
        raise RuntimeError("llama.cpp cannot load the exported model")
    try:
        batch = native.llama_batch_init(_ROWS, 0, 1)
        trunk = _context(model, native.LLAMA_CONTEXT_TYPE_DEFAULT)
        try:
            logits = _decode(trunk, batch, ids, config.vocab)
            if not config.mtp:
                return logits, None
            rows = [private.llama_get_embeddings_nextn_ith(trunk, i) for i in range(len(ids))]
            hidden = np.stack([np.ctypeslib.as_array(row, (config.width,)).copy() for row in rows])
        finally:
            native.llama_free(trunk)
        return logits, _native_mtp_logits(model, ids, hidden, config)
    finally:
        native.llama_model_free(model)


def _native_mtp_logits(model: Any, ids: list[int], hidden: np.ndarray, config: Config) -> np.ndarray:
    mtp = _context(model, native.LLAMA_CONTEXT_TYPE_MTP)
    try:
        joined = native.llama_batch_init(_ROWS, config.width, 1)
        token_buffer = (native.llama_token * _ROWS)()
        joined.token = token_buffer  # an MTP batch has both tokens and embeddings
        target = np.ctypeslib.as_array(joined.embd, (_ROWS * config.width,)).reshape(_ROWS, config.width)
        target[0] = 0
        target[1 : len(ids)] = hidden[:-1]
        return _decode(mtp, joined, ids, config.vocab)
    finally:
        native.llama_free(mtp)


def _context(model: Any, kind: int) -> Any:
    parameters = native.llama_context_default_params()
    parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = _ROWS
    parameters.ctx_type = kind
    parameters.n_threads = parameters.n_threads_batch = 2
    context = native.llama_init_from_model(model, parameters)
    private.llama_set_embeddings_nextn(context, True, False)
    return context


def _decode(context: Any, batch: Any, ids: list[int], vocabulary: int) -> np.ndarray:
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, i, 1, 0, 1
    if native.llama_decode(context, batch) != 0:
        raise RuntimeError("llama.cpp failed to decode")
    rows = [native.llama_get_logits_ith(context, i) for i in range(len(ids))]
    return np.stack([np.ctypeslib.as_array(row, (vocabulary,)).copy() for row in rows])


def count_token_differences(path: Path, tokenizer: Tokenizer, samples: int) -> int:
    """How many of the first held-out samples llama.cpp tokenises in another way than `tokenizers`."""
    native.llama_log_set(_log, ctypes.c_void_p(0))
    parameters = native.llama_model_default_params()
    parameters.vocab_only = True
    model = native.llama_model_load_from_file(str(path).encode(), parameters)
    vocabulary = native.llama_model_get_vocab(model)
    differences = 0
    for sample, _ in zip(generate(7, held_out=True), range(samples), strict=False):
        text = tokenizer_text(sample.messages, sample.answer)
        data = text.encode()
        ids = (ctypes.c_int32 * len(data))()
        count = native.llama_tokenize(vocabulary, data, len(data), ids, len(data), False, True)
        apart = SampleEncoder(tokenizer)
        whole = [*apart.prompt(sample.messages), *apart.answer(sample.answer)]
        differences += list(ids[:count])[: len(whole)] != whole
    native.llama_model_free(model)
    return differences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=None, help="default: random weights")
    parser.add_argument("--type", choices=("F32", "F16", "Q8_0"), default="F32")
    arguments = parser.parse_args()
    tokenizer = load_tokenizer(WORK / "tokenizer.json")
    if arguments.checkpoint:
        model = load_model(arguments.checkpoint)
    else:
        torch.manual_seed(0)
        model = PageModel(Config(vocab=tokenizer.get_vocab_size())).eval()
    encoder = SampleEncoder(tokenizer)
    sample = next(s for s in generate(8) if 500 < len(s.answer) < 1500)
    ids = [*encoder.prompt(sample.messages), *encoder.answer(sample.answer)][:_ROWS]
    difference = compare(model, tokenizer, ids, arguments.type)
    mtp = "" if difference.mtp is None else f" and {difference.mtp:.1e} (MTP)"
    print(
        f"{len(ids)} tokens, {arguments.type}: logits differ by at most {difference.trunk:.1e} (trunk){mtp}"
        f" of {difference.largest:.1f}"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        export(model, tokenizer, path, "F16")
        print(f"samples with other tokens: {count_token_differences(path, tokenizer, 500)} of 500")


if __name__ == "__main__":
    main()
