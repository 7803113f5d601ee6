"""Does an arg-max on the device pay for draft steps? llama.cpp's backend samplers against numpy on copied logits.

    python -m benchmarks.device_argmax MODEL --lanes 1 5 --pairs 11

Both ways run the model's multi-token-prediction block, one row a lane, in alternating pairs. The target itself cannot
use it: its rows are picked under the slot mask, checked for numbers that are not finite, and often drawn at a
temperature; llama.cpp copies logits or samples on the device, never both.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from pagecompiler.engine.hardware import usable_threads
from pagecompiler.engine.llama.library import Context, Model, native, native_support
from pagecompiler.engine.llama.target import NEXTN, Batch, Rows

STEPS = 20


class DeviceArgmax(Context):
    """A context with greedy backend samplers for all its sequences: logits stay on the device, tokens come out.

    What `decode` returns is then empty of meaning.
    """

    def __init__(self, model: Model, *, sequences: int, **options: Any) -> None:
        super().__init__(model, sequences=sequences, **options)
        self._chains = []
        for sequence in range(sequences):
            chain = native.llama_sampler_chain_init(native.llama_sampler_chain_default_params())
            native.llama_sampler_chain_add(chain, native.llama_sampler_init_greedy())
            if not native.llama_set_sampler(self._pointer, sequence, chain):
                raise RuntimeError("llama.cpp cannot run this sampler on the device")
            self._chains.append(chain)

    def best(self, batch: Batch, hidden: Rows | None = None) -> list[int]:
        self.decode(batch, hidden)
        return [native.llama_get_sampled_token_ith(self._pointer, row) for row in np.flatnonzero(batch.wanted).tolist()]

    def close(self) -> None:
        super().close()
        for chain in self._chains:
            native.llama_sampler_free(chain)
        self._chains = []


class Drafting:
    """Steps of one block in a context of its own: random words and hidden rows, one row a lane."""

    def __init__(self, model: Model, kind: type[Context], lanes: int, threads: int) -> None:
        self._random = np.random.default_rng(1)
        self._model, self._lanes, self._position = model, lanes, 0
        self._context = kind(
            model, tokens=256 * lanes, sequences=lanes, rows=lanes, outputs=lanes, threads=threads, taps=(NEXTN,),
            mtp=True,
        )  # fmt: skip

    def steps(self, count: int) -> tuple[list[list[int]], float]:
        """What was picked, and milliseconds a step."""
        if self._position + count > 256:
            self._context.clear()
            self._position = 0
        picked, spent = [], 0.0
        for _ in range(count):
            batch = Batch()
            for lane in range(self._lanes):
                batch.add(lane, [int(self._random.integers(self._model.size))], self._position, wanted=1)
            hidden = self._random.normal(0, 1, (self._lanes, self._model.width)).astype(np.float32)
            started = perf_counter()
            picked.append(self._context.best(batch, hidden))
            spent += perf_counter() - started
            self._position += 1
        return picked, 1000 * spent / count

    def close(self) -> None:
        self._context.close()


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--pairs", type=int, default=11)
    options = parser.parse_args()
    model = Model(options.model, gpu_layers=-1 if native_support().gpu else 0, load_mtp=True)
    for lanes in options.lanes:
        ways = [Drafting(model, kind, lanes, usable_threads()) for kind in (Context, DeviceArgmax)]
        first = [way.steps(STEPS)[0] for way in ways]
        different = sum(a != b for a, b in zip(*first, strict=True))
        times: list[list[float]] = [[], []]
        for pair in range(options.pairs):
            for index in (0, 1) if pair % 2 == 0 else (1, 0):
                times[index].append(ways[index].steps(STEPS)[1])
        low, middle, high = np.quantile(np.divide(times[1], times[0]), (0.1, 0.5, 0.9))
        print(
            f"lanes {lanes}: a draft step {np.median(times[0]):.2f} ms with logits copied, {np.median(times[1]):.2f} ms"
            f" with the arg-max on the device: x{middle:.2f} ({low:.2f}-{high:.2f}, {options.pairs} pairs);"
            f" {different} of {STEPS} steps picked something else",
            flush=True,
        )
        for way in ways:
            way.close()
    model.close()


if __name__ == "__main__":
    main()
