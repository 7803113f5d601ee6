"""Five groups at once through pagec, and the same five one after another through llama-cpp-python's `Llama`.

    python -m benchmarks.peers.llama_class wide.gguf --pairs 9

Both get the same rendered prompts, write as many tokens as pagec's plain run wrote for the prompt, arg-max, on as many
threads, each in one object that stays loaded, in one process (so OpenMP waits at barriers as llama.cpp is used to, for
both); wall time from the first request to the last answer, prompts included.
`Llama` keeps what two prompts that follow each other have in common, pagec copies it into its lanes. `Llama` runs plain
and with its own speculative option (`LlamaPromptLookupDecoding`), whose answers are compared first: where they are not
those of plain decoding it is left out, and that is said. pagec runs as it does without options (`auto`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from llama_cpp import Llama
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

from benchmarks.workload import (
    Interval,
    arm,
    longest,
    machine,
    prompts_of,
    room,
    run_in,
    sample_requests,
    threads_of,
    verdict,
)
from pagecompiler.engine.llama.engine import LlamaEngine

LANES = 5
LEAST = 2.5
GUESSED_TOKENS = 4
WARMING = 2


def write(llama: Llama, prompts: Sequence[tuple[int, ...]], counts: Sequence[int]) -> list[list[int]]:
    """The answers, one after another; an end token ends none, all are of the same length everywhere."""
    found = []
    for prompt, count in zip(prompts, counts, strict=True):
        tokens = []
        for token in llama.generate(list(prompt), temp=0.0, top_k=1, repeat_penalty=1.0):
            tokens.append(int(token))
            if len(tokens) == count:
                break
        found.append(tokens)
    return found


def timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, help="by default as the program chooses")
    parser.add_argument("--pairs", type=int, default=9)
    options = parser.parse_args()
    threads = threads_of(options.model, options.threads)
    requests = longest(sample_requests(), LANES)
    prompts = prompts_of(options.model, requests)
    size = room(requests, LANES)
    with LlamaEngine(options.model, decoding=arm("plain"), threads=threads, context_tokens=size) as engine:
        answers = [list(completion.tokens) for completion in run_in(engine, requests).completions]
    counts = [len(answer) for answer in answers]
    exact = [replace(request, max_tokens=count) for request, count in zip(requests, counts, strict=True)]
    longest_text = max(len(prompt) + count for prompt, count in zip(prompts, counts, strict=True))
    print(
        f"{options.model.name}, {machine()}, {threads} threads, {LANES} groups, {sum(map(len, prompts))} prompt"
        f" tokens, {sum(counts)} tokens to write"
    )

    def make(drafts: bool) -> Llama:
        return Llama(
            str(options.model),
            n_ctx=longest_text + GUESSED_TOKENS + 1,
            n_threads=threads,
            n_threads_batch=threads,
            draft_model=LlamaPromptLookupDecoding(num_pred_tokens=GUESSED_TOKENS) if drafts else None,
            verbose=False,
        )

    peers: dict[str, Llama] = {}
    for name, drafts in (("Llama plain", False), ("Llama with prompt lookup", True)):
        try:
            peer = make(drafts)
            same = sum(a == b for a, b in zip(write(peer, prompts, counts), answers, strict=True))
        except Exception as error:
            print(f"{name}: cannot run this model: {type(error).__name__}: {error}")
            continue
        print(f"{name}: {same} of {LANES} answers as pagec's plain ones")
        if not drafts or same == LANES:
            peers[name] = peer
    with LlamaEngine(options.model, decoding=arm("auto"), threads=threads, context_tokens=size) as engine:
        for _ in range(WARMING):
            run_in(engine, exact)
        for name, peer in peers.items():
            ours, theirs = [], []
            for pair in range(options.pairs):
                calls = [(ours, lambda: run_in(engine, exact)), (theirs, lambda: write(peer, prompts, counts))]  # noqa: B023
                for times, call in calls if pair % 2 == 0 else calls[::-1]:
                    times.append(timed(call))
            faster = Interval.of([b / a for a, b in zip(ours, theirs, strict=True)])
            print(
                f"pagec {np.median(ours):.2f} s, {name} {np.median(theirs):.2f} s: {faster} faster, wanted {LEAST}:"
                f" {verdict(faster.median >= LEAST)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
