"""What drafting costs on this machine, without a trained model: a guess counts as right by a seeded coin.

`python -m benchmarks.gpu_arms MODEL [--trimmed FILE] [--json FILE]` runs plain decoding and MTP decoding of several
depths at one and five lanes. Every decode, every arg-max and every rollback is real; only whether a guess is right is
drawn, with the stated rates. So tokens a second are those of a model of this shape with that acceptance.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.device_argmax import DeviceArgmax
from pagecompiler.engine.llama.library import Context, Model, devices, native_support
from pagecompiler.engine.llama.target import NEXTN, Batch
from pagecompiler.engine.shape import EMBEDDING, MTP_BLOCK, read_shape
from pagecompiler.engine.trimmed import draft_bytes, read_trimmed

RATES = (0.9, 0.8, 0.7)
"""How often the first, second and third guess is right, given that those before it were."""

PROMPT_TOKENS = 512
CHUNK = 128


@dataclass(frozen=True)
class Arm:
    """One way of decoding. `device_argmax` picks guesses on the device, without copying logits."""

    method: str
    lanes: int
    depth: int
    device_argmax: bool = False


@dataclass(frozen=True)
class Result:
    """`passes` are those of the target, `target_ms` and `draft_ms` milliseconds of each; `gigabytes` are weights read a
    token, `share` says how much of the memory bandwidth that is."""

    method: str
    lanes: int
    depth: int
    tokens_per_second: float
    passes: int
    tokens_per_pass: float
    target_ms: float
    draft_ms: float
    gigabytes: float
    gigabytes_per_second: float
    share: float = 0.0


class Bench:
    """A target and what drafts for it, with lanes that hold a prompt of random tokens."""

    def __init__(self, target: Model, drafter: Model | None, arm: Arm, *, words: int, context: int) -> None:
        self.arm = arm
        self.random = np.random.default_rng(7)
        self.words = words
        rows = max(CHUNK, arm.lanes * (1 + arm.depth))
        kind = {
            "tokens": arm.lanes * context,
            "sequences": arm.lanes,
            "rows": rows,
            "threads": min(8, os.cpu_count() or 1),
        }
        taps = (NEXTN,) if drafter is not None else ()
        outputs = arm.lanes * (1 + arm.depth)
        self.target = Context(target, **kind, outputs=outputs, rollback=arm.depth, taps=taps)
        self.drafter = None
        if drafter is not None:
            drafting = DeviceArgmax if arm.device_argmax else Context
            self.drafter = drafting(drafter, **kind, outputs=arm.lanes, taps=(NEXTN,), mtp=True)
        self.lengths = [PROMPT_TOKENS] * arm.lanes
        self.hidden = np.zeros((arm.lanes, target.width), np.float32)
        for lane in range(arm.lanes):
            for start in range(0, PROMPT_TOKENS, CHUNK):
                batch = Batch()
                batch.add(lane, self.tokens(CHUNK), start, wanted=0)
                self.target.decode(batch)
                if self.drafter is not None:
                    self.drafter.decode(batch, self.target.hidden(NEXTN))
        self.target_seconds = self.draft_seconds = 0.0

    def tokens(self, count: int) -> list[int]:
        return [int(token) for token in self.random.integers(0, self.words, count)]

    def step(self) -> int:
        """Draft, verify, accept by the coin, roll back; the tokens that were emitted."""
        lanes, depth = range(self.arm.lanes), self.arm.depth
        started = time.perf_counter()
        for number in range(depth):
            assert self.drafter is not None
            batch = Batch()
            for lane in lanes:
                batch.add(lane, self.tokens(1), self.lengths[lane] + number, wanted=1)
            self.drafter.best(batch, self.hidden)
            self.hidden = self.drafter.hidden(NEXTN).copy()
        drafted = time.perf_counter()
        batch = Batch()
        for lane in lanes:
            batch.add(lane, self.tokens(1 + depth), self.lengths[lane], wanted=1 + depth)
        self.target.decode(batch).argmax(axis=1)
        if self.drafter is not None:
            self.hidden = self.target.hidden(NEXTN)[:: 1 + depth].copy()
        emitted = 0
        for lane in lanes:
            right = 0
            while right < depth and self.random.random() < RATES[right]:
                right += 1
            self.lengths[lane] += 1 + right
            emitted += 1 + right
            if right < depth:
                self.target.remove(lane, self.lengths[lane])
            if self.drafter is not None and right + 1 < depth:
                self.drafter.remove(lane, self.lengths[lane])
        if self.drafter is not None:
            self.catch_up()
        ended = time.perf_counter()
        self.draft_seconds += drafted - started
        self.target_seconds += ended - drafted
        return emitted

    def catch_up(self) -> None:
        """Rows of the block for tokens that it has not seen: those after its last guess."""
        assert self.drafter is not None
        batch = Batch()
        rows = []
        for lane in range(self.arm.lanes):
            seen = self.drafter.memory.last_position(lane) + 1
            missing = self.lengths[lane] - seen
            if missing > 0:
                batch.add(lane, self.tokens(missing), seen, wanted=0)
                rows += [self.hidden[lane]] * missing
        if len(batch):
            self.drafter.decode(batch, np.stack(rows))

    def close(self) -> None:
        if self.drafter is not None:
            self.drafter.close()
        self.target.close()


def run_arm(
    target: Model, drafter: Model | None, arm: Arm, *, seconds: float, words: int, sizes: tuple[int, int]
) -> Result:
    """Measure one arm for about so many seconds; `sizes` are the bytes read in a target pass and in a draft step."""
    context = PROMPT_TOKENS + 4096
    bench = Bench(target, drafter, arm, words=words, context=context)
    for _ in range(3):
        bench.step()
    bench.target_seconds = bench.draft_seconds = 0.0
    tokens = steps = 0
    started = time.perf_counter()
    while time.perf_counter() - started < seconds and max(bench.lengths) < context - 2 * (1 + arm.depth):
        tokens += bench.step()
        steps += 1
    spent = time.perf_counter() - started
    bench.close()
    read = steps * (sizes[0] + arm.depth * sizes[1]) / 1e9
    return Result(
        arm.method, arm.lanes, arm.depth, tokens / spent, steps, tokens / steps, 1000 * bench.target_seconds / steps,
        1000 * bench.draft_seconds / steps, read / tokens, read / spent,
    )  # fmt: skip


def main() -> None:
    """Run all arms and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--trimmed", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--bandwidth", type=float, help="GB/s; default: what plain decoding reaches with one lane")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each arm, at most")
    parser.add_argument("--total", type=float, default=400.0, help="seconds that all of it may take")
    arguments = parser.parse_args()
    deadline = time.perf_counter() + arguments.total
    layers = -1 if native_support().gpu else 0
    for device in devices():
        print(f"{device.name}: {device.description}, {device.free / 1e9:.1f} of {device.total / 1e9:.1f} GB free")
    shape = read_shape(arguments.model)
    block, embedding = shape.part(MTP_BLOCK), shape.part(EMBEDDING)
    assert block is not None and embedding is not None
    # A pass reads one row a token of the embedding, all of the rest.
    weights = shape.weights - block.size - embedding.size
    full = draft_bytes(shape, shape.vocabulary).before
    target = Model(arguments.model, gpu_layers=layers, load_mtp=True)
    sources: list[tuple[str, Model, int, int]] = [("mtp", target, shape.vocabulary, full)]
    if arguments.trimmed is not None:
        kept = len(read_trimmed(arguments.trimmed).rows)
        cut = Model(arguments.trimmed, gpu_layers=layers, load_mtp=True)
        sources.append(("trimmed", cut, kept, draft_bytes(shape, kept).after))
    results: list[Result] = []
    bandwidth = arguments.bandwidth
    print("method       lanes depth  tokens/s  passes  tokens/pass  target ms  draft ms  GB/token  GB/s  of bandwidth")
    for lanes in (1, 5):
        arms: list[tuple[Arm, Model | None, int, int]] = [(Arm("plain", lanes, 0), None, shape.vocabulary, 0)]
        for name, model, words, size in sources:
            arms += [(Arm(name, lanes, depth), model, words, size) for depth in range(1, len(RATES) + 1)]
        arms.append((Arm("mtp, argmax", lanes, 1, device_argmax=True), target, shape.vocabulary, full))
        for number, (arm, drafter, words, size) in enumerate(arms):
            left = (len(arms) if lanes == 1 else 0) + len(arms) - number
            # Half of its share: the other half is for the contexts and the prompts.
            seconds = min(arguments.seconds, max(0.5, (deadline - time.perf_counter()) / left / 2))
            found = run_arm(target, drafter, arm, seconds=seconds, words=words, sizes=(weights, size))
            bandwidth = bandwidth or found.gigabytes_per_second
            found = replace(found, share=found.gigabytes_per_second / bandwidth)
            results.append(found)
            print(
                f"{found.method:<12} {lanes:>5} {found.depth:>5} {found.tokens_per_second:>9.1f} {found.passes:>7}"
                f" {found.tokens_per_pass:>12.2f} {found.target_ms:>10.2f} {found.draft_ms:>9.2f}"
                f" {found.gigabytes:>9.3f} {found.gigabytes_per_second:>5.0f} {100 * found.share:>11.0f} %",
                flush=True,
            )
    if arguments.json is not None:
        report = {"version": 1, "rates": RATES, "bandwidth": bandwidth, "arms": [asdict(r) for r in results]}
        arguments.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
