"""A small Qwen3.5-architecture language model: gated delta-net and full-attention layers, and one MTP block.

It computes what llama.cpp computes for `qwen35` (`export.py` writes the GGUF, `evaluate.py` holds the logits
against each other). Sequences are rows of token ids, padded on the right: every layer is causal, so padding
never reaches a real token and rows need no mask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (the name the whole PyTorch world uses)
from torch import Tensor, nn

EPS = 1e-6
ROPE_BASE = 10_000.0


@dataclass(frozen=True, slots=True)
class Config:
    """The model's sizes. The full-attention layers are every `interval`-th one, counted from 1."""

    vocab: int = 1024
    width: int = 192
    layers: int = 6
    interval: int = 2
    feed_forward: int = 512
    heads: int = 4
    kv_heads: int = 2
    head_width: int = 64
    rotary: int = 32
    delta_heads: int = 4
    delta_width: int = 32
    conv: int = 4
    chunk: int = 32
    mtp: bool = True

    @property
    def delta_inner(self) -> int:
        """The width of the delta-net's keys, and of its values."""
        return self.delta_heads * self.delta_width

    @staticmethod
    def draft(vocab: int) -> Config:
        """The small model that guesses for the other one: no MTP block, two layers."""
        return Config(
            vocab, width=128, layers=2, feed_forward=320, heads=4, kv_heads=2, head_width=32, rotary=16, mtp=False
        )

    def is_full(self, layer: int) -> bool:
        """Whether the layer (counted from 0) is a full-attention one."""
        return (layer + 1) % self.interval == 0


class Norm(nn.Module):
    """RMS norm with a weight."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, EPS)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply NeoX rotary embedding to the first `2 * cos.shape[-1]` dimensions of `x` (…, T, D)."""
    half = cos.shape[-1]
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], -1)


def rotary_table(config: Config, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines (length, rotary / 2) of the positions from 0 on."""
    half = config.rotary // 2
    inverse = ROPE_BASE ** (-torch.arange(half, dtype=torch.float32, device=device) / half)
    angle = torch.arange(length, dtype=torch.float32, device=device)[:, None] * inverse
    return angle.cos(), angle.sin()


class Attention(nn.Module):
    """Grouped-query attention with query/key norm, partial rotary embedding and an output gate."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = self.config = config
        self.q = nn.Linear(c.width, c.heads * c.head_width * 2, bias=False)  # per head: query, gate
        self.k = nn.Linear(c.width, c.kv_heads * c.head_width, bias=False)
        self.v = nn.Linear(c.width, c.kv_heads * c.head_width, bias=False)
        self.out = nn.Linear(c.heads * c.head_width, c.width, bias=False)
        self.q_norm = Norm(c.head_width)
        self.k_norm = Norm(c.head_width)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        c = self.config
        rows, length, _ = x.shape
        q, gate = self.q(x).view(rows, length, c.heads, 2, c.head_width).unbind(3)
        k = self.k(x).view(rows, length, c.kv_heads, c.head_width)
        v = self.v(x).view(rows, length, c.kv_heads, c.head_width).transpose(1, 2)
        q = self.q_norm(q).transpose(1, 2) * c.head_width**-0.5
        q = rotate(q, cos, sin).to(v.dtype)
        k = rotate(self.k_norm(k).transpose(1, 2), cos, sin).to(v.dtype)
        repeat = c.heads // c.kv_heads
        k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        mixed = attend(q, k, v).transpose(1, 2)
        return self.out((mixed * torch.sigmoid(gate)).reshape(rows, length, -1))


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention by blocks of queries; on CPUs these plain products are twice as fast as the fused kernel."""
    length = q.shape[2]
    size = 128 if length <= 512 else 256
    future = torch.full((size, size), -torch.inf, dtype=q.dtype, device=q.device).triu(1)
    parts = []
    for start in range(0, length, size):
        end = min(start + size, length)
        scores = q[:, :, start:end] @ k[:, :, :end].transpose(-1, -2)
        near = scores[..., start:] + future[: end - start, : end - start]
        scores = torch.cat([scores[..., :start], near], -1) if start else near
        parts.append(torch.softmax(scores, -1, dtype=q.dtype) @ v[:, :, :end])
    return torch.cat(parts, 2)


def unit(x: Tensor) -> Tensor:
    """Scale the last dimension to length 1."""
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + EPS)


def delta_rule(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, beta: Tensor, chunk: int) -> Tensor:
    """The gated delta rule, chunk by chunk.

    `q`, `k`, `v` are (rows, heads, T, D); `decay` (log, ≤ 0) and `beta` are (rows, heads, T). Inside a chunk
    everything is a matrix product; between chunks a state (D, D) is carried on.
    """
    rows, heads, length, width = q.shape
    pad = -length % chunk
    if pad:
        q, k, v = (F.pad(t, (0, 0, 0, pad)) for t in (q, k, v))
        decay, beta = (F.pad(t, (0, pad)) for t in (decay, beta))
    n = (length + pad) // chunk
    q, k, v = (t.reshape(rows * heads, n, chunk, width) for t in (q * width**-0.5, k, v))
    decay, beta = (t.reshape(rows * heads, n, chunk) for t in (decay, beta))
    total = decay.cumsum(-1)
    lower = torch.ones(chunk, chunk, dtype=torch.bool, device=q.device).tril()
    between = (total[..., :, None] - total[..., None, :]).masked_fill(~lower, -1e30).exp()
    k_beta = k * beta[..., None]
    grown = total.exp()[..., None]
    mix = (k_beta @ k.transpose(-1, -2)).float() * between
    right = torch.cat([v * beta[..., None], k_beta * grown], -1).float()
    solved = torch.linalg.solve_triangular(mix, right, upper=False, unitriangular=True)
    new_v, seen = solved[..., :width], solved[..., width:]
    attend = (q @ k.transpose(-1, -2)) * between
    q_grown = q * grown
    k_left = (k * (total[..., -1:] - total).exp()[..., None]).transpose(-1, -2)
    kept = total[..., -1].exp()[..., None, None]
    state = torch.zeros(rows * heads, width, width, device=q.device)
    states, values = [], []
    parts = zip(*(t.unbind(1) for t in (new_v, seen, k_left, kept)), strict=True)
    for chunk_v, chunk_seen, chunk_k, chunk_kept in parts:
        states.append(state)
        value = chunk_v - chunk_seen @ state
        values.append(value)
        state = state * chunk_kept + chunk_k @ value
    out = q_grown @ torch.stack(states, 1) + attend @ torch.stack(values, 1)
    return out.reshape(rows, heads, n * chunk, width)[:, :, :length]


class DeltaNet(nn.Module):
    """A gated delta-net layer: short convolution, delta rule, gated norm."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = self.config = config
        inner = c.delta_inner
        self.qkv = nn.Linear(c.width, 3 * inner, bias=False)
        self.gate = nn.Linear(c.width, inner, bias=False)
        self.beta = nn.Linear(c.width, c.delta_heads, bias=False)
        self.alpha = nn.Linear(c.width, c.delta_heads, bias=False)
        self.conv = nn.Parameter(torch.randn(3 * inner, c.conv) * 0.3)
        self.decay_log = nn.Parameter(torch.log(torch.empty(c.delta_heads).uniform_(0.5, 8)))
        self.step = nn.Parameter(torch.full((c.delta_heads,), -2.0))
        self.norm = nn.Parameter(torch.ones(c.delta_width))
        self.out = nn.Linear(inner, c.width, bias=False)

    def convolve(self, x: Tensor) -> Tensor:
        """The causal depthwise convolution over the last `conv` tokens, and SiLU."""
        taps = self.config.conv
        x = F.pad(x, (0, 0, taps - 1, 0))
        length = x.shape[1] - taps + 1
        return F.silu(sum(x[:, i : i + length] * self.conv[:, i] for i in range(taps)))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        c = self.config
        rows, length, _ = x.shape
        mixed = self.convolve(self.qkv(x)).view(rows, length, 3, c.delta_heads, c.delta_width)
        q, k, v = mixed.transpose(1, 3).unbind(2)
        beta = torch.sigmoid(self.beta(x)).transpose(1, 2)
        decay = (-self.decay_log.exp() * F.softplus(self.alpha(x) + self.step)).transpose(1, 2)
        out = delta_rule(unit(q), unit(k), v, decay, beta, c.chunk).transpose(1, 2)
        out = F.rms_norm(out.float(), (c.delta_width,), self.norm, EPS)
        out = out * F.silu(self.gate(x).view(rows, length, c.delta_heads, c.delta_width))
        return self.out(out.reshape(rows, length, -1))


class Block(nn.Module):
    """Mixer (delta-net or attention) and gated feed-forward, each behind a norm and a residual."""

    def __init__(self, config: Config, full: bool) -> None:
        super().__init__()
        self.mix_norm = Norm(config.width)
        self.feed_norm = Norm(config.width)
        self.mix: Attention | DeltaNet = Attention(config) if full else DeltaNet(config)
        self.gate = nn.Linear(config.width, config.feed_forward, bias=False)
        self.up = nn.Linear(config.width, config.feed_forward, bias=False)
        self.down = nn.Linear(config.feed_forward, config.width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.mix(self.mix_norm(x), cos, sin)
        h = self.feed_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class PageModel(nn.Module):
    """The whole model. `trunk` gives hidden rows, `mtp` the MTP block's, `head` turns either into logits."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.width)
        self.output = nn.Linear(config.width, config.vocab, bias=False)
        self.blocks = nn.ModuleList(Block(config, config.is_full(i)) for i in range(config.layers))
        self.norm = Norm(config.width)
        if config.mtp:
            self.mtp_embed_norm = Norm(config.width)
            self.mtp_hidden_norm = Norm(config.width)
            self.mtp_join = nn.Linear(2 * config.width, config.width, bias=False)
            self.mtp_block = Block(config, True)
            self.mtp_norm = Norm(config.width)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2 and not name.endswith("conv"):
                nn.init.normal_(parameter, std=0.02)
        # Far apart from the start, and not tied to the output: tokens that are equally likely next (the length
        # classes) would otherwise get equal embeddings, and the model would never see which one it was given.
        nn.init.normal_(self.embed.weight, std=1.0)
        for block in [*self.blocks, *([self.mtp_block] if config.mtp else [])]:
            for weight in (block.mix.out.weight, block.down.weight):
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * config.layers))

    def trunk(self, ids: Tensor) -> Tensor:
        """Hidden rows (rows, T, width) of token ids (rows, T)."""
        x = self.embed(ids)
        cos, sin = rotary_table(self.config, ids.shape[1], ids.device)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.norm(x)

    def mtp(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """One MTP step: from the hidden rows of the positions before and the ids, the next hidden rows.

        Row i sees `hidden[i - 1]` (zeros for row 0) and `ids[i]`, and predicts the token after `ids[i]`. Given
        the trunk's rows this looks one step ahead, given a step's rows one more.
        """
        before = F.pad(hidden[:, :-1], (0, 0, 1, 0))
        joined = torch.cat([self.mtp_embed_norm(self.embed(ids)), self.mtp_hidden_norm(before)], -1)
        cos, sin = rotary_table(self.config, ids.shape[1], ids.device)
        return self.mtp_norm(self.mtp_block(self.mtp_join(joined), cos, sin))

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of hidden rows of the trunk or of the MTP block."""
        logits: Tensor = self.output(hidden)
        return logits


def load_model(path: Path, *, average: bool = True) -> PageModel:
    """The model of a checkpoint, with its averaged weights or the last ones."""
    state: dict[str, Any] = torch.load(path, weights_only=True)
    model = PageModel(Config(**state["config"]))
    model.load_state_dict(state["average"] if average else state["model"])
    return model.eval()
