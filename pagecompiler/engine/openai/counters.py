"""What servers count of their guesses: for a benchmark, which reads the counters before and after a run.

vLLM reports per request only at the end of a whole answer, and pagec ends answers early; its counters have them all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pagecompiler.engine.openai.client import Client, engine_key
from pagecompiler.engine.openai.discovery import CONNECT_SECONDS
from pagecompiler.engine.openai.faults import SendError

READ_SECONDS = 10.0
_SAMPLE = re.compile(
    r"^vllm:spec_decode_num_(drafts|draft_tokens|accepted_tokens)_total(?:\{[^}]*\})? (\S+)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class GuessCounters:
    """Totals of servers since they were started: passes that verified guesses, guessed and approved tokens."""

    passes: int = 0
    drafted: int = 0
    accepted: int = 0

    def __sub__(self, earlier: GuessCounters) -> GuessCounters:
        return GuessCounters(
            self.passes - earlier.passes, self.drafted - earlier.drafted, self.accepted - earlier.accepted
        )


def parse_counters(text: str) -> GuessCounters | None:
    """The counters in a `/metrics` page, over all engines of the server; None when it has none.

    >>> parse_counters('vllm:spec_decode_num_draft_tokens_total{engine="0"} 30.0')
    GuessCounters(passes=0, drafted=30, accepted=0)
    """
    sums = {"drafts": 0, "draft_tokens": 0, "accepted_tokens": 0}
    samples = _SAMPLE.findall(text)
    for name, value in samples:
        try:
            sums[name] += int(float(value))
        except (ValueError, OverflowError):
            return None
    return GuessCounters(sums["drafts"], sums["draft_tokens"], sums["accepted_tokens"]) if samples else None


def read_counters(urls: Sequence[str]) -> GuessCounters | None:
    """The sum over servers; None when one of them counts nothing or does not answer."""
    found = asyncio.run(_read_all(urls))
    if any(counters is None for counters in found):
        return None
    known = [counters for counters in found if counters is not None]
    return GuessCounters(sum(c.passes for c in known), sum(c.drafted for c in known), sum(c.accepted for c in known))


async def _read_all(urls: Sequence[str]) -> list[GuessCounters | None]:
    return await asyncio.gather(*(_read(url) for url in urls))


async def _read(url: str) -> GuessCounters | None:
    client = Client(url, engine_key(), connect_seconds=CONNECT_SECONDS)
    try:
        async with asyncio.timeout(READ_SECONDS):
            return parse_counters(await client.metrics())
    except (SendError, TimeoutError):
        return None
    finally:
        await client.close()
