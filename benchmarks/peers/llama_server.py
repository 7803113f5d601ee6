"""The same five prompts through llama-server and through pagec, in turn.

    bash benchmarks/peers/build_llama_server.sh
    python -m benchmarks.peers.llama_server build/llama-server/cmake/bin/llama-server wide.gguf --pairs 5

Server: default flags but `-np 5 -kvu`, a context of five lanes, two threads, a fresh process each run, on loopback;
one short request first, so that it is warm. Both get the tokens of pagec's rendered prompts at once and write as many
tokens as pagec's plain run wrote for the prompt, arg-max. Figures: time from the first request to the last answer,
prompts included, and tokens a second while decoding; the server's decode rate is by its own timings.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workload import arm, longest, sample_requests
from pagecompiler.engine.llama.chat import PromptWriter
from pagecompiler.engine.llama.engine import LlamaEngine, model_template
from pagecompiler.engine.llama.library import Model
from pagecompiler.engine.types import Request

LANES = 5
ROOM = 4096


@dataclass(frozen=True, slots=True)
class Result:
    """Seconds from the first request to the last answer, and tokens a second while decoding."""

    seconds: float
    decode_rate: float
    tokens: int


class Server:
    """A llama-server process on a free port of loopback."""

    def __init__(self, binary: Path, model: Path, *, threads: int, depth: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        command = [
            str(binary), "-m", str(model), "--host", "127.0.0.1", "--port", str(self._port), "-np", str(LANES), "-kvu",
            "-c", str(LANES * ROOM), "-t", str(threads), "-tb", str(threads),
        ]  # fmt: skip
        if depth:
            command += ["--spec-type", "draft-mtp", "--spec-draft-n-max", str(depth)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Server:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/health", timeout=1):
                    return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("llama-server does not answer")

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        self._process.wait()

    def complete(self, tokens: tuple[int, ...], count: int) -> dict[str, Any]:
        """Write `count` tokens behind a prompt."""
        body = {
            "prompt": list(tokens), "n_predict": count, "temperature": 0, "samplers": ["top_k"], "top_k": 1,
            "cache_prompt": False, "ignore_eos": True,
        }  # fmt: skip
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/completion",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=600) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


def through_server(
    options: argparse.Namespace, prompts: list[tuple[int, ...]], counts: list[int], depth: int
) -> Result:
    with Server(options.binary, options.model, threads=options.threads, depth=depth) as server:
        server.complete(prompts[0][:20], 4)
        started = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            answers = list(pool.map(server.complete, prompts, counts))
        seconds = time.perf_counter() - started
    written = sum(answer["tokens_predicted"] for answer in answers)
    slowest = max(answer["timings"]["predicted_ms"] for answer in answers) / 1000
    return Result(seconds, written / slowest, written)


def through_pagec(options: argparse.Namespace, requests: list[Request], name: str) -> Result:
    with LlamaEngine(options.model, decoding=arm(name), threads=options.threads) as engine:
        engine.submit(replace(requests[0], max_tokens=4))
        list(engine.events())
        before = replace(engine.stats())
        started = time.perf_counter()
        for request in requests:
            engine.submit(request)
        list(engine.events())
        seconds = time.perf_counter() - started
        stats = engine.stats()
        tokens = stats.tokens - before.tokens
        return Result(seconds, (tokens - len(requests)) / (stats.verify_seconds - before.verify_seconds), tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    requests = longest(sample_requests(), LANES)
    model = Model(options.model)
    writer = PromptWriter(model, model_template(model))
    prompts = [writer.write(request.messages).tokens for request in requests]
    model.close()
    with LlamaEngine(options.model, decoding=arm("plain"), threads=options.threads) as engine:
        numbers = [engine.submit(request) for request in requests]
        ended = {event.request: event.completion for event in engine.events() if event.completion}
    counts = [len(completion.tokens) for number in numbers if (completion := ended[number]) is not None]
    exact = [replace(request, max_tokens=count) for request, count in zip(requests, counts, strict=True)]
    for ours, depth in (("plain", 0), ("mtp:1", 1), ("mtp:2", 2), ("auto", 0)):
        pairs = []
        for pair in range(options.pairs):
            calls = [
                lambda: through_pagec(options, exact, ours),  # noqa: B023  # called in this turn
                lambda: through_server(options, prompts, counts, depth),  # noqa: B023
            ]
            results = [call() for call in (calls if pair % 2 == 0 else calls[::-1])]
            pairs.append(results if pair % 2 == 0 else results[::-1])
        rates = [mine.decode_rate / theirs.decode_rate for mine, theirs in pairs]
        times = [mine.seconds / theirs.seconds for mine, theirs in pairs]
        low, middle, high = np.quantile(rates, (0.1, 0.5, 0.9))
        print(
            f"pagec {ours} / llama-server {'draft-mtp ' + str(depth) if depth else 'plain'}:"
            f" decode rate x{middle:.2f} ({low:.2f}-{high:.2f}),"
            f" time to all answers x{np.median(times):.2f}"
            f" ({np.median([mine.seconds for mine, _ in pairs]):.2f} s and"
            f" {np.median([theirs.seconds for _, theirs in pairs]):.2f} s), {options.pairs} pairs",
            flush=True,
        )


if __name__ == "__main__":
    main()
