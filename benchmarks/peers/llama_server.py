"""The same five prompts through llama-server and through pagec, in turn.

    bash benchmarks/peers/build_llama_server.sh
    python -m benchmarks.peers.llama_server build/llama-server/cmake/bin/llama-server wide.gguf

Server: built from the same llama.cpp, default flags but `-np 5 -kvu`, and `--spec-type draft-mtp --spec-draft-n-max N`
(or `draft-simple`, with pagec-mini's draft model) for its drafting arms; a fresh process each run, on loopback.
pagec: a fresh engine each run; `auto` starts from what six runs before stored, as in the seventh build on a machine.
One short request first, so that both are warm. Both get the tokens of pagec's rendered prompts at once and write as
many tokens as pagec's plain run wrote for the prompt, arg-max. Each round runs every arm once, the order is rotated.
Figures: time from the first request to the last answer, prompts included, and tokens a second while decoding; the
server's by its own timings, all tokens by its slowest slot.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workload import (
    DRAFT_MODEL,
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
from pagecompiler.engine.llama.support import native_support
from pagecompiler.engine.types import Request

LANES = 5
PLAIN_RATIO, MTP_RATIO, TIME_RATIO, TIME_STRETCH = 1.0, 1.1, 0.85, 0.75
LEARNING_RUNS = 6
SPEC_TYPES = {"mtp": "draft-mtp", "draft": "draft-simple"}
SET_BY_PAGEC = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "GGML_NO_BACKTRACE")  # for its own process only


@dataclass(frozen=True, slots=True)
class Result:
    """Seconds from the first request to the last answer, tokens a second while decoding, and the answers."""

    seconds: float
    decode_rate: float
    answers: list[list[int]]


class Server:
    """A llama-server process on a free port of loopback; `log` is what it printed so far."""

    def __init__(self, binary: Path, model: Path, *, way: str = "plain") -> None:
        """`way` is `plain`, `mtp:2`, or `draft:2` (with the draft model that comes with pagec-mini)."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        command = [
            str(binary), "-m", str(model), "--host", "127.0.0.1", "--port", str(self._port), "-np", str(LANES), "-kvu"
        ]  # fmt: skip
        method, _, depth = way.partition(":")
        if depth:
            command += ["--spec-type", SPEC_TYPES[method], "--spec-draft-n-max", depth]
        if method == "draft":
            command += ["--spec-draft-model", str(DRAFT_MODEL)]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        environment = {name: value for name, value in os.environ.items() if name not in SET_BY_PAGEC}
        self._process = subprocess.Popen(command, env=environment, stdout=self._log, stderr=subprocess.STDOUT)

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
        self._log.close()

    @property
    def log(self) -> str:
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")

    def complete(self, tokens: tuple[int, ...], count: int) -> dict[str, Any]:
        """Write `count` tokens behind a prompt."""
        body = {
            "prompt": list(tokens), "n_predict": count, "temperature": 0, "samplers": ["top_k"], "top_k": 1,
            "ignore_eos": True, "return_tokens": True,
        }  # fmt: skip
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/completion",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=600) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


class Peers:
    """Both sides with the same work."""

    def __init__(self, options: argparse.Namespace, tuning: Path) -> None:
        self._options = options
        self._tuning = tuning
        self._requests = longest(sample_requests(), LANES)
        self._room = room(self._requests, LANES)
        self._prompts = prompts_of(options.model, self._requests)
        self.expected = self.pagec("plain", self._requests).answers
        self._counts = [len(answer) for answer in self.expected]
        self._exact = [replace(r, max_tokens=count) for r, count in zip(self._requests, self._counts, strict=True)]

    def describe(self) -> str:
        with Server(self._options.binary, self._options.model) as server:
            threads = re.search(r"n_threads = (\d+)", server.log)
        return (
            f"{self._options.model.name}, {machine()}; {sum(map(len, self._prompts))} prompt tokens,"
            f" {sum(self._counts)} tokens to write; llama-server {threads[1] if threads else 'unknown'} threads,"
            f" pagec {threads_of(self._options.model, self._options.threads)}, which wait"
            f" {'shortly, since something else computed' if short_waits() else 'as those of the server do'};"
            f" pagec's llama.cpp: {native_support().system}"
        )

    def run(self, name: str) -> Result:
        """`pagec auto`, `server mtp:2`, …"""
        side, _, which = name.partition(" ")
        if side == "pagec":
            return self.pagec(which, self._exact)
        return self.server(which)

    def server(self, way: str) -> Result:
        with Server(self._options.binary, self._options.model, way=way) as server:
            server.complete(self._prompts[0][:20], 4)
            started = time.perf_counter()
            with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
                answers = list(pool.map(server.complete, self._prompts, self._counts))
            seconds = time.perf_counter() - started
        slowest = max(answer["timings"]["predicted_ms"] for answer in answers) / 1000
        tokens = [answer["tokens"] for answer in answers]
        return Result(seconds, (sum(map(len, tokens)) - LANES) / slowest, tokens)

    def pagec(self, name: str, requests: list[Request]) -> Result:
        tuning = self._tuning if name == "auto" else None
        with LlamaEngine(
            self._options.model, decoding=arm(name), threads=self._options.threads, context_tokens=self._room,
            tuning=tuning,
        ) as engine:  # fmt: skip
            run_in(engine, [replace(requests[0], max_tokens=4)])
            done = run_in(engine, requests)
        return Result(done.seconds, done.decode_tokens_per_second, [list(c.tokens) for c in done.completions])


def short_waits() -> bool:
    """Whether pagec found that it is not alone on the machine: the figures are then those of other settings."""
    return os.environ.get("OMP_WAIT_POLICY") == "PASSIVE"


def best(results: dict[str, list[Result]], side: str, key: str) -> str:
    """The arm of a side with the best median of a figure."""
    names = [name for name in results if name.startswith(side)]
    if key == "seconds":
        return min(names, key=lambda name: float(np.median([r.seconds for r in results[name]])))
    return max(names, key=lambda name: float(np.median([r.decode_rate for r in results[name]])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, help="by default as the program chooses")
    parser.add_argument(
        "--ways", nargs="+", default=["mtp:1", "mtp:2", "mtp:3", "draft:3"],
        help="beside plain; the depth that is the server's default is 3",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ways = ["plain", *options.ways]
    names = [f"{side} {way}" for side in ("pagec", "server") for way in ways] + ["pagec auto"]
    with tempfile.TemporaryDirectory() as folder:
        peers = Peers(options, Path(folder) / "tuning.json")
        print(peers.describe(), flush=True)
        for _ in range(LEARNING_RUNS):
            peers.run("pagec auto")
        results: dict[str, list[Result]] = {name: [] for name in names}
        for number in range(options.rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                results[name].append(peers.run(name))
                last = results[name][-1]
                print(f"round {number}: {name} {last.decode_rate:.0f} tok/s, {last.seconds:.2f} s", file=sys.stderr)
    for name, runs in results.items():
        same = sum(a == b for a, b in zip(runs[-1].answers, peers.expected, strict=True))
        print(
            f"{name:<13} {np.median([r.decode_rate for r in runs]):7.1f} tok/s decoding,"
            f" {np.median([r.seconds for r in runs]):.2f} s to all answers, {same} of {LANES} as pagec's plain ones"
        )

    def ratio(ours: str, theirs: str, key: str) -> Interval:
        pairs = zip(results[ours], results[theirs], strict=True)
        return Interval.of([getattr(a, key) / getattr(b, key) for a, b in pairs])

    for way in ways:
        figure = ratio(f"pagec {way}", f"server {way}", "decode_rate")
        wanted = PLAIN_RATIO if way == "plain" else MTP_RATIO
        asked = f", wanted {wanted}: {verdict(figure.median >= wanted)}" if not way.startswith("draft") else ""
        print(f"decoding, {way} to {way}: {figure}{asked}")
    with_mtp = {name: runs for name, runs in results.items() if "mtp" in name}
    if with_mtp:
        theirs, ours = best(with_mtp, "server", "decode_rate"), best(with_mtp, "pagec", "decode_rate")
        figure = ratio(ours, theirs, "decode_rate")
        print(f"decoding, {ours} to {theirs}: {figure}, wanted {MTP_RATIO}: {verdict(figure.median >= MTP_RATIO)}")
    without_drafts = {name: runs for name, runs in results.items() if "draft" not in name}
    for arms in [without_drafts, results] if len(without_drafts) < len(results) else [results]:
        fastest = best(arms, "server", "seconds")
        for name in dict.fromkeys(("pagec auto", best(arms, "pagec", "seconds"))):
            figure = ratio(name, fastest, "seconds")
            print(
                f"time to all answers, {name} to {fastest}: {figure}, wanted {TIME_RATIO}:"
                f" {verdict(figure.median <= TIME_RATIO)};"
                f" stretch {TIME_STRETCH}: {verdict(figure.median <= TIME_STRETCH)}"
            )


if __name__ == "__main__":
    main()
