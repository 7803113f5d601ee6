"""What servers count of their guesses: for a benchmark, which reads the counters before and after a run.

vLLM reports per request only at the end of a whole answer, and pagec ends answers early; its counters have them all.
llama-server counts under the same names.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pagecompiler.engine.openai.client import Client, engine_key
from pagecompiler.engine.openai.discovery import CONNECT_SECONDS
from pagecompiler.engine.openai.faults import SendError

READ_SECONDS = 10.0
_SAMPLE = re.compile(
    r"^(?:vllm|llamacpp):spec_decode_num_(drafts|draft_tokens|accepted_tokens|accepted_tokens_per_pos)_total"
    r"(?:\{([^}]*)\})? (\S+)",
    re.MULTILINE,
)
_POSITION = re.compile(r'\bposition="(\d{1,3})"')


@dataclass(frozen=True, slots=True)
class GuessCounters:
    """Totals of servers since they were started: passes that verified guesses, guessed and approved tokens.

    `accepted_by_position` says how many were approved at the first place of a guess, at the second, and so on.
    """

    passes: int = 0
    drafted: int = 0
    accepted: int = 0
    accepted_by_position: tuple[int, ...] = ()

    def __add__(self, other: GuessCounters) -> GuessCounters:
        return self._with(other, 1)

    def __sub__(self, earlier: GuessCounters) -> GuessCounters:
        return self._with(earlier, -1)

    def _with(self, other: GuessCounters, sign: int) -> GuessCounters:
        pairs = zip_longest(self.accepted_by_position, other.accepted_by_position, fillvalue=0)
        return GuessCounters(
            self.passes + sign * other.passes,
            self.drafted + sign * other.drafted,
            self.accepted + sign * other.accepted,
            tuple(one + sign * another for one, another in pairs),
        )


def parse_counters(text: str) -> GuessCounters | None:
    """The counters in a `/metrics` page, over all engines of the server; None when it has none.

    >>> parse_counters('vllm:spec_decode_num_draft_tokens_total{engine="0"} 30.0')
    GuessCounters(passes=0, drafted=30, accepted=0, accepted_by_position=())
    """
    sums: Counter[str | int] = Counter()
    samples = _SAMPLE.findall(text)
    for name, labels, value in samples:
        position = _POSITION.search(labels) if name == "accepted_tokens_per_pos" else None
        try:
            sums[int(position[1]) if position else name] += int(float(value))
        except (ValueError, OverflowError):
            return None
    if not samples:
        return None
    positions = [name for name in sums if isinstance(name, int)]
    by_position = tuple(sums[place] for place in range(max(positions, default=-1) + 1))
    return GuessCounters(sums["drafts"], sums["draft_tokens"], sums["accepted_tokens"], by_position)


def read_counters(urls: Sequence[str]) -> GuessCounters | None:
    """The sum over servers; None when one of them counts nothing or does not answer."""
    found = asyncio.run(_read_all(urls))
    total = GuessCounters()
    for counters in found:
        if counters is None:
            return None
        total += counters
    return total


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
