"""Make the vocabulary and the encoded training samples: `python -m training.prepare`."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import islice

from training.corpus import WORK, generate, renumbered
from training.shards import encode_shard
from training.tokenizer import load_tokenizer, tokenizer_text, train_tokenizer

LONGEST = 2560
_TOKENIZER_SEED = 1
_FIRST_SHARD_SEED = 1000


def _make_shard(number: int, count: int) -> str:
    """One file of samples as they are, and one of other samples with other slot numbers."""
    tokenizer = load_tokenizer(WORK / "tokenizer.json")
    seed = _FIRST_SHARD_SEED + 2 * number
    parts = {"shard": generate(seed), "renumbered": renumbered(generate(seed + 1), seed)}
    tokens = 0
    for name, samples in parts.items():
        shard = encode_shard(tokenizer, samples, count, LONGEST)
        shard.save(WORK / f"{name}-{number:03}.npz")
        tokens += len(shard.ids)
    return f"shard {number}: {tokens / 1e6:.2f} M tokens"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=6)
    parser.add_argument("--samples", type=int, default=10_000, help="in each file")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep-tokenizer", action="store_true", help="use the vocabulary that is there")
    arguments = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    path = WORK / "tokenizer.json"
    if not (arguments.keep_tokenizer and path.exists()):
        samples = islice(generate(_TOKENIZER_SEED), 8_000)
        tokenizer = train_tokenizer(tokenizer_text(sample.messages, sample.answer) for sample in samples)
        tokenizer.save(str(path))
        print(f"vocabulary: {tokenizer.get_vocab_size()} tokens", flush=True)
    with ProcessPoolExecutor(arguments.processes) as pool:
        numbers = range(arguments.shards)
        for line in pool.map(_make_shard, numbers, [arguments.samples] * len(numbers)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
