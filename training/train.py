"""Train pagec-mini: `python -m training.train`. Stop it at any time; the same command goes on.

One single-threaded process for each CPU core computes the gradient of its own batch; they meet once a step. (Threads
inside each operation would meet a thousand times a step, which is slow for a small model and worse on a busy machine.)

The schedule follows the share of the token budget that is used: a short warm-up, a constant rate, then a linear fall
to zero. MTP is learnt one step ahead from the start, two and three steps ahead later. With `--teacher` the small draft
model is trained instead: it learns from the teacher's distribution, not from the samples.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from training.batches import Batch, Batches
from training.corpus import WORK
from training.losses import distilled_loss, sample_loss
from training.model import Config, PageModel, load_model
from training.shards import Shard
from training.tokenizer import load_tokenizer

_WARM_UP_STEPS = 60
_FALL_FROM = 0.45  # share of the budget after which the rate falls
_MANY_STEPS_FROM = 0.75  # share after which MTP looks two and three steps ahead
_MTP_WEIGHTS = (0.3, 0.15, 0.1)
_SHORT_FIRST = ((0.04, 192), (0.1, 384), (0.2, 768))  # until this share, only samples up to this length
_RENUMBERED = ((0.5, 0.25), (0.8, 0.1))  # until this share, so many batches have other slot numbers
_AVERAGED_STEPS = 250
_LOG_EVERY_STEPS = 100
_SAVE_EVERY_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Options:
    """How to train; `tokens` is the budget of the whole training, `batch_tokens` the size of one process's batch."""

    tokens: float
    batch_tokens: int
    rate: float
    muon_rate: float
    seed: int
    processes: int
    checkpoint: Path
    teacher: Path | None
    device: str


class Trainer:
    """Model, optimizers, averaged weights and how far the training is; the same in every process."""

    def __init__(self, config: Config, options: Options) -> None:
        self.options = options
        self.model = PageModel(config).to(options.device)
        self.teacher = load_model(options.teacher).to(options.device) if options.teacher else None
        self.average = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        matrices, others = [], []
        for name, parameter in self.model.named_parameters():
            is_matrix = parameter.dim() == 2 and min(parameter.shape) > 16 and not name.startswith(("embed", "output"))
            (matrices if is_matrix else others).append(parameter)
        muon = torch.optim.Muon(matrices, lr=options.muon_rate, weight_decay=0.02, adjust_lr_fn="match_rms_adamw")
        adam = torch.optim.AdamW(others, lr=options.rate, betas=(0.9, 0.98), weight_decay=0.0)
        self.optimizers: list[tuple[torch.optim.Optimizer, float]] = [(muon, options.muon_rate), (adam, options.rate)]
        self.steps = 0
        self.tokens = 0
        self.seconds = 0.0

    @property
    def share(self) -> float:
        """The part of the budget that is used, 0 to 1."""
        return min(1.0, self.tokens / self.options.tokens)

    def state(self) -> dict[str, Any]:
        return {
            "config": asdict(self.model.config),
            "model": self.model.state_dict(),
            "average": self.average,
            "optimizers": [optimizer.state_dict() for optimizer, _ in self.optimizers],
            "steps": self.steps,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.average = state["average"]
        for (optimizer, _), saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.steps, self.tokens, self.seconds = state["steps"], state["tokens"], state["seconds"]

    def step(self, batch: Batch) -> list[float]:
        """One update; returns this batch's losses over the answers: the next token, then each MTP step.

        With a teacher: how far its distribution is, then the next token.
        """
        scale = min(1.0, (self.steps + 1) / _WARM_UP_STEPS, (1 - self.share) / (1 - _FALL_FROM))
        for optimizer, rate in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * scale
        batch = batch.to(self.options.device)
        if self.teacher:
            total, losses = distilled_loss(self.model, self.teacher, batch)
        else:
            weights = _MTP_WEIGHTS if self.share >= _MANY_STEPS_FROM else _MTP_WEIGHTS[:1]
            total, losses = sample_loss(self.model, batch, weights)
        total.backward()
        self.tokens += self._meet(batch.tokens)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer, _ in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.steps += 1
        keep = min(1 - 1 / _AVERAGED_STEPS, self.steps / (self.steps + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.values()), list(self.model.parameters()), 1 - keep)
        return losses

    def _meet(self, tokens: int) -> int:
        """Replace the gradients by their mean over the processes; returns the tokens of all processes."""
        if self.options.processes == 1:
            return tokens
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in self.model.parameters()]
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), torch.tensor([float(tokens)])])
        dist.all_reduce(flat)
        at = 0
        for parameter in self.model.parameters():
            part = flat[at : at + parameter.numel()].view_as(parameter)
            parameter.grad = part / self.options.processes
            at += parameter.numel()
        return int(flat[-1])


def save_atomically(state: dict[str, Any], path: Path) -> None:
    """Write a checkpoint so that a crash leaves the old one or the new one."""
    temporary = path.with_suffix(".tmp")
    torch.save(state, temporary)
    os.replace(temporary, path)


def renumbered_part(share: float) -> float:
    """How many of the batches shall have other slot numbers at this share of the budget."""
    return next((part for until, part in _RENUMBERED if share < until), 0.0)


def length_limit(share: float) -> int | None:
    """The longest samples at this share of the budget."""
    return next((limit for until, limit in _SHORT_FIRST if share < until), None)


def _work(rank: int, options: Options, meeting: str) -> None:
    """One training process; the first one prints and saves."""
    torch.set_num_threads(1)
    if options.processes > 1:
        dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=options.processes)
    torch.manual_seed(options.seed)
    vocabulary = load_tokenizer(WORK / "tokenizer.json").get_vocab_size()
    trainer = Trainer(Config.draft(vocabulary) if options.teacher else Config(vocabulary), options)
    if options.checkpoint.exists():
        trainer.restore(torch.load(options.checkpoint, map_location=options.device, weights_only=True))
    seed = options.seed + options.processes * trainer.steps + rank
    real, other = (
        Batches([Shard.load(path) for path in sorted(WORK.glob(f"{name}-*.npz"))], options.batch_tokens, seed)
        for name in ("shard", "renumbered")
    )
    if rank == 0:
        size = sum(parameter.numel() for parameter in trainer.model.parameters())
        print(f"{size / 1e6:.2f} M parameters, from step {trainer.steps}", flush=True)
    _run(trainer, real, other, random.Random(seed), leads=rank == 0)
    if options.processes > 1:
        dist.destroy_process_group()


def _run(trainer: Trainer, real: Batches, other: Batches, chance: random.Random, *, leads: bool) -> None:
    last = logged = saved = time.monotonic()
    sums: list[list[float]] = []
    tokens = trainer.tokens
    while trainer.share < 1:
        batches = other if chance.random() < renumbered_part(trainer.share) else real
        losses = trainer.step(batches.draw(length_limit(trainer.share)))
        if batches is real:
            sums.append(losses)
        now = time.monotonic()
        trainer.seconds += now - last
        last = now
        if leads and trainer.steps % _LOG_EVERY_STEPS == 0:
            depth = min((len(losses) for losses in sums), default=0)
            means = " ".join(f"{sum(losses[i] for losses in sums) / len(sums):.4f}" for i in range(depth))
            speed = (trainer.tokens - tokens) / (now - logged)
            print(
                f"step {trainer.steps} {trainer.share:.3f} {trainer.seconds:.0f} s"
                f" {trainer.tokens / 1e6:.2f} M {speed:.0f} tok/s loss {means}",
                flush=True,
            )
            sums, tokens, logged = [], trainer.tokens, now
        if leads and now - saved > _SAVE_EVERY_SECONDS:
            save_atomically(trainer.state(), trainer.options.checkpoint)
            saved = time.monotonic()
    if leads:
        save_atomically(trainer.state(), trainer.options.checkpoint)
        print(f"done: {trainer.steps} steps, {trainer.tokens / 1e6:.2f} M tokens", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million-tokens", type=float, default=11.0, help="budget of the whole training")
    parser.add_argument("--batch-tokens", type=int, default=2048, help="in each process")
    parser.add_argument("--rate", type=float, default=2e-3, help="AdamW: embedding, norms, small parameters")
    parser.add_argument("--muon-rate", type=float, default=1.5e-3, help="Muon: the matrices")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--processes", type=int, default=None, help="default: one for each core, one with --device cuda"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda is only faster")
    parser.add_argument("--checkpoint", type=Path, default=None, help="default: checkpoint.pt, draft.pt with --teacher")
    parser.add_argument("--teacher", type=Path, default=None, help="train the draft model from this checkpoint's model")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and arguments.processes not in (None, 1):
        parser.error("--device cuda works with one process")
    options = Options(
        tokens=arguments.million_tokens * 1e6,
        batch_tokens=arguments.batch_tokens,
        rate=arguments.rate,
        muon_rate=arguments.muon_rate,
        seed=arguments.seed,
        processes=arguments.processes or (1 if arguments.device == "cuda" else len(os.sched_getaffinity(0))),
        checkpoint=arguments.checkpoint or WORK / ("draft.pt" if arguments.teacher else "checkpoint.pt"),
        teacher=arguments.teacher,
        device=arguments.device,
    )
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that the children end too
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_work, (options, f"{folder}/meeting"), nprocs=options.processes, daemon=True)


if __name__ == "__main__":
    main()
